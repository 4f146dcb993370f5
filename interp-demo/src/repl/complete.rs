//! Completion of names.

use rustyline::completion::Completer;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::validate::Validator;
use rustyline::{Context, Helper};

/// Reserved words, which are always among the names.
const RESERVED: &[&str] = &[
    "and", "break", "do", "else", "elseif", "end", "false", "for", "function", "goto", "if", "in",
    "local", "nil", "not", "or", "repeat", "return", "then", "true", "until", "while",
];

/// The names that a word may be completed to: reserved words, globals, and fields of global tables as `table.field`.
#[derive(Default)]
pub struct Words(Vec<String>);

impl Words {
    /// Sets the names beside the reserved words.
    pub fn set(&mut self, names: Vec<String>) {
        self.0 = names;
        self.0.sort_unstable();
    }

    /// The start of the word before `position`, and the names that begin with it.
    #[must_use]
    pub fn matching(&self, line: &str, position: usize) -> (usize, Vec<String>) {
        let before = &line[..position];
        let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
        let start = before.rfind(|c: char| !is_part(c)).map_or(0, |at| {
            at + before[at..].chars().next().map_or(1, char::len_utf8)
        });
        let word = &before[start..];
        if word.is_empty() {
            return (start, Vec::new());
        }
        let reserved = RESERVED.iter().copied();
        let names = reserved.chain(self.0.iter().map(String::as_str));
        // A field is only offered once its table is spelled out.
        let fits = |name: &&str| name.starts_with(word) && !name[word.len()..].contains('.');
        (start, names.filter(fits).map(str::to_owned).collect())
    }
}

impl Completer for Words {
    type Candidate = String;

    fn complete(
        &self,
        line: &str,
        position: usize,
        _: &Context<'_>,
    ) -> rustyline::Result<(usize, Vec<String>)> {
        Ok(self.matching(line, position))
    }
}

impl Hinter for Words {
    type Hint = String;
}

impl Highlighter for Words {}
impl Validator for Words {}
impl Helper for Words {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_fit() {
        let mut words = Words::default();
        words.set(
            ["string", "string.rep", "string.reverse", "print"]
                .map(str::to_owned)
                .to_vec(),
        );
        let fits = |line: &str| {
            let (start, names) = words.matching(line, line.len());
            (start, names.join(" "))
        };
        assert_eq!(fits("x = pr"), (4, "print".to_owned()));
        assert_eq!(fits("str"), (0, "string".to_owned()));
        assert_eq!(
            fits("(string.re"),
            (1, "string.rep string.reverse".to_owned())
        );
        assert_eq!(fits("wh"), (0, "while".to_owned()));
        assert_eq!(fits("f("), (2, String::new()));
        assert_eq!(fits("é wh"), (3, "while".to_owned()));
        assert_eq!(fits(""), (0, String::new()));
    }
}
