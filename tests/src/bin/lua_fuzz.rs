//! Generates Lua programs and compares what `sleepy-lua` makes of them with what `lua5.4` does.
//!
//! ```text
//! cargo run --release -p sleepy-tests --bin lua_fuzz -- --sleepy target/release/sleepy-lua --seeds 10000
//! ```
//!
//! Of ten programs seven run plainly, two under zeal, one with two generations. What differs is printed, made small.

use std::io;
use std::process::ExitCode;

use clap::Parser;
use sleepy_tests::lua_differ::{Difference, Interpreter, compare, shrink};
use sleepy_tests::lua_programs::{prelude_lines, program};

/// Compares sleepy-lua with lua5.4 on random programs.
#[derive(Parser)]
struct Arguments {
    /// How many programs.
    #[arg(long, default_value_t = 1000)]
    seeds: u64,
    /// The first seed.
    #[arg(long, default_value_t = 0)]
    from: u64,
    /// The interpreter under test.
    #[arg(long, default_value = "target/release/sleepy-lua")]
    sleepy: String,
    /// The interpreter that is right.
    #[arg(long, default_value = "lua5.4")]
    reference: String,
    /// Stop after so many differences.
    #[arg(long, default_value_t = 10)]
    most: u64,
    /// Print the program of the first seed, and run nothing.
    #[arg(long)]
    print: bool,
    /// Make expressions that take several lines, for references newer than 5.4.4, which tells wrong lines.
    #[arg(long)]
    many_lines: bool,
    /// Show programs that differ as they are.
    #[arg(long)]
    whole: bool,
}

fn main() -> ExitCode {
    match fuzz(&Arguments::parse()) {
        Ok(0) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("lua_fuzz: {error}");
            ExitCode::FAILURE
        }
    }
}

/// How many programs differ.
fn fuzz(arguments: &Arguments) -> io::Result<u64> {
    if arguments.print {
        print!("{}", program(arguments.from, arguments.many_lines));
        return Ok(0);
    }
    let reference = Interpreter::new(&arguments.reference);
    let plain = Interpreter::new(&arguments.sleepy);
    let mut differ = 0;
    for seed in arguments.from..arguments.from + arguments.seeds {
        let other = match seed % 10 {
            3 => plain.clone().with_option("--zeal=5"),
            6 => plain.clone().with_option("--zeal=30"),
            9 => plain.clone().with_variable("SLEEPY_GENERATIONAL", "1"),
            _ => plain.clone(),
        };
        let source = program(seed, arguments.many_lines);
        let Some(difference) = compare(&reference, &other, &source)? else {
            continue;
        };
        differ += 1;
        // Most differ without options, too, and take less time then.
        let other = match compare(&reference, &plain, &source)? {
            Some(_) => plain.clone(),
            None => other,
        };
        let small = if arguments.whole {
            source
        } else {
            shrink(&reference, &other, &source, prelude_lines())?
        };
        println!(
            "==== seed {seed} {:?} {:?}",
            other.options, other.environment
        );
        for line in small.lines().skip(prelude_lines()) {
            println!("{line}");
        }
        let again = compare(&reference, &other, &small)?;
        show(&again.unwrap_or(difference));
        if differ == arguments.most {
            break;
        }
    }
    println!("{differ} programs differ");
    Ok(differ)
}

/// Prints the lines in which both differ.
fn show(difference: &Difference) {
    let Difference { expected, found } = difference;
    if expected.code != found.code {
        println!("---- exit {:?}, not {:?}", found.code, expected.code);
    }
    for (name, right, wrong) in [
        ("output", &expected.output, &found.output),
        ("errors", &expected.errors, &found.errors),
    ] {
        let (mut right, mut wrong) = (right.lines(), wrong.lines());
        let mut shown = 0;
        loop {
            match (right.next(), wrong.next()) {
                (None, None) => break,
                (r, w) if r == w => {}
                (r, w) if shown < 3 => {
                    shown += 1;
                    println!(
                        "---- {name}\n- {}\n+ {}",
                        r.unwrap_or("(nothing)"),
                        w.unwrap_or("(nothing)")
                    );
                }
                _ => break,
            }
        }
    }
}
