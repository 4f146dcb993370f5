//! A machine that runs programs of allocations next to a naive record of what must be: blocks are aligned, never
//! overlap, keep what was written into them to the last usable byte, and are zero where that was asked.
//!
//! It works on any [`Face`] of the allocator. Where the face can be used by several threads, a helper thread allocates,
//! frees and resizes too, ends with its blocks alive and is followed by another.

#![allow(dead_code, reason = "each user of this uses a part of it")]

use allocator_api2::alloc::Allocator;
use sleepy_alloc::{Heap, SleepyAlloc, raw};
use std::alloc::{GlobalAlloc, Layout};
use std::collections::BTreeMap;
use std::ptr::{self, NonNull};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};

/// One way to the allocator. All null on failure.
pub trait Face {
    fn alloc(&self, layout: Layout, zeroed: bool) -> *mut u8;

    /// # Safety
    /// `ptr` is a live block of this face and this layout, and given up.
    unsafe fn free(&self, ptr: *mut u8, layout: Layout);

    /// # Safety
    /// `ptr` is a live block of this face and layout `old`, and given up if the result is not null.
    unsafe fn realloc(&self, ptr: *mut u8, old: Layout, new: Layout) -> *mut u8;

    /// Bytes of the block that may be used, and are kept.
    ///
    /// # Safety
    /// `ptr` is a live block of this face and this layout.
    unsafe fn usable_bytes(&self, _ptr: *mut u8, layout: Layout) -> usize {
        layout.size()
    }

    /// Whether [`Face::realloc`] may be given another alignment.
    fn realigns(&self) -> bool {
        true
    }

    /// The same face for other threads, if they may free its blocks.
    fn shared(&self) -> Option<&'static (dyn Face + Sync)> {
        None
    }

    fn park(&self) {
        sleepy_alloc::idle_start();
    }

    fn unpark(&self) {
        sleepy_alloc::idle_end();
    }
}

/// The raw functions, as the C face uses them.
pub struct Raw;

impl Face for Raw {
    fn alloc(&self, layout: Layout, zeroed: bool) -> *mut u8 {
        if zeroed {
            raw::alloc_zeroed(layout)
        } else {
            raw::alloc(layout)
        }
    }

    unsafe fn free(&self, ptr: *mut u8, _layout: Layout) {
        // SAFETY: passed on.
        unsafe { raw::free(ptr) }
    }

    unsafe fn realloc(&self, ptr: *mut u8, _old: Layout, new: Layout) -> *mut u8 {
        // SAFETY: passed on.
        unsafe { raw::realloc(ptr, new) }
    }

    unsafe fn usable_bytes(&self, ptr: *mut u8, layout: Layout) -> usize {
        assert!(raw::is_ours(ptr));
        // SAFETY: passed on.
        let bytes = unsafe { raw::usable_bytes(ptr) };
        assert!(bytes >= layout.size(), "{layout:?} has {bytes} bytes");
        bytes
    }

    fn shared(&self) -> Option<&'static (dyn Face + Sync)> {
        Some(&Raw)
    }
}

/// What `#[global_allocator]` uses.
pub struct Global;

impl Face for Global {
    fn alloc(&self, layout: Layout, zeroed: bool) -> *mut u8 {
        assert_ne!(layout.size(), 0);
        // SAFETY: the size is not 0.
        unsafe {
            if zeroed {
                SleepyAlloc.alloc_zeroed(layout)
            } else {
                SleepyAlloc.alloc(layout)
            }
        }
    }

    unsafe fn free(&self, ptr: *mut u8, layout: Layout) {
        // SAFETY: passed on.
        unsafe { SleepyAlloc.dealloc(ptr, layout) }
    }

    unsafe fn realloc(&self, ptr: *mut u8, old: Layout, new: Layout) -> *mut u8 {
        // SAFETY: passed on; the sizes are not 0 and no larger than a layout's.
        unsafe { SleepyAlloc.realloc(ptr, old, new.size()) }
    }

    fn realigns(&self) -> bool {
        false
    }

