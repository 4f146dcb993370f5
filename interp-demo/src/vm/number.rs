//! Arithmetic and comparison of integers and floats, as Lua 5.4 defines them. Pure functions.

#![forbid(unsafe_code)]

pub use crate::text::number::{Number, float_to_int};

impl Number {
    /// The number as a float.
    #[inline]
    #[must_use]
    pub const fn to_float(self) -> f64 {
        match self {
            Number::Int(int) => int as f64,
            Number::Float(float) => float,
        }
    }
}

/// How a float that is no integer is brought to one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rounding {
    /// It is refused.
    Exact,
    /// Towards minus infinity.
    Floor,
    /// Towards plus infinity.
    Ceil,
}

/// `a // b`; none when `b` is zero.
#[inline]
#[must_use]
pub const fn int_floor_div(a: i64, b: i64) -> Option<i64> {
    if b == 0 {
        return None;
    }
    // Wraps for the smallest integer divided by -1.
    let quotient = a.wrapping_div(b);
    if (a ^ b) < 0 && a.wrapping_rem(b) != 0 {
        Some(quotient - 1)
    } else {
        Some(quotient)
    }
}

/// `a % b`, with the sign of `b`; none when `b` is zero.
#[inline]
#[must_use]
pub const fn int_mod(a: i64, b: i64) -> Option<i64> {
    if b == 0 {
        return None;
    }
    let rest = a.wrapping_rem(b);
    if rest != 0 && (rest ^ b) < 0 {
        Some(rest + b)
    } else {
        Some(rest)
    }
}

/// `a % b` of floats, with the sign of `b`.
#[inline]
#[must_use]
pub fn float_mod(a: f64, b: f64) -> f64 {
    let rest = a % b;
    let wrong_sign = if rest > 0.0 {
        b < 0.0
    } else {
        rest < 0.0 && b > 0.0
    };
    if wrong_sign { rest + b } else { rest }
}

/// `a // b` of floats.
#[inline]
#[must_use]
pub fn float_floor_div(a: f64, b: f64) -> f64 {
    floor(a / b)
}

/// The largest whole number that is not above `value`: by a conversion, as the processor that all builds may count on
/// has no instruction for it.
#[inline]
#[must_use]
pub fn floor(value: f64) -> f64 {
    /// From here on all floats are whole.
    const WHOLE: f64 = 4_503_599_627_370_496.0;
    if value.abs() < WHOLE {
        let whole = value as i64 as f64;
        let below = if whole > value { whole - 1.0 } else { whole };
        // Zero keeps its sign.
        below.copysign(value)
    } else {
        value
    }
}

/// `a ^ b`.
#[inline]
#[must_use]
pub fn pow(a: f64, b: f64) -> f64 {
    if b == 2.0 { a * a } else { a.powf(b) }
}

/// `a << b`, a logical shift; a negative `b` shifts to the right.
#[inline]
#[must_use]
pub const fn shift_left(a: i64, b: i64) -> i64 {
    if b <= -64 || b >= 64 {
        0
    } else if b >= 0 {
        ((a as u64) << b) as i64
    } else {
        ((a as u64) >> -b) as i64
    }
}

/// `a >> b`, a logical shift.
#[inline]
#[must_use]
pub const fn shift_right(a: i64, b: i64) -> i64 {
    shift_left(a, b.wrapping_neg())
}

/// A float brought to an integer with `rounding`; none when it is out of range.
#[must_use]
pub fn float_to_int_rounded(value: f64, rounding: Rounding) -> Option<i64> {
    match rounding {
        Rounding::Exact => float_to_int(value),
        Rounding::Floor => float_to_int(floor(value)),
        Rounding::Ceil => float_to_int(value.ceil()),
    }
}

/// `a < b`, exact even where the integer is no float.
#[inline]
#[must_use]
pub fn int_lt_float(a: i64, b: f64) -> bool {
    if fits_float(a) {
        return (a as f64) < b;
    }
    match float_to_int_rounded(b, Rounding::Ceil) {
        Some(b) => a < b,
        None => b > 0.0,
    }
}

/// `a <= b`, exact.
#[inline]
#[must_use]
pub fn int_le_float(a: i64, b: f64) -> bool {
    if fits_float(a) {
        return (a as f64) <= b;
    }
    match float_to_int_rounded(b, Rounding::Floor) {
        Some(b) => a <= b,
        None => b > 0.0,
    }
}

/// `a < b`, exact.
#[inline]
#[must_use]
pub fn float_lt_int(a: f64, b: i64) -> bool {
    if fits_float(b) {
        return a < (b as f64);
    }
    match float_to_int_rounded(a, Rounding::Floor) {
        Some(a) => a < b,
        None => a < 0.0,
    }
}

/// `a <= b`, exact.
#[inline]
#[must_use]
pub fn float_le_int(a: f64, b: i64) -> bool {
    if fits_float(b) {
        return a <= (b as f64);
    }
    match float_to_int_rounded(a, Rounding::Ceil) {
        Some(a) => a <= b,
        None => a < 0.0,
    }
}

