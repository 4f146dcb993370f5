//! The main function of a process with one allocator.

use peers_common::peer::Peer;
use std::error::Error;
use std::process::ExitCode;

/// Does what the command line asks for, and prints the answer as one line of JSON.
///
/// `run …` is a workload; anything else is looked for in `loops`.
pub fn main(peer: &'static Peer) -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let answer = match args.first().map(String::as_str) {
        Some("run") => workloads::run(peer, &args[1..]),
        _ => loops::dispatch(peer, &args).unwrap_or_else(|| {
            Err("usage: with-PEER run WORKLOAD [options], or a part of loops".into())
        }),
    };
    print(&format!("with-{}", peer.name), answer)
}

/// Runs the workload that the command line names, and prints the answer as one line of JSON.
pub fn run_workload(peer: &'static Peer) -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let answer = workloads::run(peer, &args);
    print(&format!("run-{}", peer.name), answer)
}

fn print(program: &str, answer: Result<serde_json::Value, Box<dyn Error>>) -> ExitCode {
    match answer {
        Ok(json) => {
            println!("{json}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{program}: {error}");
            ExitCode::FAILURE
        }
    }
}