    fn shared(&self) -> Option<&'static (dyn Face + Sync)> {
        Some(&Global)
    }
}

impl Face for &Heap {
    fn alloc(&self, layout: Layout, zeroed: bool) -> *mut u8 {
        let block = if zeroed {
            self.allocate_zeroed(layout)
        } else {
            self.allocate(layout)
        };
        block.map_or(ptr::null_mut(), |block| block.cast().as_ptr())
    }

    unsafe fn free(&self, ptr: *mut u8, layout: Layout) {
        // SAFETY: passed on; a live block is not null.
        unsafe { self.deallocate(NonNull::new_unchecked(ptr), layout) }
    }

    unsafe fn realloc(&self, ptr: *mut u8, old: Layout, new: Layout) -> *mut u8 {
        // SAFETY: passed on; a live block is not null.
        let block = unsafe {
            let ptr = NonNull::new_unchecked(ptr);
            if new.size() >= old.size() {
                self.grow(ptr, old, new)
            } else {
                self.shrink(ptr, old, new)
            }
        };
        block.map_or(ptr::null_mut(), |block| block.cast().as_ptr())
    }

    fn park(&self) {
        std::mem::forget(Heap::park(self));
    }

    fn unpark(&self) {
        drop(Heap::park(self));
    }
}

/// Who does something.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Who {
    Me,
    /// The helper thread, which has a heap of its own.
    Helper,
    /// A thread that has never allocated.
    Stranger,
}

/// One step of a program.
#[derive(Clone, Debug)]
pub enum Op {
    Alloc {
        size: usize,
        align: usize,
        zeroed: bool,
        who: Who,
    },
    /// Many at once, so that pages get full.
    AllocMany {
        size: usize,
        count: usize,
        who: Who,
    },
    Free {
        which: usize,
        who: Who,
    },
    /// Every `step`-th block from `which` on.
    FreeMany {
        which: usize,
        step: usize,
        who: Who,
    },
    Resize {
        which: usize,
        size: usize,
        align: usize,
        who: Who,
    },
    Park(Who),
    Unpark(Who),
    Purge,
    /// The helper ends, and its blocks live on.
    HelperEnds,
    CheckAll,
}

/// Bytes that may be alive at once; what would be more is not allocated.
const LIMIT_BYTES: usize = 96 << 20;

/// A block in the record.
struct Held {
    ptr: *mut u8,
    layout: Layout,
    usable_bytes: usize,
    seed: u8,
}

// SAFETY: whoever has the record of a block may use its memory.
unsafe impl Send for Held {}

impl Held {
    /// The places that are written and checked: all of a small block, some of a large one, and the last.
    fn places(&self, bytes: usize) -> impl Iterator<Item = usize> + use<> {
        let step = if bytes > 8192 { 251 } else { 1 };
        (0..bytes).step_by(step).chain(bytes.checked_sub(1))
    }

    /// Never 0, so that what is not cleared is seen.
    fn pattern(&self, at: usize) -> u8 {
        (self.seed ^ at as u8 ^ (at >> 8) as u8) | 0x40
    }

    fn fill(&self) {
        for at in self.places(self.usable_bytes) {
            // SAFETY: the usable bytes of the block, which is ours.
            unsafe { self.ptr.add(at).write(self.pattern(at)) };
        }
    }

    /// Looks at the places of the block among its first `bytes`, which have moved to `ptr`.
    fn check_at(&self, ptr: *const u8, bytes: usize) {
        let places = self.places(self.usable_bytes);
        for at in places.filter(|&at| at < bytes) {
            // SAFETY: the caller's memory has this many bytes.
            let found = unsafe { ptr.add(at).read() };
            assert_eq!(found, self.pattern(at), "byte {at} of {:?}", self.layout);
        }
    }

    fn check(&self) {
        self.check_at(self.ptr, self.usable_bytes);
    }
}

/// What a thread is to do with blocks; each answer is what it has then.
enum Job {
    Alloc(Vec<(Layout, bool, u8)>),
    Free(Vec<Held>),
    Resize(Held, Layout, u8),
    Park,
    Unpark,
}

