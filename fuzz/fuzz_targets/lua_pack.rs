//! Any format of `string.pack` and its kin.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sleepy_fuzz::fuzz_bodies::pack;

fuzz_target!(|input: (Vec<u8>, i64, f64, Vec<u8>, i64)| {
    let (format, int, number, data, position) = input;
    pack::check(&format, int, number, &data, position);
});
