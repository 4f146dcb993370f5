//! Runs Lua text that checks itself.

use interp_demo::runtime::{End, Options, Runtime};

/// Runs a chunk; panics with its message if it fails.
#[allow(dead_code, reason = "not every file of tests needs it")]
pub fn check(source: &str) {
    let mut runtime = Runtime::new(Options::default());
    run(&mut runtime, source);
    runtime.close();
}

/// Runs a chunk under a limit on memory; panics if it fails, or if the heap is not in order after it.
#[allow(dead_code, reason = "not every file of tests needs it")]
pub fn check_within(limit_bytes: usize, source: &str) {
    let mut runtime = Runtime::new(Options {
        memory_limit_bytes: Some(limit_bytes),
        ..Options::default()
    });
    match runtime.do_string(source.as_bytes(), b"=test") {
        End::Done => {}
        end => panic!("{source}: {end:?}"),
    }
    assert_eq!(runtime.verify(), Ok(()), "{source}");
    runtime.close();
}

/// Runs a chunk in a state that lives on.
#[allow(dead_code, reason = "not every file of tests needs it")]
pub fn run(runtime: &mut Runtime, source: &str) {
    match runtime.do_string(source.as_bytes(), b"=test") {
        End::Done => {}
        End::Failed(message) => panic!("{}", String::from_utf8_lossy(&message)),
        End::Exit { code, .. } => panic!("the chunk has ended the program with status {code}"),
    }
}
