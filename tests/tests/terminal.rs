//! The prompt on a terminal: line editing, completion, history.

use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::{Child, Command};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use sleepy_tests::program::{finish, sleepy_lua};

/// Longer than anything takes here, on the busiest machine.
const DEADLINE: Duration = Duration::from_secs(60);

/// A program on a terminal, and the one who sits before it.
struct Terminal {
    child: Child,
    keyboard: File,
    screen: Receiver<Vec<u8>>,
    /// What was shown since the last text that was waited for.
    shown: String,
}

impl Terminal {
    fn start(home: &Path) -> Self {
        let controller = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
        grantpt(&controller)
            .and_then(|()| unlockpt(&controller))
            .expect("it is ours");
        let name = ptsname(&controller, Vec::new()).expect("it has a name");
        let path = Path::new(std::ffi::OsStr::from_bytes(name.as_bytes()));
        let terminal = File::options()
            .read(true)
            .write(true)
            .open(path)
            .expect("it can be opened");
        let another = || terminal.try_clone().expect("one more descriptor");
        let child = Command::new(sleepy_lua())
            .env_clear()
            .env("HOME", home)
            .env("TERM", "xterm")
            .stdin(another())
            .stdout(another())
            .stderr(another())
            .spawn()
            .expect("it starts");
        let keyboard = File::from(controller);
        let mut output = keyboard.try_clone().expect("one more descriptor");
        let (sender, screen) = channel();
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            // Once nobody has the terminal any more, reading fails.
            while let Ok(count) = output.read(&mut bytes) {
                if sender.send(bytes[..count].to_vec()).is_err() {
                    break;
                }
            }
        });
        Self {
            child,
            keyboard,
            screen,
            shown: String::new(),
        }
    }

    fn types(&mut self, keys: &str) {
        self.keyboard
            .write_all(keys.as_bytes())
            .expect("it is read");
    }

    #[track_caller]
    fn shows(&mut self, text: &str) {
        loop {
            if let Some(at) = self.shown.find(text) {
                self.shown.drain(..at + text.len());
                return;
            }
            match self.screen.recv_timeout(DEADLINE) {
                Ok(bytes) => self.shown.push_str(&String::from_utf8_lossy(&bytes)),
                Err(error) => panic!("no {text:?} ({error}), but {:?}", self.shown),
            }
        }
    }
}

#[test]
fn a_session() {
    let home = tempfile::tempdir().expect("a folder");
    let mut terminal = Terminal::start(home.path());
    terminal.shows("(Lua 5.4)");
    terminal.shows("> ");
    terminal.types("x = {alpha = 40}\r");
    terminal.shows("> ");
    // A field is completed.
    terminal.types("x.al\t");
    terminal.shows("x.alpha");
    terminal.types(" + 2\r");
    terminal.shows("42");
    terminal.shows("> ");
    // A chunk of two lines comes back as one.
    terminal.types("for i = 7, 8 do\r");
    terminal.shows(">> ");
    terminal.types("io.write(i, ';') end\r");
    terminal.shows("7;8;");
    terminal.shows("> ");
    // Ctrl-C gives up the line; the cursor keys bring earlier ones back.
    terminal.types("not to be run\x03");
    terminal.shows("\n");
    terminal.shows("> ");
    terminal.types("\x1b[A");
    terminal.shows("for i = 7, 8 do\r\nio.write(i, ';') end");
    // Once through its two lines, and on to the chunk before.
    terminal.types("\x1b[A\x1b[A");
    terminal.shows("x.alpha + 2");
    terminal.types("\r");
    terminal.shows("42");
    terminal.shows("> ");
    terminal.types("_PROMPT = 'lua: '\r");
    terminal.shows("lua: ");
    terminal.types("\x04");
    assert_eq!(finish(terminal.child).code, Some(0));
    let history = std::fs::read_to_string(home.path().join(".sleepy_lua_history"));
    let history = history.expect("it was written");
    assert!(history.contains("x.alpha + 2\n"), "{history}");
    assert!(!history.contains("not to be run"), "{history}");
}
