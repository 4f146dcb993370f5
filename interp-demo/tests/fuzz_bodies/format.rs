//! Any format of `string.format`.

use super::lua::{compare, float, quoted};

/// Formats integers, floats, texts and a mixture of them.
pub fn check(format: &[u8], int: i64, number: f64, text: &[u8]) {
    // The address of a text is nobody's business.
    let texts = if format.contains(&b'p') {
        ""
    } else {
        ".. show(f.format, f, s, s, s, s) .. show(f.format, f, s, i, n, s, i)"
    };
    compare(&format!(
        "local f, i, n, s = {}, {int:#x}, {}, {}
         return show(f.format, f, i, i, i, i) .. show(f.format, f, n, n, n, n) .. show(f.format, f, nil, true) {texts}",
        quoted(format),
        float(number),
        quoted(text),
    ));
}