/// `a < b`.
#[must_use]
pub fn number_lt(a: Number, b: Number) -> bool {
    match (a, b) {
        (Number::Int(a), Number::Int(b)) => a < b,
        (Number::Float(a), Number::Float(b)) => a < b,
        (Number::Int(a), Number::Float(b)) => int_lt_float(a, b),
        (Number::Float(a), Number::Int(b)) => float_lt_int(a, b),
    }
}

/// `a <= b`.
#[must_use]
pub fn number_le(a: Number, b: Number) -> bool {
    match (a, b) {
        (Number::Int(a), Number::Int(b)) => a <= b,
        (Number::Float(a), Number::Float(b)) => a <= b,
        (Number::Int(a), Number::Float(b)) => int_le_float(a, b),
        (Number::Float(a), Number::Int(b)) => float_le_int(a, b),
    }
}

/// Whether every integer of this magnitude is a float.
#[inline]
const fn fits_float(value: i64) -> bool {
    const EXACT: i64 = 1 << 53;
    -EXACT <= value && value <= EXACT
}

/// The limit of an integer `for` loop that starts at `start` with `step`; none when the loop does not run at all.
#[must_use]
pub fn for_limit(start: i64, limit: Number, step: i64) -> Option<i64> {
    let limit = match limit {
        Number::Int(limit) => limit,
        Number::Float(limit) => {
            let rounding = if step < 0 {
                Rounding::Ceil
            } else {
                Rounding::Floor
            };
            match float_to_int_rounded(limit, rounding) {
                Some(limit) => limit,
                // Out of the range of integers; a NaN counts as below all of them.
                None if limit > 0.0 => (step > 0).then_some(i64::MAX)?,
                None => (step < 0).then_some(i64::MIN)?,
            }
        }
    };
    let runs = if step > 0 {
        start <= limit
    } else {
        start >= limit
    };
    runs.then_some(limit)
}

/// How often an integer loop that runs goes on after its first turn.
#[inline]
#[must_use]
pub const fn for_count(start: i64, limit: i64, step: i64) -> u64 {
    if step > 0 {
        let distance = (limit as u64).wrapping_sub(start as u64);
        if step == 1 {
            distance
        } else {
            distance / step as u64
        }
    } else {
        let distance = (start as u64).wrapping_sub(limit as u64);
        distance / step.unsigned_abs()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2^63, the first float above all integers.
    const LIMIT: f64 = 9_223_372_036_854_775_808.0;

    #[test]
    fn division_rounds_down() {
        assert_eq!(int_floor_div(7, -2), Some(-4));
        assert_eq!(int_floor_div(-7, 2), Some(-4));
        assert_eq!(int_floor_div(-8, 2), Some(-4));
        assert_eq!(int_floor_div(i64::MIN, -1), Some(i64::MIN));
        assert_eq!(int_floor_div(1, 0), None);
        assert_eq!(int_mod(-7, 3), Some(2));
        assert_eq!(int_mod(7, -3), Some(-2));
        assert_eq!(int_mod(i64::MIN, -1), Some(0));
        assert_eq!(float_mod(-1.0, f64::INFINITY), f64::INFINITY);
        assert_eq!(float_mod(5.5, -2.0), -0.5);
    }

    #[test]
    fn shifts_are_logical() {
        assert_eq!(shift_left(1, 63), i64::MIN);
        assert_eq!(shift_left(1, 64), 0);
        assert_eq!(shift_right(-1, 60), 15);
        assert_eq!(shift_right(1, -3), 8);
        assert_eq!(shift_right(-1, i64::MIN), 0);
    }

    #[test]
    fn mixed_comparison_is_exact() {
        let big = i64::MAX;
        assert!(int_lt_float(big, LIMIT));
        assert!(!float_le_int(LIMIT, big));
        assert!(int_lt_float(big - 1, f64::INFINITY));
        assert!(!int_lt_float(big, f64::NAN) && !float_lt_int(f64::NAN, big));
        assert!(float_lt_int(-LIMIT, i64::MIN + 1));
        assert!(!float_lt_int(-LIMIT, i64::MIN));
        assert!(float_le_int(-LIMIT, i64::MIN));
        assert!(int_le_float((1 << 53) + 1, (1_i64 << 54) as f64));
    }

    #[test]
    fn loops_clip_their_limits() {
        assert_eq!(for_limit(1, Number::Float(3.7), 1), Some(3));
        assert_eq!(for_limit(3, Number::Float(1.2), -1), Some(2));
        assert_eq!(
            for_limit(1, Number::Float(f64::INFINITY), 1),
            Some(i64::MAX)
        );
        assert_eq!(for_limit(1, Number::Float(f64::NAN), 1), None);
        assert_eq!(for_limit(1, Number::Float(f64::NAN), -1), Some(i64::MIN));
        assert_eq!(for_limit(1, Number::Float(f64::INFINITY), -1), None);
        assert_eq!(for_count(1, 10, 3), 3);
        assert_eq!(for_count(i64::MIN, i64::MAX, 1), u64::MAX);
        assert_eq!(for_count(10, 1, i64::MIN), 0);
    }
}