fn work(face: &dyn Face, job: Job) -> Vec<Held> {
    match job {
        Job::Alloc(layouts) => layouts
            .into_iter()
            .filter_map(|(layout, zeroed, seed)| alloc(face, layout, zeroed, seed))
            .collect(),
        Job::Free(blocks) => {
            for block in blocks {
                block.check();
                // SAFETY: a live block of this face, gone from the record.
                unsafe { face.free(block.ptr, block.layout) };
            }
            Vec::new()
        }
        Job::Resize(block, layout, seed) => vec![resize(face, block, layout, seed)],
        Job::Park => {
            face.park();
            Vec::new()
        }
        Job::Unpark => {
            face.unpark();
            Vec::new()
        }
    }
}

fn alloc(face: &dyn Face, layout: Layout, zeroed: bool, seed: u8) -> Option<Held> {
    let ptr = face.alloc(layout, zeroed);
    if ptr.is_null() {
        // Only what no arena can hold may fail.
        assert!(layout.align() > 4 << 20, "no memory for {layout:?}");
        return None;
    }
    assert!(ptr.addr().is_multiple_of(layout.align()), "{layout:?}");
    if zeroed {
        // SAFETY: a new block of this size, all of it written.
        let bytes = unsafe { std::slice::from_raw_parts(ptr, layout.size()) };
        let dirty = bytes.iter().position(|&byte| byte != 0);
        assert_eq!(dirty, None, "{layout:?} is not zero");
    }
    Some(held(face, ptr, layout, seed))
}

fn resize(face: &dyn Face, block: Held, layout: Layout, seed: u8) -> Held {
    block.check();
    // SAFETY: a live block of this face; it is replaced by the result.
    let ptr = unsafe { face.realloc(block.ptr, block.layout, layout) };
    assert!(!ptr.is_null(), "no memory for {layout:?}");
    assert!(ptr.addr().is_multiple_of(layout.align()), "{layout:?}");
    block.check_at(ptr, block.usable_bytes.min(layout.size()));
    held(face, ptr, layout, seed)
}

fn held(face: &dyn Face, ptr: *mut u8, layout: Layout, seed: u8) -> Held {
    // SAFETY: a live block of this face.
    let usable_bytes = unsafe { face.usable_bytes(ptr, layout) };
    let held = Held {
        ptr,
        layout,
        usable_bytes,
        seed,
    };
    held.fill();
    held
}

struct Helper {
    jobs: Sender<Job>,
    done: Receiver<Vec<Held>>,
    thread: JoinHandle<()>,
}

impl Helper {
    fn start(face: &'static (dyn Face + Sync)) -> Self {
        let (jobs, to_do) = channel();
        let (results, done) = channel();
        let thread = thread::spawn(move || {
            for job in to_do {
                results.send(work(face, job)).unwrap();
            }
        });
        Self { jobs, done, thread }
    }

    fn work(&self, job: Job) -> Vec<Held> {
        self.jobs.send(job).expect("the helper lives");
        self.done.recv().expect("the helper lives")
    }

    fn end(self) {
        drop(self.jobs);
        self.thread.join().expect("the helper does not fail");
    }
}

/// See the module's documentation.
pub struct Machine<'f> {
    face: &'f dyn Face,
    helper: Option<Helper>,
    blocks: Vec<Held>,
    /// Where each block begins and ends.
    ranges: BTreeMap<usize, usize>,
    bytes: usize,
    seed: u8,
}

impl<'f> Machine<'f> {
    pub fn new(face: &'f dyn Face) -> Self {
        Self {
            face,
            helper: None,
            blocks: Vec::new(),
            ranges: BTreeMap::new(),
            bytes: 0,
            seed: 0,
        }
    }

    fn work(&mut self, who: Who, job: Job) -> Vec<Held> {
        match (who, self.face.shared()) {
            (Who::Me, _) | (_, None) => work(self.face, job),
            (Who::Helper, Some(face)) => self
                .helper
                .get_or_insert_with(|| Helper::start(face))
                .work(job),
            (Who::Stranger, Some(face)) => thread::spawn(move || work(face, job))
                .join()
                .expect("the stranger does not fail"),
        }
    }

