//! Any pattern on any subject.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sleepy_fuzz::fuzz_bodies::pattern;

fuzz_target!(|input: (Vec<u8>, Vec<u8>, i64, Vec<u8>)| {
    let (pattern, subject, init, with) = input;
    pattern::check(&pattern, &subject, init, &with);
});
