//! Makes the whole record.

fn main() {}
