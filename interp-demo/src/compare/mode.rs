//! The modes that are compared: which program runs the script, with which options.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::error::CompareError;

/// One way to run the script.
#[derive(Clone, Debug)]
pub(super) struct Mode {
    /// What the table calls it.
    pub name: String,
    /// The program.
    pub program: PathBuf,
    /// Its options, which stand before the script.
    pub options: Vec<OsString>,
    /// Whether it is our own interpreter, which gives figures of itself.
    pub own: bool,
}

/// Our three modes, then the peers.
pub(super) fn all(executable: &Path, peers: &[String]) -> Result<Vec<Mode>, CompareError> {
    let own = |name: &str, options: &[&str]| Mode {
        name: name.to_owned(),
        program: executable.to_owned(),
        options: options.iter().map(OsString::from).collect(),
        own: true,
    };
    let mut modes = vec![
        own("off", &["--no-sleepy", "--no-scavenger"]),
        own("gc", &["--no-scavenger"]),
        own("gc+scavenger", &[]),
    ];
    for peer in peers {
        modes.push(parse_peer(peer)?);
    }
    Ok(modes)
}

/// Splits a peer's command line as a shell would, and finds its program.
fn parse_peer(peer: &str) -> Result<Mode, CompareError> {
    let refuse = |reason: String| CompareError::Peer {
        peer: peer.to_owned(),
        reason,
    };
    let words = shell_words::split(peer).map_err(|error| refuse(error.to_string()))?;
    let Some((program, options)) = words.split_first() else {
        return Err(refuse("the command is empty".to_owned()));
    };
    let program = which::which(program).map_err(|_| {
        let place = if program.contains('/') {
            ""
        } else {
            " in $PATH"
        };
        refuse(format!(
            "'{program}' was not found{place}, or is not executable"
        ))
    })?;
    Ok(Mode {
        name: peer.to_owned(),
        program,
        options: options.iter().map(OsString::from).collect(),
        own: false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peer_may_have_options() {
        let mode = parse_peer("sh -c 'exit 0'").expect("a shell");
        assert_eq!(mode.name, "sh -c 'exit 0'");
        assert_eq!(mode.options, ["-c", "exit 0"]);
        assert!(mode.program.is_absolute() && !mode.own);
    }

    #[test]
    fn a_peer_that_cannot_run_is_refused_by_name() {
        for (peer, part) in [
            (
                "lua5.9",
                "cannot run peer 'lua5.9': 'lua5.9' was not found in $PATH",
            ),
            ("./lua5.9", "'./lua5.9' was not found, or is not executable"),
            ("", "the command is empty"),
            ("lua 'x", "cannot run peer 'lua 'x'"),
        ] {
            let message = parse_peer(peer).expect_err("no such peer").to_string();
            assert!(message.contains(part), "{message}");
        }
    }
}
