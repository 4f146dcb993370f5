//! The heap against a naive record, with a walk of every page after each step, and with an OS that fails.

use super::*;
use crate::os::faulty::{Call, failing_after};
use crate::{flight, purge::Due};
use proptest::prelude::*;

/// A block that the record says is in use.
struct Held {
    block: NonNull<u8>,
    layout: Layout,
    fill: u8,
}

impl Held {
    fn new(heap: &Heap, size: usize, fill: u8) -> Option<Self> {
        let layout = Layout::from_size_align(size, 8).unwrap();
        let block = heap.alloc(layout)?;
        // SAFETY: a new block of this size.
        unsafe { block.write_bytes(fill, size) };
        Some(Self {
            block,
            layout,
            fill,
        })
    }

    fn check(&self) {
        // SAFETY: the block is live, and filled.
        let bytes = unsafe { core::slice::from_raw_parts(self.block.as_ptr(), self.layout.size()) };
        assert!(
            bytes.iter().all(|&byte| byte == self.fill),
            "{:?} was overwritten",
            self.layout
        );
    }

    fn free(self, heap: &Heap) {
        self.check();
        // SAFETY: the block is live, and forgotten.
        unsafe { heap.free(self.block) };
    }
}

fn purge_everything() -> usize {
    flight::pass(&mut Due::everything(4096), usize::MAX)
}

