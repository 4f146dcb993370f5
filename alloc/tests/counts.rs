//! Live bytes are exact at every moment: the sizes that the blocks really take, to the byte.

mod common;

use common::block::{Block, free_all};
use common::random::Random;
use sleepy_alloc::{idle_end, idle_start, purge_now, stats};
use std::thread;

struct Ledger {
    base: u64,
    blocks: Vec<Block>,
}

impl Ledger {
    fn open() -> Self {
        Self {
            base: stats().live_bytes,
            blocks: Vec::new(),
        }
    }

    fn check(&self, when: &str) {
        let held: usize = self.blocks.iter().map(Block::usable_bytes).sum();
        let live = stats().live_bytes - self.base;
        assert_eq!(live, held as u64, "{when}");
    }
}

#[test]
fn every_call_is_counted() {
    let mut ledger = Ledger::open();
    let mut random = Random(3);
    for _ in 0..3000 {
        match random.below(12) {
            0..6 => ledger.blocks.push(Block::new(random.size(), 1)),
            6 | 7 if !ledger.blocks.is_empty() => {
                let at = random.below(ledger.blocks.len());
                ledger.blocks[at].resize(random.size());
            }
            8 if !ledger.blocks.is_empty() => {
                let at = random.below(ledger.blocks.len());
                let block = ledger.blocks.swap_remove(at);
                thread::spawn(|| block.free()).join().unwrap();
            }
            9 => drop(idle_start()),
            10 => idle_end(),
            _ if !ledger.blocks.is_empty() => {
                let at = random.below(ledger.blocks.len());
                ledger.blocks.swap_remove(at).free();
            }
            _ => {}
        }
        ledger.check("after a call");
    }
    purge_now();
    ledger.check("after a purge");

    let mut sizes: Vec<usize> = (0..500).map(|_| random.size()).collect();
    sizes.extend([1 << 20, 5 << 20, 40 << 20]);
    let theirs = thread::spawn(move || {
        sizes
            .into_iter()
            .map(|size| Block::new(size, 2))
            .collect::<Vec<_>>()
    });
    ledger.blocks.extend(theirs.join().unwrap());
    ledger.check("after a thread that left blocks");
    free_all(ledger.blocks.split_off(ledger.blocks.len() / 2));
    ledger.check("after half of them");
    let rest = std::mem::take(&mut ledger.blocks);
    thread::spawn(|| free_all(rest)).join().unwrap();
    ledger.check("in the end");
    assert_eq!(stats().abandoned_pages, 0);
}
