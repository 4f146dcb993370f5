//! Benches of the Sleepy workspace; see `benches/`.
