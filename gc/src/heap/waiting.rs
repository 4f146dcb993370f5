//! Ephemeron entries that wait for their keys to be marked.
//!
//! A hash table by linear hashing (W. Litwin, "Linear hashing: a new tool for file and table addressing", VLDB 1980): it
//! grows by one bucket at a time, and in chunks, so that no insertion is long. The waiters of one key are a list; when
//! the key is marked, the list goes to the ready ones, from which the collector takes one after the other.

use std::cell::RefCell;
use std::ptr::NonNull;

/// Elements of a chunk.
const CHUNK: usize = 512;

/// No place.
const NONE: u32 = u32::MAX;

/// An entry that waits: where the trace of its map goes on when the key is marked.
#[derive(Clone, Copy)]
pub(super) struct Waiter {
    pub(super) map: NonNull<u8>,
    pub(super) from: usize,
}

#[derive(Clone, Copy)]
struct Node {
    waiter: Waiter,
    key: usize,
    /// The first node of the next key in the same bucket, or of the next key that is ready.
    next_key: u32,
    /// The next node of the same key; of free nodes, the next free one.
    next: u32,
}

/// An array that grows by chunks.
struct Chunked<T>(Vec<Vec<T>>);

impl<T: Copy> Chunked<T> {
    const fn new() -> Self {
        Self(Vec::new())
    }

    fn len(&self) -> usize {
        match self.0.last() {
            Some(last) => (self.0.len() - 1) * CHUNK + last.len(),
            None => 0,
        }
    }

    /// Adds an element and answers where; `None` where there is no memory.
    fn push(&mut self, value: T) -> Option<u32> {
        let index = u32::try_from(self.len())
            .ok()
            .filter(|&index| index != NONE)?;
        match self.0.last_mut().filter(|last| last.len() < CHUNK) {
            Some(last) => last.push(value),
            None => {
                let mut chunk = Vec::new();
                chunk.try_reserve_exact(CHUNK).ok()?;
                self.0.try_reserve(1).ok()?;
                chunk.push(value);
                self.0.push(chunk);
            }
        }
        Some(index)
    }

    fn at(&mut self, index: u32) -> &mut T {
        &mut self.0[index as usize / CHUNK][index as usize % CHUNK]
    }
}

struct Table {
    /// The first node of each bucket.
    buckets: Chunked<u32>,
    nodes: Chunked<Node>,
    /// The first node that is not used.
    free: u32,
    /// How many keys are waited for.
    keys: usize,
    /// The first node whose key was marked.
    ready: u32,
}

/// Who waits for whom, in the cycle under way.
pub(super) struct Waiting {
    table: RefCell<Table>,
    /// What is left of the last cycle's table.
    old: RefCell<Table>,
}

impl Table {
    const fn new() -> Self {
        Self {
            buckets: Chunked::new(),
            nodes: Chunked::new(),
            free: NONE,
            keys: 0,
            ready: NONE,
        }
    }

    /// The bucket of a key; there is one.
    fn bucket_of(&self, key: usize) -> u32 {
        let half = 1 << self.buckets.len().ilog2();
        // Cells are 8 bytes apart at least; the product's upper half depends on all bits.
        let hash = (key as u64 >> 3).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        let index = hash as usize & (2 * half - 1);
        #[allow(clippy::cast_possible_truncation, reason = "`push` has refused more")]
        if index < self.buckets.len() {
            index as u32
        } else {
            (index & (half - 1)) as u32
        }
    }

    /// Adds a bucket, where there is memory for it, and gives it its keys.
    fn split(&mut self) {
        let Some(new) = self.buckets.push(NONE) else {
            return;
        };
        if new == 0 {
            return;
        }
        let old = new - (1 << new.ilog2());
        let mut node = std::mem::replace(self.buckets.at(old), NONE);
        while node != NONE {
            let Node { key, next_key, .. } = *self.nodes.at(node);
            let bucket = self.bucket_of(key);
            self.nodes.at(node).next_key = std::mem::replace(self.buckets.at(bucket), node);
            node = next_key;
        }
    }

    fn new_node(&mut self, node: Node) -> Option<u32> {
        if self.free == NONE {
            return self.nodes.push(node);
        }
        let index = self.free;
        self.free = std::mem::replace(self.nodes.at(index), node).next;
        Some(index)
    }

    /// The node before the first one of a key in its bucket, and that one.
    fn find(&mut self, bucket: u32, key: usize) -> Option<(u32, u32)> {
        let (mut before, mut node) = (NONE, *self.buckets.at(bucket));
        while node != NONE {
            let found = *self.nodes.at(node);
            if found.key == key {
                return Some((before, node));
            }
            (before, node) = (node, found.next_key);
        }
        None
    }

