//! Options.

pub(crate) fn arena_bytes() -> usize {
    1 << 30
}
