//! Changed dumps of functions, which are run if they load.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sleepy_fuzz::fuzz_bodies::dump;

fuzz_target!(|input: (u8, Vec<dump::Change>, bool)| {
    let (program, changes, strip) = input;
    dump::check(program, &changes, strip);
});
