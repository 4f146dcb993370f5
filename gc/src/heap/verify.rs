//! The verifier: a second, independent look at a whole heap, for tests.

#[cfg(any(debug_assertions, feature = "zeal"))]
use std::{collections::HashSet, ptr::NonNull};

use super::context::{Context, Phase};
use super::page::Bit;
#[cfg(any(debug_assertions, feature = "zeal"))]
use super::{cycle::RootTrace, mark::Marker, page::PageRef};

impl Context {
    /// Checks every page: counts, colours and bitmaps.
    ///
    /// - the bytes of all cells that hold objects or are reserved, and external bytes, are `heap_bytes`;
    /// - a page that is swept, and every page while no cycle is under way, has no mark, unless marks are sticky;
    /// - a marked cell holds an object;
    /// - each page is where its space says that it is;
    /// - outside of marking nothing is gray.
    ///
    /// # Errors
    ///
    /// What is wrong, in words.
    pub(crate) fn verify(&self) -> Result<(), String> {
        self.take_over();
        let mut bytes = self.metrics.external_bytes();
        let mut wrong = None;
        self.each_space(|space| {
            for index in 0..space.len() {
                let Some(page) = space.page(index) else {
                    continue;
                };
                let name = (space.vtable.name)();
                if page.index.get() as usize != index || page.space != space.index {
                    wrong.get_or_insert(format!("a page of {name} is not where it says"));
                }
                bytes += page.count().live * page.cell_bytes;
                let clean = match self.phase.get() {
                    _ if self.generations.is_sticky() => false,
                    Phase::Sleeping => true,
                    Phase::Sweeping => page.swept.get() == self.epoch.get(),
                    Phase::Marking | Phase::Marked | Phase::Clearing => false,
                };
                if clean && !page.is_clean() {
                    wrong.get_or_insert(format!(
                        "a page of {name} has marks that nobody will clear"
                    ));
                }
                for cell in 0..page.cells() {
                    let bit = Bit::of(cell);
                    if page.is_marked(bit) && !page.is_allocated(bit) {
                        wrong.get_or_insert(format!("a free cell of {name} is marked"));
                    }
                }
            }
        });
        if let Some(wrong) = wrong {
            return Err(wrong);
        }
        if bytes != self.metrics.counted_bytes() {
            return Err(format!(
                "cells and external memory are {bytes} bytes, counted are {}",
                self.metrics.counted_bytes()
            ));
        }
        if !self.barrier.get() && !self.nothing_gray() {
            return Err("something is gray though no marking is under way".into());
        }
        Ok(())
    }

    /// Checks all of it.
    ///
    /// # Panics
    ///
    /// Where something is wrong: the heap can't be trusted any more.
    #[cfg(feature = "zeal")]
    pub(super) fn verify_zealously(&self, root: &RootTrace) {
        if let Err(wrong) = self.verify().and_then(|()| self.verify_reachable(root)) {
            panic!("the verifier found that {wrong}");
        }
    }

    /// Checks a heap that is fully marked or asleep: what can be reached from the root, by a trace of its own, is
    /// allocated, and (if the heap is marked) marked.
    ///
    /// # Errors
    ///
    /// What is wrong, in words.
    #[cfg(any(debug_assertions, feature = "zeal"))]
    pub(crate) fn verify_reachable(&self, root: &RootTrace) -> Result<(), String> {
        let mut seen = HashSet::new();
        let mut probe = Marker::probe(self);
        // SAFETY: the root is alive, and no callback is running.
        unsafe { (root.trace)(root.root, &mut probe) };
        while let Some((object, from)) = probe.found() {
            if from == 0 && !seen.insert(object) {
                continue;
            }
            self.check_object(object)?;
            // SAFETY: the object is reachable, and no callback is running.
            unsafe { (PageRef::of(object).vtable.trace)(object, from, &mut probe) };
        }
        self.verify_old()
    }

    /// Checks, between two cycles of a generational arena, that what an old object names is old or that the next cycle
    /// looks at the object again.
    #[cfg(any(debug_assertions, feature = "zeal"))]
    fn verify_old(&self) -> Result<(), String> {
        if !self.generations.is_sticky()
            || self.phase.get() != Phase::Sleeping
            || self.overflowed.get()
        {
            return Ok(());
        }
        let mut queued: HashSet<_> = self.gray.all().into_iter().collect();
        queued.extend(self.slices.all().into_iter().map(|(object, _)| object));
        queued.extend(self.late.all());
        let again: HashSet<_> = self.again.all().into_iter().collect();
        let mut wrong = Ok(());
        self.each_space(|space| {
            for page in (0..space.len()).filter_map(|index| space.page(index)) {
                for object in page.objects().map(|cell| page.cell(cell)) {
                    if !page.is_marked(page.bit_of(object)) || queued.contains(&object) {
                        continue;
                    }
                    let mut probe = Marker::probe(self);
                    // SAFETY: old objects live until a full cycle, and no callback is running.
                    unsafe { (page.vtable.trace)(object, 0, &mut probe) };
                    while let Some((child, from)) = probe.found() {
                        if from != 0 {
                            // SAFETY: as above; the rest of a long object.
                            unsafe { (page.vtable.trace)(object, from, &mut probe) };
                        } else if !self.is_marked(child) && !again.contains(&child) {
                            // SAFETY: old objects name objects.
                            let (parent, child) =
                                unsafe { (page.vtable.name, PageRef::of(child).vtable.name) };
                            wrong = Err(format!(
                                "an old {} names a young {} and is not remembered",
                                parent(),
                                child()
                            ));
                        }
                    }
                }
            }
        });
        wrong
    }

    #[cfg(any(debug_assertions, feature = "zeal"))]
    fn check_object(&self, object: NonNull<u8>) -> Result<(), String> {
        // SAFETY: the object is reachable.
        let page = unsafe { PageRef::of(object) };
        let bit = page.bit_of(object);
        let name = (page.vtable.name)();
        if !page.is_allocated(bit) {
            return Err(format!("a reachable {name} is free"));
        }
        let swept = page.swept.get() == self.epoch.get();
        let must_be_marked = match self.phase.get() {
            Phase::Sleeping | Phase::Marking => false,
            Phase::Marked => self.nothing_gray() && !self.mutated.get(),
            Phase::Clearing => true,
            Phase::Sweeping => !swept,
        };
        if must_be_marked && !page.is_marked(bit) {
            return Err(format!("a reachable {name} is taken for dead"));
        }
        Ok(())
    }
}
