//! Tests that cross the crates of the Sleepy workspace; see `tests/`.
