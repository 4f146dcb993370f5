//! Any pattern on any subject.

use std::cell::Cell;

use interp_demo::text::pattern::{Matcher, PatternError, Scan};

use super::lua::{compare, quoted};

/// How often a matcher may ask whether to go on.
const PATIENCE: u32 = 8;
/// Longer subjects take `lua5.4` long, which nothing stops.
const MAX_BYTES: usize = 1 << 12;

/// Walks the subject; whether it came to an end before it was told to stop. It never asks again after that.
fn ends(subject: &[u8], pattern: &[u8], anchored: bool) -> bool {
    let asked = Cell::new(0);
    let stop = || {
        asked.set(asked.get() + 1);
        asked.get() >= PATIENCE
    };
    let mut matcher = Matcher::new(subject, pattern).stopping(&stop);
    let mut scan = Scan::new(0, anchored);
    let end = loop {
        match scan.next_match(&mut matcher, subject.len()) {
            Ok(Some((start, end))) => {
                assert!(start <= end && end <= subject.len());
                for index in 0..matcher.capture_count() {
                    let _ = matcher.capture(index, start, end);
                }
            }
            Ok(None) => break None,
            Err(error) => break Some(error),
        }
    };
    assert!(asked.get() <= PATIENCE);
    assert_eq!(asked.get() == PATIENCE, end == Some(PatternError::Stopped));
    asked.get() < PATIENCE
}

/// `find`, `match`, `gmatch` and `gsub`.
pub fn check(pattern: &[u8], subject: &[u8], init: i64, replacement: &[u8]) {
    let subject = &subject[..subject.len().min(MAX_BYTES)];
    let anchored = pattern.strip_prefix(b"^");
    if !ends(subject, pattern, false) || anchored.is_some_and(|bare| !ends(subject, bare, true)) {
        return;
    }
    let [pattern, subject, replacement] = [pattern, subject, replacement].map(quoted);
    compare(&format!(
        "local p, s, init, with = {pattern}, {subject}, {init:#x}, {replacement}
         local function all(f, ...)
             local found = {{}}
             for a, b, c in f(...) do found[#found + 1] = text(a, b, c) end
             return table.concat(found, ';')
         end
         return show(s.find, s, p, init) .. show(s.find, s, p, init, true) .. show(s.match, s, p, init)
             .. show(all, s.gmatch, s, p, init) .. show(s.gsub, s, p, with) .. show(s.gsub, s, p, {{ a = 1, [1] = 'x' }}, init)"
    ));
}
