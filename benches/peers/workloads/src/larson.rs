//! `larson`: a server whose threads end and leave their memory to others.

use crate::block::{Block, get, put};
use crate::list::{Rounds, Size};
use crate::random::Random;
use std::io;
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;

const CHUNKS: usize = 5000;
const LEAST_BYTES: usize = 8;
const MOST_BYTES: usize = 1000;
/// What one thread replaces before its successor goes on.
const A_GENERATION: usize = 10 * CHUNKS;
/// What all threads replace in a round.
const REPLACED: usize = 1_600_000;

type Chunk = (Block, usize);

fn chunk(random: &mut Random) -> Chunk {
    let bytes = random.between(LEAST_BYTES, MOST_BYTES - 1);
    let block = get(bytes);
    // SAFETY: at least 8 bytes.
    unsafe {
        block.write(b'a');
        block.add(1).write(b'b');
    }
    (Block(block), bytes)
}

fn free((block, bytes): Chunk) {
    // SAFETY: each chunk comes from `chunk` and is freed once, by whoever takes it out of its place.
    unsafe { put(block.0, bytes) };
}

fn replace(lane: &mut [Chunk], times: usize, random: &mut Random) {
    for _ in 0..times {
        let place = random.below(lane.len());
        free(lane[place]);
        lane[place] = chunk(random);
    }
}

/// Lanes of chunks, each in the hands of one thread after the other.
pub fn larson(size: &Size) -> io::Result<Rounds> {
    let threads = size.threads;
    let chunks = size.of(CHUNKS);
    let times = size.of(A_GENERATION);
    let generations = REPLACED / A_GENERATION / threads;
    Ok(Rounds::plain(move || {
        let mut random = Random::new(4141);
        let mut all: Vec<Chunk> = (0..threads * chunks).map(|_| chunk(&mut random)).collect();
        for i in (1..all.len()).rev() {
            all.swap(i, random.below(i + 1));
        }
        let four_times = 4 * all.len();
        replace(&mut all, four_times, &mut random);

        let (sender, ended) = channel();
        for (i, lane) in all.chunks(chunks).enumerate() {
            let lane = Lane {
                chunks: lane.to_vec(),
                random: Random::new(i as u64),
                times,
                sender: sender.clone(),
            };
            start(lane, generations, &sender);
        }
        drop(sender);
        drop(all);
        // All senders are gone when all threads have ended.
        for news in ended {
            match news {
                News::Started(thread) => thread.join().expect("a lane panicked"),
                News::Over(chunks) => chunks.into_iter().for_each(free),
            }
        }
    }))
}

struct Lane {
    chunks: Vec<Chunk>,
    random: Random,
    times: usize,
    sender: Sender<News>,
}

enum News {
    Started(JoinHandle<()>),
    Over(Vec<Chunk>),
}

/// Starts the next thread of a lane, which starts its successor in turn.
fn start(mut lane: Lane, generations: usize, sender: &Sender<News>) {
    let work = move || {
        replace(&mut lane.chunks, lane.times, &mut lane.random);
        let sender = lane.sender.clone();
        if generations > 1 {
            start(lane, generations - 1, &sender);
        } else {
            // The main thread waits for all news.
            drop(sender.send(News::Over(lane.chunks)));
        }
    };
    drop(sender.send(News::Started(std::thread::spawn(work))));
}
