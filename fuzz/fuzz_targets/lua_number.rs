//! Any text as a number.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sleepy_fuzz::fuzz_bodies::number;

fuzz_target!(|input: &[u8]| number::check(input));
