//! A server runs with the library: many blocks of many sizes, a fork while it holds them, background threads.

mod common;

use common::{Folder, command, find};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};
use std::{fs, thread};

const ITEMS: usize = 60_000;
const BATCH: usize = 500;

/// A connection that sends commands as arrays of strings.
struct Client(BufReader<UnixStream>);

impl Client {
    /// Connects as soon as the server listens.
    fn connect(socket: &Path, server: &mut Child) -> Self {
        let start = Instant::now();
        loop {
            if let Ok(stream) = UnixStream::connect(socket) {
                return Self(BufReader::new(stream));
            }
            assert_eq!(server.try_wait().unwrap(), None, "the server ended");
            assert!(start.elapsed() < Duration::from_secs(100), "no server");
            thread::sleep(Duration::from_millis(20));
        }
    }

    fn send(&mut self, commands: &[Vec<String>]) {
        let mut text = String::new();
        for command in commands {
            text += &format!("*{}\r\n", command.len());
            for word in command {
                text += &format!("${}\r\n{word}\r\n", word.len());
            }
        }
        self.0.get_mut().write_all(text.as_bytes()).unwrap();
    }

    /// One reply, its parts separated by blanks.
    fn reply(&mut self) -> String {
        let mut line = String::new();
        assert!(
            self.0.read_line(&mut line).unwrap() > 0,
            "the server hung up"
        );
        let text = line.trim_end();
        match text.as_bytes()[0] {
            b'$' if text != "$-1" => {
                let mut bytes = vec![0; text[1..].parse::<usize>().unwrap() + 2];
                std::io::Read::read_exact(&mut self.0, &mut bytes).unwrap();
                bytes.truncate(bytes.len() - 2);
                String::from_utf8(bytes).unwrap()
            }
            b'*' => {
                let count = text[1..].parse().unwrap();
                let parts: Vec<String> = (0..count).map(|_| self.reply()).collect();
                parts.join(" ")
            }
            b'-' => panic!("the server says {text}"),
            _ => text.to_owned(),
        }
    }

    fn ask(&mut self, command: &str) -> String {
        self.send(&[command.split(' ').map(str::to_owned).collect()]);
        self.reply()
    }
}

/// A value whose length depends on its number.
fn value(nth: usize) -> String {
    format!("value {nth} ").repeat(nth * 7919 % 37 + 1)
}

/// A session with a server; what it answered.
fn session(server: &Path, preloaded: bool) -> Vec<String> {
    let folder = Folder::new(&format!("redis-{preloaded}"));
    let socket = folder.path().join("socket");
    let log = fs::File::create(folder.path().join("log")).unwrap();
    let mut child = command(server, preloaded)
        .args(["--port", "0", "--save", "", "--dir"])
        .arg(folder.path())
        .arg("--unixsocket")
        .arg(&socket)
        .args(["--lazyfree-lazy-user-del", "yes"])
        .stdin(Stdio::null())
        .stdout(log)
        .spawn()
        .unwrap();
    let mut client = Client::connect(&socket, &mut child);
    let mut answers = vec![client.ask("SET greeting hello"), client.ask("GET greeting")];
    for start in (0..ITEMS).step_by(BATCH) {
        let batch: Vec<Vec<String>> = (start..start + BATCH)
            .map(|nth| match nth % 3 {
                0 => vec!["LPUSH".into(), "list".into(), value(nth)],
                1 => vec!["SET".into(), format!("key {nth}"), value(nth)],
                _ => vec![
                    "HSET".into(),
                    format!("hash {}", nth % 100),
                    format!("field {nth}"),
                    value(nth),
                ],
            })
            .collect();
        client.send(&batch);
        answers.push(
            (0..BATCH)
                .map(|_| client.reply())
                .collect::<Vec<_>>()
                .join(" "),
        );
    }
    // A child writes all of it to a file meanwhile.
    answers.push(client.ask("BGSAVE"));
    answers.push(client.ask("LLEN list"));
    answers.push(client.ask("LRANGE list 0 500"));
    answers.push(client.ask("HVALS hash"));
    let start = Instant::now();
    while client
        .ask("INFO persistence")
        .contains("rdb_bgsave_in_progress:1")
    {
        assert!(
            start.elapsed() < Duration::from_secs(100),
            "the child does not end"
        );
        thread::sleep(Duration::from_millis(20));
    }
    let saved = client.ask("INFO persistence");
    assert!(saved.contains("rdb_last_bgsave_status:ok"), "{saved}");
    answers.push(client.ask("DEL list"));
    for nth in (1..ITEMS).step_by(30) {
        client.send(&[vec!["DEL".into(), format!("key {nth}")]]);
        answers.push(client.reply());
    }
    answers.push(client.ask("DBSIZE"));
    client.send(&[vec!["SHUTDOWN".into(), "NOSAVE".into()]]);
    let status = child.wait().unwrap();
    let log = fs::read_to_string(folder.path().join("log")).unwrap_or_default();
    assert!(status.success(), "the server ended with {status}\n{log}");
    answers
}

#[test]
fn a_server_answers_the_same() {
    if let Some(server) = find("redis-server") {
        assert!(
            session(&server, false) == session(&server, true),
            "other answers"
        );
    }
}
