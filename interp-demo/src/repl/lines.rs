//! Where the lines come from: an editor on a terminal, or plain standard input.

use std::io::{self, Write};
use std::path::PathBuf;

use rustyline::error::ReadlineError;
use rustyline::history::FileHistory;
use rustyline::{CompletionType, Config, Editor};

use super::complete::Words;
use crate::stdlib::io::read_stdin_line;

/// A line, if there is one.
#[derive(PartialEq, Eq, Debug)]
pub enum Line {
    /// The line without its end.
    Text(Vec<u8>),
    /// The user gave up what was typed (Ctrl-C).
    GivenUp,
    /// No more lines.
    End,
}

/// A source of lines.
pub trait Lines {
    /// Shows the prompt and reads a line.
    ///
    /// # Errors
    /// When reading fails.
    fn next(&mut self, prompt: &str) -> io::Result<Line>;

    /// Adds a chunk to the history.
    fn remember(&mut self, text: &[u8]);

    /// There were no more lines, and none is asked for any more.
    fn end(&mut self) {}

    /// Tells the names that a word may be completed to.
    fn set_names(&mut self, _names: Vec<String>) {}
}

/// Standard input as it comes.
pub struct Plain;

impl Lines for Plain {
    fn next(&mut self, prompt: &str) -> io::Result<Line> {
        let mut out = io::stdout();
        // Where nobody can see the prompt, lines are read all the same.
        let _ = out.write_all(prompt.as_bytes()).and_then(|()| out.flush());
        // The program may read from standard input as well, so that both have one buffer.
        Ok(read_stdin_line().map_or(Line::End, Line::Text))
    }

    fn end(&mut self) {
        // The cursor stands behind the prompt.
        let _ = writeln!(io::stdout());
    }

    fn remember(&mut self, _: &[u8]) {}
}

/// A line editor with history and completion.
pub struct Terminal {
    editor: Editor<Words, FileHistory>,
    history: Option<PathBuf>,
}

impl Terminal {
    /// An editor on the terminal, with the history of earlier sessions.
    ///
    /// # Errors
    /// When the terminal cannot be used.
    pub fn new() -> io::Result<Self> {
        let config = Config::builder()
            .completion_type(CompletionType::List)
            .auto_add_history(false)
            .build();
        let mut editor = Editor::with_config(config).map_err(io::Error::other)?;
        editor.set_helper(Some(Words::default()));
        let history =
            std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".sleepy_lua_history"));
        if let Some(history) = &history {
            // At first there is none.
            let _ = editor.load_history(history);
        }
        Ok(Terminal { editor, history })
    }
}

impl Lines for Terminal {
    fn next(&mut self, prompt: &str) -> io::Result<Line> {
        match self.editor.readline(prompt) {
            Ok(line) => Ok(Line::Text(line.into_bytes())),
            Err(ReadlineError::Interrupted) => Ok(Line::GivenUp),
            Err(ReadlineError::Eof) => Ok(Line::End),
            Err(ReadlineError::Io(error)) => Err(error),
            Err(error) => Err(io::Error::other(error)),
        }
    }

    fn remember(&mut self, text: &[u8]) {
        // A history that can't be kept is no reason to stop.
        let _ = self.editor.add_history_entry(String::from_utf8_lossy(text));
    }

    fn set_names(&mut self, names: Vec<String>) {
        if let Some(words) = self.editor.helper_mut() {
            words.set(names);
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        if let Some(history) = &self.history {
            let _ = self.editor.save_history(history);
        }
    }
}
