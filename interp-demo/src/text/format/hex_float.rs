//! `%a`: floats in hexadecimal, exact when no precision is given.

use std::io::Write as _;

use super::Spec;

/// Hexadecimal digits after the point that a double has.
const FRACTION_DIGITS: usize = 13;
const FRACTION_BITS: u32 = 52;

/// Appends the digits and exponent of `size` (finite, not negative), without sign and `0x`.
pub(super) fn digits(out: &mut Vec<u8>, spec: &Spec, size: f64) {
    let upper = spec.conversion == b'A';
    let bits = size.to_bits();
    let biased = (bits >> FRACTION_BITS) as i32;
    let mut mantissa = bits & ((1 << FRACTION_BITS) - 1);
    let exponent = match (biased, mantissa) {
        (0, 0) => 0,
        (0, _) => -1022,
        _ => {
            mantissa |= 1 << FRACTION_BITS;
            biased - 1023
        }
    };
    let shown = match spec.precision {
        Some(precision) => {
            mantissa = round(mantissa, precision);
            precision
        }
        None => {
            let fraction = mantissa & ((1 << FRACTION_BITS) - 1);
            FRACTION_DIGITS - (fraction.trailing_zeros() as usize / 4).min(FRACTION_DIGITS)
        }
    };
    let alphabet: &[u8; 16] = if upper {
        b"0123456789ABCDEF"
    } else {
        b"0123456789abcdef"
    };
    out.push(alphabet[(mantissa >> FRACTION_BITS) as usize]);
    if shown > 0 || spec.alternate {
        out.push(b'.');
    }
    for place in 0..shown {
        let digit = if place < FRACTION_DIGITS {
            (mantissa >> (FRACTION_BITS - 4 * (place as u32 + 1))) & 0xF
        } else {
            0
        };
        out.push(alphabet[digit as usize]);
    }
    // Writing to a vector cannot fail.
    let _ = write!(out, "{}{exponent:+}", if upper { 'P' } else { 'p' });
}

/// Rounds to `digits` hexadecimal places, half to even; the leading digit may become 2.
fn round(mantissa: u64, digits: usize) -> u64 {
    if digits >= FRACTION_DIGITS {
        return mantissa;
    }
    let unit = 1_u64 << (FRACTION_BITS - 4 * digits as u32);
    let lost = mantissa % unit;
    let kept = mantissa - lost;
    let odd = kept & unit != 0;
    if lost > unit / 2 || (lost == unit / 2 && odd) {
        kept + unit
    } else {
        kept
    }
}

#[cfg(test)]
mod tests {
    use super::super::{float, tests::spec};

    #[test]
    fn as_c_prints_them() {
        // (format, value, text by lua5.4)
        let cases: &[(&str, f64, &str)] = &[
            ("%a", 1.0, "0x1p+0"),
            ("%a", 0.0, "0x0p+0"),
            ("%a", -0.0, "-0x0p+0"),
            ("%a", 0.1, "0x1.999999999999ap-4"),
            ("%A", 0.1, "0X1.999999999999AP-4"),
            ("%.3a", 0.1, "0x1.99ap-4"),
            ("%.0a", 1.5, "0x2p+0"),
            ("%.a", 1.25, "0x1p+0"),
            ("%.2a", 1.999, "0x2.00p+0"),
            ("%.15a", 0.1, "0x1.999999999999a00p-4"),
            ("%#.0a", 1.0, "0x1.p+0"),
            ("%+a", 1.0, "+0x1p+0"),
            ("%20a", 1.0, "              0x1p+0"),
            ("%020a", 1.0, "0x000000000000001p+0"),
            ("%-8a", 1.0, "0x1p+0  "),
            ("%a", 5e-324, "0x0.0000000000001p-1022"),
            ("%.1a", 5e-324, "0x0.0p-1022"),
            ("%a", f64::MAX, "0x1.fffffffffffffp+1023"),
            ("%a", f64::INFINITY, "inf"),
        ];
        for &(format, value, text) in cases {
            let mut out = Vec::new();
            float(&mut out, &spec(format), value);
            assert_eq!(String::from_utf8(out).unwrap(), text, "{format}");
        }
    }
}
