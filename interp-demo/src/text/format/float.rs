//! Floats for `%e %E %f %g %G` (and `%a %A`, which [`hex_float`](super::hex_float) writes).
//!
//! The digits come from the standard library, which gives the exact decimal expansion rounded half to even at any precision,
//! as C does; this file only lays them out.

use std::io::Write as _;

use super::{Spec, hex_float};

/// Precision when none is given.
const DEFAULT_PRECISION: usize = 6;

/// Appends a float for `%a %A %e %E %f %g %G`.
pub fn float(out: &mut Vec<u8>, spec: &Spec, value: f64) {
    let upper = spec.conversion.is_ascii_uppercase();
    let sign = spec.sign(value.is_sign_negative());
    if !value.is_finite() {
        let text: &[u8] = match (value.is_nan(), upper) {
            (true, false) => b"nan",
            (true, true) => b"NAN",
            (false, false) => b"inf",
            (false, true) => b"INF",
        };
        spec.pad_number(out, false, sign, text);
        return;
    }
    let size = value.abs();
    let precision = spec.precision.unwrap_or(DEFAULT_PRECISION);
    let mut digits = Vec::with_capacity(precision + 32);
    match spec.conversion {
        b'a' | b'A' => {
            hex_float::digits(&mut digits, spec, size);
            let mut prefix = sign.to_vec();
            prefix.extend_from_slice(if upper { b"0X" } else { b"0x" });
            spec.pad_number(out, true, &prefix, &digits);
            return;
        }
        b'f' => fixed(&mut digits, size, precision, spec.alternate),
        b'e' | b'E' => {
            let exponent = scientific(&mut digits, size, precision);
            finish_exponent(&mut digits, spec, exponent);
        }
        _ => general(&mut digits, spec, size, precision),
    }
    spec.pad_number(out, true, sign, &digits);
}

fn put(out: &mut Vec<u8>, arguments: std::fmt::Arguments<'_>) {
    // Writing to a vector cannot fail.
    let _ = out.write_fmt(arguments);
}

fn fixed(out: &mut Vec<u8>, size: f64, precision: usize, point: bool) {
    put(out, format_args!("{size:.precision$}"));
    if precision == 0 && point {
        out.push(b'.');
    }
}

/// Writes `d.ddd` and returns the exponent that belongs to it.
fn scientific(out: &mut Vec<u8>, size: f64, precision: usize) -> i32 {
    let start = out.len();
    put(out, format_args!("{size:.precision$e}"));
    let mark = start + out[start..].iter().rposition(|&b| b == b'e').unwrap_or(0);
    let (negative, digits) = match &out[mark + 1..] {
        [b'-', digits @ ..] => (true, digits),
        digits => (false, digits),
    };
    let exponent = digits
        .iter()
        .fold(0, |sum, b| sum * 10 + i32::from(b - b'0'));
    out.truncate(mark);
    if negative { -exponent } else { exponent }
}

/// Appends the exponent in C's form, with at least two digits.
fn finish_exponent(out: &mut Vec<u8>, spec: &Spec, exponent: i32) {
    if spec.alternate && !out.contains(&b'.') {
        out.push(b'.');
    }
    let letter = if spec.conversion.is_ascii_uppercase() {
        'E'
    } else {
        'e'
    };
    put(
        out,
        format_args!(
            "{letter}{}{:02}",
            if exponent < 0 { '-' } else { '+' },
            exponent.unsigned_abs()
        ),
    );
}