#[derive(Clone, Debug)]
enum Step {
    Alloc { class_bytes: usize, count: usize },
    FreeSome { keep_every: usize },
    Free { which: usize },
    Sweep { looks: usize },
    Purge,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let size = prop_oneof![
        1usize..100,
        100usize..3000,
        3000usize..30_000,
        60_000usize..300_000
    ];
    prop::collection::vec(
        prop_oneof![
            4 => (size, 1usize..200).prop_map(|(class_bytes, count)| Step::Alloc { class_bytes, count: count.min(1 + 4_000_000 / class_bytes / 20) }),
            2 => (1usize..30).prop_map(|keep_every| Step::FreeSome { keep_every }),
            4 => any::<usize>().prop_map(|which| Step::Free { which }),
            3 => (0usize..60).prop_map(|looks| Step::Sweep { looks }),
            1 => Just(Step::Purge),
        ],
        1..40,
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn sweeps_and_purges_leave_every_block_and_every_count(steps in steps()) {
        let heap = Heap::new().unwrap();
        let mut held: Vec<Held> = Vec::new();
        for (nth, step) in steps.into_iter().enumerate() {
            match step {
                Step::Alloc { class_bytes, count } => {
                    held.extend((0..count).map(|_| Held::new(&heap, class_bytes, nth as u8).unwrap()));
                }
                Step::FreeSome { keep_every } => {
                    let (keep, free): (Vec<_>, Vec<_>) = held.drain(..).enumerate().partition(|(nth, _)| nth % keep_every == 0);
                    held.extend(keep.into_iter().map(|(_, held)| held));
                    free.into_iter().for_each(|(_, held)| held.free(&heap));
                }
                Step::Free { which } if !held.is_empty() => held.swap_remove(which % held.len()).free(&heap),
                Step::Free { .. } => {}
                Step::Sweep { looks } => {
                    let left = Cell::new(looks);
                    heap.home().sweep(&|| { left.set(left.get().saturating_sub(1)); left.get() == 0 });
                }
                Step::Purge => { purge_everything(); }
            }
            heap.home().check();
            held.iter().for_each(Held::check);
        }
        let live: usize = held.iter().map(|held| held.layout.size()).sum();
        prop_assert!(heap.live_bytes() >= live);
        while !heap.home().sweep(&|| false) {}
        heap.home().check();
    }
}

#[test]
fn a_whole_sweep_finds_exactly_the_free_units() {
    let heap = Heap::new().unwrap();
    // 64 blocks of 1 KiB in a page, formed to the end.
    let mut held: Vec<_> = (0..64)
        .map(|nth| Held::new(&heap, 1024, nth))
        .map(Option::unwrap)
        .collect();
    // Unit 3 keeps one block, units 4 to 9 none.
    for nth in (12..40).rev().filter(|nth| *nth != 14) {
        held.remove(nth).free(&heap);
    }
    heap.home().sweep(&|| false);
    heap.home().check();
    assert_eq!(heap.home().holed.get(), 6 * 4096);
    // They come back a few at a time, when the page has nothing else.
    held.extend((0..3).map(|_| Held::new(&heap, 1024, 9).unwrap()));
    assert_eq!(heap.home().holed.get(), 6 * 4096);
    held.push(Held::new(&heap, 1024, 9).unwrap());
    assert_eq!(heap.home().holed.get(), 2 * 4096);
    heap.home().check();
    held.iter().for_each(Held::check);
}

#[test]
fn what_is_freed_behind_a_stopped_sweep_stays_dirt() {
    let heap = Heap::new().unwrap();
    let held: Vec<_> = (0..2000)
        .map(|_| Held::new(&heap, 4000, 7).unwrap())
        .collect();
    let looks = Cell::new(0);
    let half = || {
        looks.set(looks.get() + 1);
        looks.get() > 40
    };
    assert!(!heap.own().sweep(&half), "it was to stop");
    let mut kept = Vec::new();
    for (nth, block) in held.into_iter().enumerate() {
        if nth % 20 == 0 {
            kept.push(block)
        } else {
            block.free(&heap)
        }
    }
    assert!(heap.own().sweep(&|| false));
    while heap.own().dirt() >= crate::purge::GATE_BYTES {
        assert!(heap.own().sweep(&|| false));
    }
    // A block of 4000 bytes touches two units at most.
    let slack_bytes = heap.own().slack();
    assert!(slack_bytes <= kept.len() * 8192, "{slack_bytes}");
    kept.iter().for_each(Held::check);
}

#[test]
fn a_sweep_that_is_stopped_goes_on_where_it_was() {
    let heap = Heap::new().unwrap();
    let held: Vec<_> = (0..2000)
        .map(|nth| Held::new(&heap, 1024, nth as u8).unwrap())
        .collect();
    let mut kept = Vec::new();
    for (nth, block) in held.into_iter().enumerate() {
        if nth % 32 == 0 {
            kept.push(block)
        } else {
            block.free(&heap)
        }
    }
    let mut stops = 0;
    loop {
        // Lets one page through each time: a look before it, and one in each walk over its 62 free blocks.
        let looks = Cell::new(0);
        let complete = heap.home().sweep(&|| {
            looks.set(looks.get() + 1);
            looks.get() > 3
        });
        heap.home().check();
        if complete {
            break;
        }
        stops += 1;
    }
    assert!(stops >= 30, "{stops} stops");
    assert_eq!(heap.home().dirt(), 0);
    kept.iter().for_each(Held::check);
}

#[test]
fn a_sweep_stopped_anywhere_in_a_page_loses_no_block() {
    let heap = Heap::new().unwrap();
    let blocks = || -> Vec<_> {
        (0..4096)
            .map(|nth| Held::new(&heap, 16, nth as u8).unwrap())
            .collect()
    };
    for stop_at in 1.. {
        let mut held = blocks();
        let committed = heap.committed_bytes();
        let kept = held.split_off(4000);
        held.into_iter().for_each(|block| block.free(&heap));
        let looks = Cell::new(0);
        let complete = heap.home().sweep(&|| {
            looks.set(looks.get() + 1);
            looks.get() >= stop_at
        });
        heap.home().check();
        let again: Vec<_> = (0..4000)
            .map(|_| Held::new(&heap, 16, 5).unwrap())
            .collect();
        assert_eq!(heap.committed_bytes(), committed);
        again.iter().chain(&kept).for_each(Held::check);
        again
            .into_iter()
            .chain(kept)
            .for_each(|block| block.free(&heap));
        if complete {
            assert!(stop_at > 200, "{stop_at} looks");
            break;
        }
    }
}

#[test]
fn every_mapping_that_fails_is_an_error_and_no_more() {
    for successes in 0..6 {
        let failed = failing_after(Call::Map, successes, || {
            let mut heaps = Vec::new();
            let mut failed = 0;
            for _ in 0..40 {
                let Ok(heap) = Heap::new() else {
                    failed += 1;
                    continue;
                };
                // More than an arena holds, so each needs a mapping.
                let large = heap.alloc(Layout::from_size_align(700 << 20, 8).unwrap());
                failed += usize::from(large.is_none());
                failed += usize::from(
                    heap.alloc(Layout::from_size_align(2 << 30, 8).unwrap())
                        .is_none(),
                );
                failed += usize::from(heap.alloc_slices(12_000).is_err());
                // A small block may do without one.
                if let Some(small) = Held::new(&heap, 100, 1) {
                    small.check();
                }
                heaps.push(heap);
            }
            failed
        });
        assert!(failed > 0, "nothing failed after {successes} mappings");
    }
    let heap = Heap::new().unwrap();
    let large = heap
        .alloc(Layout::from_size_align(700 << 20, 8).unwrap())
        .unwrap();
    // SAFETY: the block is live, and forgotten.
    unsafe { heap.free(large) };
    heap.home().check();
}

#[test]
fn memory_that_the_os_refuses_is_not_taken_for_zero() {
    let heap = Heap::new().unwrap();
    Held::new(&heap, 1 << 20, 7).unwrap().free(&heap);
    failing_after(Call::Discard, 0, purge_everything);
    let layout = Layout::from_size_align(1 << 20, 8).unwrap();
    let zeroed = Held {
        block: heap.alloc_zeroed(layout).unwrap(),
        layout,
        fill: 0,
    };
    zeroed.check();
    zeroed.free(&heap);
}

#[test]
fn a_large_block_grows_into_the_free_slices_behind_it() {
    let heap = Heap::new().unwrap();
    let layout = |size| Layout::from_size_align(size, 8).unwrap();
    // A run of its own place: other tests take and free slices at the same time.
    let room = heap.alloc_slices(600).unwrap().ptr;
    // SAFETY: the run is given up; the block is live until it is freed.
    unsafe {
        heap.free_slices(room, 600);
        let block = heap.alloc(layout(300_000)).unwrap();
        block.write_bytes(7, 300_000);
        let mut size = 300_000;
        let mut here = block;
        for grown in [310_000, 400_000, 1_000_000, 990_000, 3_000_000] {
            here = heap.realloc(here, layout(size), layout(grown)).unwrap();
            let kept = size.min(grown);
            let bytes = core::slice::from_raw_parts(here.as_ptr(), kept);
            assert!(bytes.iter().all(|&byte| byte == 7));
            here.write_bytes(7, grown);
            size = grown;
            heap.home().check();
            purge_everything();
        }
        heap.free(here);
    }
    heap.home().check();
    assert_eq!((heap.live_bytes(), heap.committed_bytes()), (0, 0));
}

#[test]
fn a_refused_thread_leaves_the_work_to_parks() {
    let heap = Heap::new().unwrap();
    let held: Vec<_> = (0..500)
        .map(|_| Held::new(&heap, 4000, 1).unwrap())
        .collect();
    held.into_iter()
        .skip(1)
        .step_by(2)
        .for_each(|held| held.free(&heap));
    failing_after(Call::Spawn, 0, || {
        for _ in 0..3 {
            drop(heap.park());
            heap.home().check();
        }
    });
    Held::new(&heap, 4000, 1).unwrap().free(&heap);
}

#[test]
fn without_a_thread_parks_do_a_part_of_the_work() {
    let heap = Heap::new().unwrap();
    let held: Vec<_> = (0..500)
        .map(|_| Held::new(&heap, 4000, 1).unwrap())
        .collect();
    let mut kept = Vec::new();
    for (nth, block) in held.into_iter().enumerate() {
        if nth % 50 == 0 {
            kept.push(block)
        } else {
            block.free(&heap)
        }
    }
    let committed = heap.committed_bytes();
    // Another test's park may have had this interval's turn.
    let start = std::time::Instant::now();
    while heap.committed_bytes() >= committed / 2 && start.elapsed().as_secs() < 3 {
        scavenger::work_inline(heap.home());
        std::thread::yield_now();
    }
    assert!(heap.committed_bytes() < committed / 2);
    heap.home().check();
    kept.iter().for_each(Held::check);
}

#[test]
fn units_that_cannot_be_taken_leave_the_others_as_they_were() {
    let heap = Heap::new().unwrap();
    let run = heap.alloc_slices(3).unwrap();
    // SAFETY: the run is the test's, and nobody uses its units.
    unsafe {
        heap.release_units(run.ptr, 10..40);
        let first = crate::arena::Slice::of(run.ptr.addr().get());
        let last = first.add(2);
        let departed = last.depart(|word| word.free());
        assert_ne!(departed, 0);
        assert!(!heap.take_units(run.ptr, 0..48));
        let released = crate::units::mask_of(10..16);
        assert_eq!(first.units().load().unused(), released);
        last.land(departed, true);
        assert!(heap.take_units(run.ptr, 0..48));
        assert_eq!(first.units().load().unused(), 0);
        heap.free_slices(run.ptr, 3);
    }
}

#[test]
fn a_sweep_forgets_frees_that_were_counted_twice() {
    let heap = Heap::new().unwrap();
    heap.home().add_remote_dirt(purge::GATE_BYTES);
    assert!(heap.home().dirt() >= purge::GATE_BYTES);
    assert!(heap.home().sweep(&|| false));
    assert_eq!(heap.home().dirt(), 0);
}

#[test]
fn forming_blocks_takes_back_what_was_released_beside_them() {
    let heap = Heap::new().unwrap();
    // 48-byte blocks: the last one formed shares its unit with those that are not formed yet.
    let mut held: Vec<_> = (0..170)
        .map(|nth| Held::new(&heap, 48, nth as u8).unwrap())
        .collect();
    let page = heap.home().head(class_for(held[0].layout).unwrap());
    while held.len() > 1 {
        held.pop().unwrap().free(&heap);
    }
    assert!(heap.home().sweep(&|| false));
    page.check();
    held.extend((0..600).map(|nth| Held::new(&heap, 48, nth as u8).unwrap()));
    heap.home().check();
    held.iter().for_each(Held::check);
    held.into_iter().for_each(|block| block.free(&heap));
}
