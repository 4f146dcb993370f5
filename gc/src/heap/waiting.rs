//! Ephemeron entries that wait for their keys to be marked.

use std::cell::RefCell;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::ptr::NonNull;

/// Tables that share the keys, so that none grows in one long piece.
const SHARDS: usize = 256;

/// An entry that waits: where the trace of its map goes on when the key is marked.
#[derive(Clone, Copy)]
pub(super) struct Waiter {
    pub(super) map: NonNull<u8>,
    pub(super) from: usize,
}

#[derive(Default)]
struct Shard {
    /// The last waiter of each key.
    last: HashMap<usize, u32, BuildHasherDefault<AddressHasher>>,
    /// All waiters, each with the one before it for the same key.
    waiters: Vec<(Waiter, Option<u32>)>,
}

/// Who waits for whom, in the cycle under way.
#[derive(Default)]
pub(super) struct Waiting {
    shards: RefCell<Vec<Shard>>,
}

/// Hashes an address: cells are 8 bytes apart at least.
#[derive(Default)]
struct AddressHasher(u64);

impl Hasher for AddressHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_usize(usize::from(byte));
        }
    }

    fn write_usize(&mut self, value: usize) {
        self.0 = (self.0 ^ value as u64)
            .wrapping_mul(0x9e37_79b9_7f4a_7c15)
            .rotate_left(29);
    }
}

fn shard_of(key: NonNull<u8>) -> usize {
    (key.addr().get() >> 4 ^ key.addr().get() >> 14) % SHARDS
}

impl Waiting {
    /// Remembers that an entry waits for `key`; false where there is no memory for it.
    pub(super) fn add(&self, key: NonNull<u8>, waiter: Waiter) -> bool {
        let mut shards = self.shards.borrow_mut();
        if shards.is_empty() {
            if shards.try_reserve_exact(SHARDS).is_err() {
                return false;
            }
            shards.resize_with(SHARDS, Shard::default);
        }
        let shard = &mut shards[shard_of(key)];
        if shard.last.try_reserve(1).is_err() || shard.waiters.try_reserve(1).is_err() {
            return false;
        }
        let Ok(index) = u32::try_from(shard.waiters.len()) else {
            return false;
        };
        let before = shard.last.insert(key.addr().get(), index);
        shard.waiters.push((waiter, before));
        true
    }

    /// Takes the waiters of a key, giving each to `f`.
    pub(super) fn take(&self, key: NonNull<u8>, mut f: impl FnMut(Waiter)) {
        let mut shards = self.shards.borrow_mut();
        let Some(shard) = shards.get_mut(shard_of(key)) else {
            return;
        };
        let mut next = shard.last.remove(&key.addr().get());
        while let Some(index) = next {
            let (waiter, before) = shard.waiters[index as usize];
            f(waiter);
            next = before;
        }
    }

    /// Forgets everything: the cycle has decided.
    pub(super) fn reset(&self) {
        self.shards.take();
    }
}
