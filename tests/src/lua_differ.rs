//! Runs a program on two interpreters and tells whether they agree; makes a program on which they don't small.

use std::io::{self, Write};
use std::process::{Command, Stdio};

/// A run that takes longer than so many seconds hangs.
const DEADLINE_SECONDS: &str = "20";

/// An interpreter, and how it is started.
#[derive(Clone, Debug)]
pub struct Interpreter {
    /// The program.
    pub program: String,
    /// Its options.
    pub options: Vec<String>,
    /// What is set in its environment.
    pub environment: Vec<(String, String)>,
}

/// What a run has shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    /// The exit code; none when a signal has ended it.
    pub code: Option<i32>,
    /// Standard output.
    pub output: String,
    /// Standard error, without the interpreter's name.
    pub errors: String,
}

impl Interpreter {
    /// An interpreter without options.
    #[must_use]
    pub fn new(program: impl Into<String>) -> Interpreter {
        Interpreter {
            program: program.into(),
            options: Vec::new(),
            environment: Vec::new(),
        }
    }

    /// The same with one more option.
    #[must_use]
    pub fn with_option(mut self, option: &str) -> Interpreter {
        self.options.push(option.to_owned());
        self
    }

    /// The same with something set in its environment.
    #[must_use]
    pub fn with_variable(mut self, name: &str, value: &str) -> Interpreter {
        self.environment.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Whether it is there.
    #[must_use]
    pub fn is_there(&self) -> bool {
        let version = Command::new(&self.program).arg("-v").output();
        version.is_ok_and(|output| output.status.success())
    }

    /// Runs a program, which it reads from standard input.
    ///
    /// # Errors
    ///
    /// If it can't be started.
    pub fn run(&self, source: &str) -> io::Result<Shown> {
        let mut child = Command::new("timeout")
            .args([DEADLINE_SECONDS, &self.program])
            .args(&self.options)
            .arg("-")
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        if let Some(mut input) = child.stdin.take() {
            // It reads all of it before it begins; if it has died, its status tells.
            let _ = input.write_all(source.as_bytes());
        }
        let output = child.wait_with_output()?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let errors = text(&output.stderr);
        let errors = match errors.strip_prefix(&format!("{}: ", self.program)) {
            Some(rest) => rest.to_owned(),
            None => errors,
        };
        Ok(Shown {
            code: output.status.code(),
            output: text(&output.stdout),
            errors,
        })
    }
}

/// What both have shown, where they don't agree.
#[derive(Clone, Debug)]
pub struct Difference {
    /// By the reference.
    pub expected: Shown,
    /// By the other.
    pub found: Shown,
}

/// Runs a program on both.
///
/// # Errors
///
/// If one can't be started.
pub fn compare(
    reference: &Interpreter,
    other: &Interpreter,
    source: &str,
) -> io::Result<Option<Difference>> {
    let (expected, found) = (reference.run(source)?, other.run(source)?);
    // How deep calls may nest is each implementation's own.
    let overflows = |shown: &Shown| {
        let texts = [&shown.output, &shown.errors];
        texts
            .iter()
            .any(|text| text.contains("stack overflow") || text.contains("error in error handling"))
    };
    if overflows(&expected) || overflows(&found) {
        return Ok(None);
    }
    Ok((expected != found).then_some(Difference { expected, found }))
}

/// The program with as many lines taken away as possible, so that the difference stays; `first` is where lines may begin to be
/// taken away.
///
/// # Errors
///
/// If an interpreter can't be started.
pub fn shrink(
    reference: &Interpreter,
    other: &Interpreter,
    source: &str,
    first: usize,
) -> io::Result<String> {
    let mut lines: Vec<&str> = source.lines().collect();
    let mut piece = lines.len().saturating_sub(first).next_power_of_two() / 2;
    // Blocks that have become empty go two lines at a time.
    while piece > 0 {
        let mut at = first;
        let mut shrunk = false;
        while at < lines.len() {
            let end = (at + piece).min(lines.len());
            let mut fewer = lines.clone();
            fewer.drain(at..end);
            let text = fewer.join("\n");
            match compare(reference, other, &text)? {
                // What does not compile differs in its own way.
                Some(difference) if is_run(&difference) => {
                    lines = fewer;
                    shrunk = true;
                }
                _ => at += piece,
            }
        }
        piece = match (shrunk, piece) {
            (true, 1) => 4,
            _ => piece / 2,
        };
    }
    Ok(lines.join("\n"))
}

/// Whether the program has begun to run.
fn is_run(difference: &Difference) -> bool {
    let errors = &difference.expected.errors;
    errors.is_empty() || errors.contains("in main chunk")
}