    fn next_seed(&mut self) -> u8 {
        self.seed = self.seed.wrapping_mul(5).wrapping_add(77);
        self.seed
    }

    fn enter(&mut self, blocks: Vec<Held>) {
        for block in blocks {
            let (start, end) = (block.ptr.addr(), block.ptr.addr() + block.usable_bytes);
            let before = self.ranges.range(..end).next_back();
            assert!(
                before.is_none_or(|(_, &before_end)| before_end <= start),
                "{:?} at {start:#x} overlaps {before:x?}",
                block.layout
            );
            self.ranges.insert(start, end);
            self.bytes += block.usable_bytes;
            self.blocks.push(block);
        }
    }

    fn leave(&mut self, index: usize) -> Held {
        let block = self.blocks.swap_remove(index);
        self.ranges.remove(&block.ptr.addr());
        self.bytes -= block.usable_bytes;
        block
    }

    fn alloc(&mut self, size: usize, align: usize, zeroed: bool, count: usize, who: Who) {
        let layout = Layout::from_size_align(size, align).expect("it is a layout");
        let room = (LIMIT_BYTES - self.bytes.min(LIMIT_BYTES)) / size;
        let layouts = (0..count.min(room))
            .map(|_| (layout, zeroed, self.next_seed()))
            .collect();
        let new = self.work(who, Job::Alloc(layouts));
        self.enter(new);
    }

    /// Runs a step.
    ///
    /// # Panics
    /// If a block is not what the record says.
    pub fn run(&mut self, op: &Op) {
        match *op {
            Op::Alloc {
                size,
                align,
                zeroed,
                who,
            } => self.alloc(size, align, zeroed, 1, who),
            Op::AllocMany { size, count, who } => self.alloc(size, 8, false, count, who),
            Op::Free { which, who } => {
                if !self.blocks.is_empty() {
                    let block = self.leave(which % self.blocks.len());
                    self.work(who, Job::Free(vec![block]));
                }
            }
            Op::FreeMany { which, step, who } => {
                if !self.blocks.is_empty() {
                    let first = which % self.blocks.len();
                    let places: Vec<_> = (first..self.blocks.len()).step_by(step.max(1)).collect();
                    let blocks = places.into_iter().rev().map(|at| self.leave(at)).collect();
                    self.work(who, Job::Free(blocks));
                }
            }
            Op::Resize {
                which,
                size,
                align,
                who,
            } => self.resize(which, size, align, who),
            Op::Park(who) => drop(self.work(who, Job::Park)),
            Op::Unpark(who) => drop(self.work(who, Job::Unpark)),
            Op::Purge => {
                sleepy_alloc::purge_now();
            }
            Op::HelperEnds => {
                if let Some(helper) = self.helper.take() {
                    helper.end();
                }
            }
            Op::CheckAll => self.blocks.iter().for_each(Held::check),
        }
    }

    fn resize(&mut self, which: usize, size: usize, align: usize, who: Who) {
        if self.blocks.is_empty() || self.bytes + size > LIMIT_BYTES {
            return;
        }
        let block = self.leave(which % self.blocks.len());
        let align = if self.face.realigns() {
            align
        } else {
            block.layout.align()
        };
        let layout = Layout::from_size_align(size, align).expect("it is a layout");
        let seed = self.next_seed();
        let new = self.work(who, Job::Resize(block, layout, seed));
        self.enter(new);
    }

    /// Bytes that the blocks of the record really take.
    pub fn usable_bytes(&self) -> usize {
        self.bytes
    }

    /// Checks and frees everything.
    ///
    /// # Panics
    /// If a block is not what the record says.
    pub fn finish(mut self) {
        while !self.blocks.is_empty() {
            let block = self.leave(self.blocks.len() - 1);
            self.work(Who::Me, Job::Free(vec![block]));
        }
        self.run(&Op::HelperEnds);
    }
}
