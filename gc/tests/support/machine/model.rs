//! The naive side: a table of nodes and edges.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::program::{HANDLES, KINDS, Kind, Path, ROOTS, STRINGS};

/// The naive side.
#[derive(Default)]
pub struct Model {
    pub edges: BTreeMap<u32, BTreeMap<(Kind, usize), u32>>,
    pub roots: [Option<u32>; ROOTS],
    pub stack: Vec<Option<u32>>,
    /// What handles outside of the arena keep.
    pub handles: [Option<u32>; HANDLES],
    pub weak: BTreeMap<u32, u32>,
    /// Entries of the weak map.
    pub pairs: BTreeMap<u32, u32>,
    pub strings: [Option<u8>; STRINGS],
    pub next: u32,
}

impl Model {
    pub fn walk(&self, path: &Path) -> Option<u32> {
        let mut node = self.roots[path.root]?;
        for &(kind, slot) in &path.edges {
            let kind = KINDS[kind];
            match self.edges[&node].get(&(kind, place(kind, slot))) {
                Some(&next) => node = next,
                None => break,
            }
        }
        Some(node)
    }

    pub fn reachable(&self) -> BTreeSet<u32> {
        let mut found: BTreeSet<u32> = self
            .roots
            .iter()
            .chain(&self.stack)
            .chain(&self.handles)
            .flatten()
            .copied()
            .collect();
        let mut queue: VecDeque<u32> = found.iter().copied().collect();
        while let Some(node) = queue.pop_front() {
            queue.extend(self.pairs.get(&node).filter(|&&value| found.insert(value)));
            queue.extend(
                self.edges[&node]
                    .values()
                    .filter(|&&next| found.insert(next)),
            );
        }
        found
    }

    /// All edges of a kind.
    pub fn edges_of(&self, node: u32, kind: Kind) -> impl Iterator<Item = (usize, u32)> {
        self.edges[&node]
            .range((kind, 0)..=(kind, usize::MAX))
            .map(|((_, slot), to)| (*slot, *to))
    }

    /// The edges of a kind become those of another node's, which has none then.
    pub fn take(&mut self, from: u32, to: u32, kind: Kind) {
        let taken: Vec<_> = self.edges_of(from, kind).collect();
        for (slot, _) in &taken {
            self.set(from, kind, *slot, None);
        }
        self.clear(to, kind);
        for (slot, node) in taken {
            self.set(to, kind, slot, Some(node));
        }
    }

    /// Removes all edges of a kind.
    pub fn clear(&mut self, node: u32, kind: Kind) {
        self.edges
            .get_mut(&node)
            .expect("each node has a row")
            .retain(|(other, _), _| *other != kind);
    }

    pub fn set(&mut self, from: u32, kind: Kind, slot: usize, to: Option<u32>) -> Option<u32> {
        let edges = self.edges.get_mut(&from).expect("each node has a row");
        match to {
            Some(to) => edges.insert((kind, slot), to),
            None => edges.remove(&(kind, slot)),
        }
    }
}

/// A kind with one place has only the first.
pub fn place(kind: Kind, slot: usize) -> usize {
    if kind == Kind::Lock { 0 } else { slot }
}
