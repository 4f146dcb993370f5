//! Any format of `string.pack`, `string.unpack` and `string.packsize`.

use super::lua::{compare, float, quoted};

/// The most digits in a row with which something is packed: sizes of many digits are memory.
const MAX_DIGITS: usize = 5;

/// Packs an integer, a float and a text by the format, in several orders, and unpacks `data`.
pub fn check(format: &[u8], int: i64, number: f64, data: &[u8], position: i64) {
    let is_small = format
        .split(|byte| !byte.is_ascii_digit())
        .all(|digits| digits.len() <= MAX_DIGITS);
    let packs = if is_small {
        ".. show(pack, f, i, i, i, i, i, i) .. show(pack, f, n, n, n, n, n, n)
         .. show(pack, f, s, s, s, s, s, s) .. show(pack, f, i, s, i, n, s, i, s, n)"
    } else {
        ""
    };
    compare(&format!(
        "local f, i, n, s, pack = {}, {int:#x}, {}, {}, string.pack
         return show(f.packsize, f) .. show(f.unpack, f, s) .. show(f.unpack, f, s, {position:#x}) {packs}",
        quoted(format),
        float(number),
        quoted(data),
    ));
}