/// `%g`: scientific when the exponent is below -4 or not below the precision, else fixed; without trailing zeros unless `#` asks.
fn general(out: &mut Vec<u8>, spec: &Spec, size: f64, precision: usize) {
    let precision = precision.max(1);
    let exponent = scientific(out, size, precision - 1);
    let significant = i32::try_from(precision).unwrap_or(i32::MAX);
    if (-4..significant).contains(&exponent) {
        // The digits are there already: only the point moves.
        out.retain(|&b| b != b'.');
        let point = exponent + 1;
        match usize::try_from(point) {
            Ok(0) | Err(_) => {
                let zeros = point.unsigned_abs() as usize;
                out.splice(
                    0..0,
                    b"0."
                        .iter()
                        .copied()
                        .chain(std::iter::repeat_n(b'0', zeros)),
                );
            }
            Ok(point) => {
                if point < out.len() || spec.alternate {
                    out.insert(point, b'.');
                }
            }
        }
        if !spec.alternate {
            strip_zeros(out);
        }
    } else {
        if !spec.alternate {
            strip_zeros(out);
        }
        finish_exponent(out, spec, exponent);
    }
}

/// Removes zeros after the point, and the point itself if nothing is left behind it.
fn strip_zeros(out: &mut Vec<u8>) {
    if out.contains(&b'.') {
        while out.last() == Some(&b'0') {
            out.pop();
        }
        if out.last() == Some(&b'.') {
            out.pop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::spec;
    use super::*;

    fn shown(format: &str, value: f64) -> String {
        let mut out = Vec::new();
        float(&mut out, &spec(format), value);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn as_c_prints_them() {
        // (format, value, text by lua5.4)
        let cases: &[(&str, f64, &str)] = &[
            ("%f", 0.5, "0.500000"),
            ("%.f", 2.5, "2"),
            ("%.f", 1.5, "2"),
            ("%#.0f", 1.0, "1."),
            ("%+.1f", 0.25, "+0.2"),
            ("%08.3f", -3.25159, "-003.252"),
            ("%-8.2f|", 1.0, "1.00    "),
            ("%e", 0.0, "0.000000e+00"),
            ("%E", 12345.678, "1.234568E+04"),
            ("%.0e", 15.0, "2e+01"),
            ("%#.0e", 15.0, "2.e+01"),
            ("%e", 1e100, "1.000000e+100"),
            ("%.3e", 5e-324, "4.941e-324"),
            ("%g", 100_000.0, "100000"),
            ("%g", 1e6, "1e+06"),
            ("%g", 999_999.5, "1e+06"),
            ("%g", 0.0001, "0.0001"),
            ("%g", 0.00001234, "1.234e-05"),
            ("%g", 0.0, "0"),
            ("%g", -0.0, "-0"),
            ("%.0g", 123.0, "1e+02"),
            ("%#g", 1.0, "1.00000"),
            ("%#.3g", 1e10, "1.00e+10"),
            ("%G", 1e-10, "1E-10"),
            ("%.14g", std::f64::consts::PI, "3.1415926535898"),
            ("%.17g", 0.1, "0.10000000000000001"),
            ("%#.6g", 123_456.0, "123456."),
            ("%10.3g", 0.5, "       0.5"),
            ("%010f", f64::NEG_INFINITY, "      -inf"),
            ("% g", f64::INFINITY, " inf"),
            ("%-6g", f64::INFINITY, "inf   "),
            ("%E", f64::INFINITY, "INF"),
        ];
        for &(format, value, text) in cases {
            assert_eq!(
                shown(format.trim_end_matches('|'), value),
                text,
                "{format} {value}"
            );
        }
        assert_eq!(shown("%f", f64::NAN.copysign(-1.0)), "-nan");
        assert_eq!(shown("%+f", f64::NAN.copysign(1.0)), "+nan");
    }

    #[test]
    fn many_digits_are_exact() {
        assert_eq!(
            shown("%.60f", 0.1),
            "0.100000000000000005551115123125782702118158340454101562500000"
        );
        let large = shown("%99.99f", 1e300);
        assert!(large.starts_with("10000000000000000525047602552044202487044685811081"));
        assert_eq!(large.len(), 301 + 1 + 99);
        assert_eq!(shown("%.50g", 1.0), "1");
        assert_eq!(shown("%.30g", 0.1), "0.100000000000000005551115123126");
    }
}
