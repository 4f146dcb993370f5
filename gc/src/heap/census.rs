//! Counts what a heap holds, by type and by what the root names.

use std::collections::{HashMap, hash_map::Entry};
use std::ptr::NonNull;

use super::context::Context;
use super::cycle::RootTrace;
use super::mark::Marker;
use super::page::PageRef;
use crate::summary::{Amount, HeapSummary, RootSummary, TypeSummary};

/// The label of what several of the root's pointers reach.
const SHARED: u32 = u32::MAX;

/// How many objects are looked through at most, one behind the other, where each names one only.
const SPINE: usize = 8;

impl Context {
    /// Counts a heap that is fully marked: what is marked is what the root retains.
    pub(crate) fn summary(&self, root: &RootTrace) -> HeapSummary {
        let (roots, shared) = self.retained_by(root);
        HeapSummary {
            types: self.types(),
            roots,
            shared,
            external_bytes: self.metrics.external_bytes(),
        }
    }

    fn types(&self) -> Vec<TypeSummary> {
        let mut types: HashMap<&'static str, TypeSummary> = HashMap::new();
        self.each_space(|space| {
            let name = (space.vtable.name)();
            let of = types.entry(name).or_insert_with(|| TypeSummary {
                name: name.to_owned(),
                total: Default::default(),
                retained: Default::default(),
            });
            let pages = (0..space.len()).filter_map(|index| space.page(index));
            for page in pages {
                let (live, marked) = (page.count().live, page.count_marked());
                of.total.add(live, live * page.cell_bytes);
                of.retained.add(marked, marked * page.cell_bytes);
            }
            // Those are counted as objects by their page.
            of.total.objects -= space.reserved();
            of.total.bytes -= space.reserved() * space.cell_bytes;
        });
        let mut types: Vec<_> = types
            .into_values()
            .filter(|of| of.total.objects != 0)
            .collect();
        types.sort_by(|a, b| {
            let by_bytes = b.total.bytes.cmp(&a.total.bytes);
            by_bytes.then_with(|| a.name.cmp(&b.name))
        });
        types
    }

    /// What each of the root's pointers reaches and no other does, by type of what it points to; and what several reach.
    /// A root that names one object only is looked through: that object's pointers take its place.
    ///
    /// Each object gets the label of the pointer that it is reached from, or [`SHARED`]: it is looked at twice at most.
    fn retained_by(&self, root: &RootTrace) -> (Vec<RootSummary>, Amount) {
        let mut probe = Marker::probe(self);
        // SAFETY: the root is alive, and no callback is running.
        unsafe { (root.trace)(root.root, &mut probe) };
        let mut named = Self::named_by(&mut probe);
        let mut labels: HashMap<NonNull<u8>, u32> = HashMap::new();
        for _ in 0..SPINE {
            let &[only] = named.as_slice() else {
                break;
            };
            // SAFETY: the object is reachable, and no callback is running.
            unsafe { (PageRef::of(only).vtable.trace)(only, 0, &mut probe) };
            let mut next = Self::named_by(&mut probe);
            next.retain(|object| *object != only && !labels.contains_key(object));
            if next.is_empty() {
                break;
            }
            labels.insert(only, SHARED);
            named = next;
        }

        for (label, &object) in (0_u32..).zip(&named) {
            self.spread(&mut labels, object, label, &mut probe);
        }

        let mut roots: HashMap<&'static str, RootSummary> = HashMap::new();
        let name_of = |object: NonNull<u8>| {
            // SAFETY: the object is reachable.
            (unsafe { PageRef::of(object) }.vtable.name)()
        };
        for &object in &named {
            let name = name_of(object);
            let of = roots.entry(name).or_insert_with(|| RootSummary {
                name: name.to_owned(),
                named: 0,
                retained: Amount::default(),
            });
            of.named += 1;
        }
        let mut shared = Amount::default();
        for (&object, &label) in &labels {
            // SAFETY: the object is reachable.
            let bytes = unsafe { PageRef::of(object) }.cell_bytes;
            match named.get(label as usize) {
                Some(&by) => {
                    if let Some(of) = roots.get_mut(name_of(by)) {
                        of.retained.add(1, bytes);
                    }
                }
                None => shared.add(1, bytes),
            }
        }
        let mut roots: Vec<_> = roots.into_values().collect();
        roots.sort_by(|a, b| {
            let by_bytes = b.retained.bytes.cmp(&a.retained.bytes);
            by_bytes.then_with(|| a.name.cmp(&b.name))
        });
        (roots, shared)
    }

    /// What a probe's trace has found, the rest of a long object included; each object once.
    fn named_by(probe: &mut Marker) -> Vec<NonNull<u8>> {
        let mut named = Vec::new();
        while let Some((object, from)) = probe.found() {
            if from == 0 {
                named.push(object);
            } else {
                // SAFETY: the object is reachable, and no callback is running.
                unsafe { (PageRef::of(object).vtable.trace)(object, from, probe) };
            }
        }
        named.sort_unstable();
        named.dedup();
        named
    }

    /// Labels all that an object reaches.
    fn spread(
        &self,
        labels: &mut HashMap<NonNull<u8>, u32>,
        object: NonNull<u8>,
        label: u32,
        probe: &mut Marker,
    ) {
        let mut todo = vec![(object, 0, label)];
        while let Some((object, from, label)) = todo.pop() {
            let mut label = label;
            // Beyond its first elements an object is looked at on behalf of the label that it got there.
            if from == 0 {
                match labels.entry(object) {
                    Entry::Vacant(none) => {
                        none.insert(label);
                    }
                    Entry::Occupied(before) if [label, SHARED].contains(before.get()) => continue,
                    Entry::Occupied(mut before) => {
                        label = SHARED;
                        before.insert(SHARED);
                    }
                }
            }
            // SAFETY: the object is reachable, and no callback is running.
            unsafe { (PageRef::of(object).vtable.trace)(object, from, probe) };
            while let Some((object, from)) = probe.found() {
                todo.push((object, from, label));
            }
        }
    }
}
