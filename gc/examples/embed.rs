//! The least that an embedder does: an arena, a sleeper, and a wait that collects.

use std::io::Read;
use std::net::TcpStream;
use std::os::fd::AsFd;

use sleepy_gc::collections::{GcStr, GcVec};
use sleepy_gc::idle::{Interest, Policy, Sleeper};
use sleepy_gc::{Arena, Rootable};

fn main() -> std::io::Result<()> {
    let Some(address) = std::env::args().nth(1) else {
        eprintln!("usage: embed HOST:PORT, for something that sends lines");
        std::process::exit(2);
    };
    let mut stream = TcpStream::connect(address)?;
    let mut arena = Arena::<Rootable![GcVec<'_, GcStr<'_>>]>::new(|_| GcVec::new());
    let mut sleeper = Sleeper::new(Policy::default());

    let mut buffer = [0; 4096];
    loop {
        // Where the program would sleep it collects first, then lends its heap to the scavenger, then sleeps.
        sleeper.wait_fd(&mut arena, stream.as_fd(), Interest::Readable, None)?;
        let count = stream.read(&mut buffer)?;
        if count == 0 {
            break;
        }
        arena.mutate(|mc, lines| {
            for line in String::from_utf8_lossy(&buffer[..count]).lines() {
                lines.push(mc, GcStr::new(mc, line));
            }
        });
        // For programs that hardly ever wait.
        arena.collect_debt();
    }
    arena.mutate(|_, lines| println!("{} lines", lines.len()));
    Ok(())
}
