//! Arithmetic on numerals, done by the compiler.

use super::expdesc::Numeral;
use super::operators::{Binary, Unary};
use crate::text::number::float_to_int;

impl Numeral {
    fn float(self) -> f64 {
        match self {
            Numeral::Int(value) => value as f64,
            Numeral::Float(value) => value,
        }
    }

    fn int(self) -> Option<i64> {
        match self {
            Numeral::Int(value) => Some(value),
            Numeral::Float(value) => float_to_int(value),
        }
    }

    fn is_zero(self) -> bool {
        self.float() == 0.0
    }

    /// The number, unless it is a float that must come from an operation at run time: a NaN, or a zero, whose sign a
    /// table of constants would lose.
    fn foldable(self) -> Option<Numeral> {
        match self {
            Numeral::Float(value) if value.is_nan() || value == 0.0 => None,
            _ => Some(self),
        }
    }
}

/// The value of `op x`, if it can be known now.
pub(super) fn unary(op: Unary, x: Numeral) -> Option<Numeral> {
    match (op, x) {
        (Unary::Minus, Numeral::Int(value)) => Some(Numeral::Int(value.wrapping_neg())),
        (Unary::Minus, Numeral::Float(value)) => Numeral::Float(-value).foldable(),
        (Unary::BNot, _) => Some(Numeral::Int(!x.int()?)),
        (Unary::Not | Unary::Len, _) => None,
    }
}

/// The value of `x op y`, if it can be known now and the operation cannot fail.
pub(super) fn binary(op: Binary, x: Numeral, y: Numeral) -> Option<Numeral> {
    use Numeral::{Float, Int};
    let result = match (op, x, y) {
        (Binary::Add, Int(x), Int(y)) => Int(x.wrapping_add(y)),
        (Binary::Sub, Int(x), Int(y)) => Int(x.wrapping_sub(y)),
        (Binary::Mul, Int(x), Int(y)) => Int(x.wrapping_mul(y)),
        (Binary::Mod | Binary::Div | Binary::IDiv, _, y) if y.is_zero() => return None,
        (Binary::Mod, Int(x), Int(y)) => Int(int_mod(x, y)),
        (Binary::IDiv, Int(x), Int(y)) => Int(int_div(x, y)),
        (Binary::Add, ..) => Float(x.float() + y.float()),
        (Binary::Sub, ..) => Float(x.float() - y.float()),
        (Binary::Mul, ..) => Float(x.float() * y.float()),
        (Binary::Div, ..) => Float(x.float() / y.float()),
        (Binary::Pow, ..) => Float(power(x.float(), y.float())),
        (Binary::Mod, ..) => Float(float_mod(x.float(), y.float())),
        (Binary::IDiv, ..) => Float((x.float() / y.float()).floor()),
        (Binary::BAnd, ..) => Int(x.int()? & y.int()?),
        (Binary::BOr, ..) => Int(x.int()? | y.int()?),
        (Binary::BXor, ..) => Int(x.int()? ^ y.int()?),
        (Binary::Shl, ..) => Int(shift_left(x.int()?, y.int()?)),
        (Binary::Shr, ..) => Int(shift_left(x.int()?, y.int()?.wrapping_neg())),
        _ => return None,
    };
    result.foldable()
}

fn power(x: f64, y: f64) -> f64 {
    if y == 2.0 { x * x } else { x.powf(y) }
}

fn int_div(x: i64, y: i64) -> i64 {
    let quotient = x.wrapping_div(y);
    if x.wrapping_rem(y) != 0 && (x ^ y) < 0 {
        quotient - 1
    } else {
        quotient
    }
}

fn int_mod(x: i64, y: i64) -> i64 {
    let rest = x.wrapping_rem(y);
    if rest != 0 && (rest ^ y) < 0 {
        rest + y
    } else {
        rest
    }
}

fn float_mod(x: f64, y: f64) -> f64 {
    let rest = x % y;
    if rest * y < 0.0 { rest + y } else { rest }
}

/// A logical shift; a negative distance shifts right.
fn shift_left(x: i64, distance: i64) -> i64 {
    let bits = x as u64;
    let shifted = match distance {
        0..64 => bits << distance,
        -63..0 => bits >> -distance,
        _ => 0,
    };
    shifted as i64
}

#[cfg(test)]
mod tests {
    use super::*;
    use Numeral::{Float, Int};

    #[test]
    fn folds_as_the_operations_do() {
        assert_eq!(binary(Binary::IDiv, Int(-7), Int(2)), Some(Int(-4)));
        assert_eq!(binary(Binary::Mod, Int(-7), Int(2)), Some(Int(1)));
        assert_eq!(binary(Binary::Mod, Int(7), Int(-2)), Some(Int(-1)));
        assert_eq!(
            binary(Binary::IDiv, Int(i64::MIN), Int(-1)),
            Some(Int(i64::MIN))
        );
        assert_eq!(binary(Binary::Mod, Int(i64::MIN), Int(-1)), Some(Int(0)));
        assert_eq!(binary(Binary::Mod, Float(-5.5), Int(2)), Some(Float(0.5)));
        assert_eq!(binary(Binary::Pow, Int(2), Int(10)), Some(Float(1024.0)));
        assert_eq!(binary(Binary::Shl, Int(1), Int(63)), Some(Int(i64::MIN)));
        assert_eq!(binary(Binary::Shr, Int(-1), Int(63)), Some(Int(1)));
        assert_eq!(binary(Binary::Shr, Int(-1), Int(64)), Some(Int(0)));
        assert_eq!(binary(Binary::Shl, Int(-1), Int(i64::MIN)), Some(Int(0)));
        assert_eq!(binary(Binary::BAnd, Float(3.0), Int(6)), Some(Int(2)));
        assert_eq!(unary(Unary::BNot, Float(0.0)), Some(Int(-1)));
        assert_eq!(unary(Unary::Minus, Int(i64::MIN)), Some(Int(i64::MIN)));
    }

    #[test]
    fn leaves_what_may_fail_or_loses_a_sign() {
        assert_eq!(binary(Binary::IDiv, Int(1), Int(0)), None);
        assert_eq!(binary(Binary::Div, Int(1), Float(0.0)), None);
        assert_eq!(binary(Binary::BOr, Float(1.5), Int(0)), None);
        assert_eq!(binary(Binary::Sub, Float(1.0), Float(1.0)), None);
        assert_eq!(unary(Unary::Minus, Float(0.0)), None);
        assert_eq!(
            binary(Binary::Sub, Float(f64::INFINITY), Float(f64::INFINITY)),
            None
        );
    }
}
