//! Any format of `string.format`.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sleepy_fuzz::fuzz_bodies::format;

fuzz_target!(|input: (Vec<u8>, i64, f64, Vec<u8>)| {
    let (format, int, number, text) = input;
    format::check(&format, int, number, &text);
});
