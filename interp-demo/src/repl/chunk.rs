//! Reading one chunk: an expression, or statements over as many lines as they need.

use super::lines::{Line, Lines};
use crate::compiler::{SyntaxError, compile};

/// The chunk's name in messages.
pub(super) const CHUNK_NAME: &[u8] = b"=stdin";

/// What came of reading a chunk.
#[derive(Debug)]
pub enum Read {
    /// A chunk that compiles.
    Chunk {
        /// What was typed.
        text: Vec<u8>,
        /// What is to be run: `return` was put before an expression.
        source: Vec<u8>,
    },
    /// A text that is no Lua.
    Wrong {
        /// What was typed.
        text: Vec<u8>,
        /// Why it's none.
        error: SyntaxError,
    },
    /// The lines typed so far were given up.
    GivenUp,
    /// There are no more lines.
    End,
}

/// Reads a chunk. `prompts`: for its first line and for the others.
///
/// # Errors
/// When the lines cannot be read.
pub fn read_chunk(lines: &mut dyn Lines, prompts: [&str; 2]) -> std::io::Result<Read> {
    let mut text = match lines.next(prompts[0])? {
        Line::Text(text) => text,
        Line::GivenUp => return Ok(Read::GivenUp),
        Line::End => return Ok(Read::End),
    };
    // As in Lua 5.2 and before, `=x` shows the value of x.
    let mut statement = match text.strip_prefix(b"=") {
        Some(expression) => [b"return ", expression].concat(),
        None => text.clone(),
    };
    let source = [b"return ", &*statement].concat();
    if compile(&source, CHUNK_NAME).is_ok() {
        return Ok(Read::Chunk { text, source });
    }
    loop {
        let error = match compile(&statement, CHUNK_NAME) {
            Ok(_) => {
                return Ok(Read::Chunk {
                    text,
                    source: statement,
                });
            }
            Err(error) if !error.incomplete => return Ok(Read::Wrong { text, error }),
            Err(error) => error,
        };
        match lines.next(prompts[1])? {
            Line::Text(line) => {
                for text in [&mut text, &mut statement] {
                    text.push(b'\n');
                    text.extend_from_slice(&line);
                }
            }
            Line::GivenUp => return Ok(Read::GivenUp),
            Line::End => return Ok(Read::Wrong { text, error }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines given beforehand, and the prompts that were shown for them.
    struct Given<'a>(std::slice::Iter<'a, &'a str>, String);

    impl Lines for Given<'_> {
        fn next(&mut self, prompt: &str) -> std::io::Result<Line> {
            self.1.push_str(prompt);
            Ok(match self.0.next() {
                Some(&"^C") => Line::GivenUp,
                Some(line) => Line::Text(line.as_bytes().to_vec()),
                None => Line::End,
            })
        }

        fn remember(&mut self, _: &[u8]) {}
    }

    fn read(lines: &[&str]) -> (String, String) {
        let mut given = Given(lines.iter(), String::new());
        let read = match read_chunk(&mut given, ["> ", ">> "]).expect("nothing fails") {
            Read::Chunk { source, .. } => String::from_utf8(source).expect("is text"),
            Read::Wrong { error, .. } => error.to_string(),
            Read::GivenUp => "given up".to_owned(),
            Read::End => "end".to_owned(),
        };
        (read, given.1)
    }

    #[track_caller]
    fn check(lines: &[&str], text: &str, prompts: &str) {
        assert_eq!(read(lines), (text.to_owned(), prompts.to_owned()));
    }

    #[test]
    fn chunks() {
        check(&["1 + 1", "x"], "return 1 + 1", "> ");
        check(&["=x"], "return x", "> ");
        check(&["x = 1"], "x = 1", "> ");
        check(&[""], "return ", "> ");
        check(
            &["for i = 1, 2 do", "print(i)", "end"],
            "for i = 1, 2 do\nprint(i)\nend",
            "> >> >> ",
        );
        check(&["f(", "1)"], "f(\n1)", "> >> ");
        check(&["=1 +", "2"], "return 1 +\n2", "> >> ");
        check(&["return 1"], "return 1", "> ");
        check(&["x = ", "^C"], "given up", "> >> ");
        check(&["^C"], "given up", "> ");
        check(&[], "end", "> ");
    }

    #[test]
    fn wrong_texts() {
        check(&["x ="], "stdin:1: unexpected symbol near <eof>", "> >> ");
        check(&["x = = 1"], "stdin:1: unexpected symbol near '='", "> ");
        check(
            &["if x then", "end end"],
            "stdin:2: <eof> expected near 'end'",
            "> >> ",
        );
    }
}
