//! Any text as a number: to `tonumber`, to arithmetic, and to the lexer.

use super::lua::{compare, quoted};

/// Reads the text in each way.
pub fn check(text: &[u8]) {
    // A chunk of such bytes calls nothing.
    let is_numeral = text
        .iter()
        .all(|byte| byte.is_ascii_alphanumeric() || b".+-".contains(byte));
    let lexer = if is_numeral {
        ".. show(function() local f, message = load('return ' .. s, '=n') if f then return f() end return message end)"
    } else {
        ""
    };
    compare(&format!(
        "local s = {}
         local all = show(tonumber, s) .. show(math.tointeger, s) .. show(function() return s + 0 end) .. show(function() return s | 0 end)
         for _, base in ipairs {{ 2, 8, 10, 16, 36 }} do all = all .. show(tonumber, s, base) end
         return all .. show(function() return tostring(tonumber(s)) end) {lexer}",
        quoted(text),
    ));
}
