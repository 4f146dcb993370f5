//! Random programs do on `sleepy-lua` what they do on `lua5.4`. The binary `lua_fuzz` runs as many as one likes.

use sleepy_tests::lua_differ::{Interpreter, Shown, compare};
use sleepy_tests::lua_programs::program;
use sleepy_tests::program::sleepy_lua;

/// How many programs run.
const PROGRAMS: u64 = 20;

#[test]
fn random_programs_do_the_same_as_on_puc_lua() {
    let reference = Interpreter::new("lua5.4");
    if !reference.is_there() {
        println!("SKIPPED: no lua5.4 to compare with");
        return;
    }
    let plain = Interpreter::new(sleepy_lua().to_string_lossy());
    for seed in 0..PROGRAMS {
        let tested = match seed % 10 {
            6 => plain.clone().with_option("--zeal=30"),
            9 => plain.clone().with_variable("SLEEPY_GENERATIONAL", "1"),
            _ => plain.clone(),
        };
        let source = program(seed, false);
        let difference = compare(&reference, &tested, &source).expect("both can be started");
        if let Some(difference) = difference
            && without_lines(&difference.expected) != without_lines(&difference.found)
        {
            panic!(
                "seed {seed}: {:?}\nshould be {:?}",
                difference.found, difference.expected
            );
        }
    }
}

/// What was shown, without the numbers of lines: PUC Lua 5.4.4 tells wrong ones of errors in arithmetic.
fn without_lines(shown: &Shown) -> Vec<String> {
    let text = format!("{:?} {}\n{}", shown.code, shown.output, shown.errors);
    let pieces = text.split("stdin:");
    pieces
        .map(|piece| {
            piece
                .trim_start_matches(|c: char| c.is_ascii_digit())
                .to_owned()
        })
        .collect()
}