    fn add(&mut self, key: usize, waiter: Waiter) -> Option<()> {
        if self.keys >= self.buckets.len() {
            self.split();
        }
        if self.buckets.len() == 0 {
            return None;
        }
        let bucket = self.bucket_of(key);
        let found = self.find(bucket, key);
        let new = self.new_node(Node {
            waiter,
            key,
            next_key: NONE,
            next: NONE,
        })?;
        match found {
            Some((_, first)) => {
                let next = std::mem::replace(&mut self.nodes.at(first).next, new);
                self.nodes.at(new).next = next;
            }
            None => {
                self.nodes.at(new).next_key = std::mem::replace(self.buckets.at(bucket), new);
                self.keys += 1;
            }
        }
        Some(())
    }

    fn wake(&mut self, key: usize) {
        if self.keys == 0 {
            return;
        }
        let bucket = self.bucket_of(key);
        let Some((before, first)) = self.find(bucket, key) else {
            return;
        };
        let next = std::mem::replace(&mut self.nodes.at(first).next_key, self.ready);
        match before {
            NONE => *self.buckets.at(bucket) = next,
            before => self.nodes.at(before).next_key = next,
        }
        self.keys -= 1;
        self.ready = first;
    }

    fn pop_ready(&mut self) -> Option<Waiter> {
        let index = self.ready;
        if index == NONE {
            return None;
        }
        let node = *self.nodes.at(index);
        self.ready = match node.next {
            NONE => node.next_key,
            next => {
                self.nodes.at(next).next_key = node.next_key;
                next
            }
        };
        self.nodes.at(index).next = std::mem::replace(&mut self.free, index);
        Some(node.waiter)
    }
}

impl Waiting {
    pub(super) const fn new() -> Self {
        Self {
            table: RefCell::new(Table::new()),
            old: RefCell::new(Table::new()),
        }
    }

    /// Remembers that an entry waits for `key`; false where there is no memory for it.
    pub(super) fn add(&self, key: NonNull<u8>, waiter: Waiter) -> bool {
        self.table
            .borrow_mut()
            .add(key.addr().get(), waiter)
            .is_some()
    }

    /// Makes the waiters of a key ready.
    pub(super) fn wake(&self, key: NonNull<u8>) {
        self.table.borrow_mut().wake(key.addr().get());
    }

    /// Whether nobody is ready.
    pub(super) fn none_ready(&self) -> bool {
        self.table.borrow().ready == NONE
    }

    /// Takes an entry whose key was marked.
    pub(super) fn pop_ready(&self) -> Option<Waiter> {
        self.table.borrow_mut().pop_ready()
    }

    /// Forgets everything: the cycle has decided. The memory is freed by [`Waiting::free_some`].
    pub(super) fn reset(&self) {
        self.old.replace(self.table.replace(Table::new()));
    }

    /// Frees some memory of a table that was forgotten; false where none is left.
    pub(super) fn free_some(&self) -> bool {
        let mut old = self.old.borrow_mut();
        if old.nodes.0.pop().is_some() | old.buckets.0.pop().is_some() {
            return true;
        }
        *old = Table::new();
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(n: usize) -> NonNull<u8> {
        NonNull::without_provenance(std::num::NonZero::new(n * 8 + 8).expect("it is not 0"))
    }

    fn waiter(from: usize) -> Waiter {
        Waiter {
            map: address(from),
            from,
        }
    }

    fn ready(waiting: &Waiting) -> Vec<usize> {
        let mut all: Vec<_> = std::iter::from_fn(|| waiting.pop_ready())
            .map(|waiter| waiter.from)
            .collect();
        all.sort_unstable();
        all
    }

    #[test]
    fn all_waiters_of_a_key_are_woken_once_and_no_others() {
        let waiting = Waiting::new();
        for n in 0..30_000 {
            assert!(waiting.add(address(n % 10_000), waiter(n)));
        }
        assert!(waiting.none_ready());
        for key in 0..10_000 {
            waiting.wake(address(key));
            assert_eq!(ready(&waiting), [key, key + 10_000, key + 20_000]);
            waiting.wake(address(key));
            assert!(waiting.none_ready());
        }
        assert_eq!(waiting.table.borrow().keys, 0);
    }

    #[test]
    fn keys_may_become_ready_together_and_wait_again() {
        let waiting = Waiting::new();
        for round in 0..5 {
            for n in 0..3000 {
                assert!(waiting.add(address(n % 1000), waiter(n)));
            }
            for key in 0..1000 {
                waiting.wake(address(key));
            }
            assert!(ready(&waiting).into_iter().eq(0..3000), "round {round}");
        }
        assert_eq!(
            waiting.table.borrow().nodes.len(),
            3000,
            "places are used again"
        );
    }

    #[test]
    fn what_is_forgotten_is_freed_in_pieces() {
        let waiting = Waiting::new();
        for n in 0..10 * CHUNK {
            assert!(waiting.add(address(n), waiter(n)));
        }
        waiting.reset();
        waiting.wake(address(1));
        assert!(waiting.none_ready());
        let mut pieces = 0;
        while waiting.free_some() {
            pieces += 1;
        }
        assert_eq!(pieces, 10);
    }
}
