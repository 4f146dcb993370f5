//! Allocating, growing and freeing through `&Heap`, against a naive record of what every block must hold.

use allocator_api2::alloc::Allocator;
use allocator_api2::boxed::Box;
use allocator_api2::vec::Vec as HeapVec;
use proptest::prelude::*;
use sleepy_alloc::Heap;
use std::alloc::Layout;
use std::ptr::NonNull;

#[derive(Clone, Debug)]
enum Op {
    Alloc {
        size: usize,
        align_shift: u32,
        zeroed: bool,
    },
    Free {
        which: usize,
    },
    Resize {
        which: usize,
        size: usize,
    },
}

fn sizes() -> impl Strategy<Value = usize> {
    prop_oneof![10 => 1usize..200, 5 => 200usize..5000, 3 => 5000usize..70_000, 1 => 70_000usize..900_000]
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let op = prop_oneof![
        5 => (sizes(), 0u32..14, any::<bool>()).prop_map(|(size, align_shift, zeroed)| Op::Alloc { size, align_shift, zeroed }),
        4 => any::<usize>().prop_map(|which| Op::Free { which }),
        2 => (any::<usize>(), sizes()).prop_map(|(which, size)| Op::Resize { which, size }),
    ];
    prop::collection::vec(op, 1..300)
}

struct Held {
    block: NonNull<u8>,
    layout: Layout,
    fill: u8,
}

impl Held {
    fn bytes(&self) -> &[u8] {
        // SAFETY: the block is live and was filled to its end.
        unsafe { std::slice::from_raw_parts(self.block.as_ptr(), self.layout.size()) }
    }

    fn fill(&mut self, fill: u8) {
        self.fill = fill;
        // SAFETY: the block is live and this long.
        unsafe { self.block.write_bytes(fill, self.layout.size()) };
    }

    fn check(&self) {
        assert!(
            self.bytes().iter().all(|&byte| byte == self.fill),
            "a block of {:?} lost its contents",
            self.layout
        );
    }
}

fn run(ops: &[Op]) {
    let heap = Heap::new().unwrap();
    let allocator = &heap;
    let mut held: Vec<Held> = Vec::new();
    for (nth, op) in ops.iter().enumerate() {
        match *op {
            Op::Alloc {
                size,
                align_shift,
                zeroed,
            } => {
                let layout = Layout::from_size_align(size, 1 << align_shift).unwrap();
                let block = if zeroed {
                    allocator.allocate_zeroed(layout)
                } else {
                    allocator.allocate(layout)
                }
                .unwrap();
                assert_eq!(block.len(), size);
                let mut new = Held {
                    block: block.cast(),
                    layout,
                    fill: 0,
                };
                assert!(new.block.addr().get().is_multiple_of(layout.align()));
                if zeroed {
                    new.check();
                }
                new.fill(nth as u8);
                held.push(new);
            }
            Op::Free { which } if !held.is_empty() => {
                let old = held.swap_remove(which % held.len());
                old.check();
                // SAFETY: the block is live, and forgotten.
                unsafe { allocator.deallocate(old.block, old.layout) };
            }
            Op::Resize { which, size } if !held.is_empty() => {
                let index = which % held.len();
                let old = &mut held[index];
                let new = Layout::from_size_align(size, old.layout.align()).unwrap();
                // SAFETY: the block is live, and replaced by the result.
                let block = unsafe {
                    if size >= old.layout.size() {
                        allocator.grow(old.block, old.layout, new)
                    } else {
                        allocator.shrink(old.block, old.layout, new)
                    }
                };
                let kept = size.min(old.layout.size());
                old.block = block.unwrap().cast();
                old.layout = new;
                assert!(old.bytes()[..kept].iter().all(|&byte| byte == old.fill));
                old.fill(nth as u8);
            }
            _ => {}
        }
        let asked: usize = held.iter().map(|held| held.layout.size()).sum();
        assert!(heap.live_bytes() >= asked);
        assert!(heap.committed_bytes() >= heap.live_bytes());
    }
    for old in held {
        old.check();
        // SAFETY: the block is live, and forgotten.
        unsafe { allocator.deallocate(old.block, old.layout) };
    }
    assert_eq!(heap.live_bytes(), 0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn blocks_keep_their_contents_and_never_overlap(ops in ops()) {
        run(&ops);
    }
}

#[test]
fn collections_grow_in_a_heap() {
    let heap = Heap::new().unwrap();
    let mut numbers = HeapVec::new_in(&heap);
    for number in 0..200_000u64 {
        numbers.push(number);
    }
    assert!(numbers.iter().copied().eq(0..200_000));
    let boxes: Vec<_> = (0..10_000u32)
        .map(|number| Box::new_in(number, &heap))
        .collect();
    assert!(
        boxes
            .iter()
            .enumerate()
            .all(|(number, boxed)| **boxed == number as u32)
    );
    drop((numbers, boxes));
    assert_eq!(heap.live_bytes(), 0);
}

#[test]
fn no_bytes_need_no_memory() {
    let heap = Heap::new().unwrap();
    let layout = Layout::from_size_align(0, 4096).unwrap();
    let block = (&heap).allocate(layout).unwrap();
    assert!(block.cast::<u8>().addr().get().is_multiple_of(4096));
    // SAFETY: the block was allocated with this layout.
    unsafe { (&heap).deallocate(block.cast(), layout) };
    assert_eq!(heap.live_bytes(), 0);
}

#[test]
fn alignments_up_to_megabytes_are_kept() {
    let heap = Heap::new().unwrap();
    for shift in 0..24 {
        let layout = Layout::from_size_align(100, 1 << shift).unwrap();
        let block = (&heap).allocate(layout).unwrap();
        assert!(
            block.cast::<u8>().addr().get().is_multiple_of(1 << shift),
            "align {}",
            1 << shift
        );
    }
    let too_much = Layout::from_size_align(1, 1 << 40).unwrap();
    assert!((&heap).allocate(too_much).is_err());
}

#[test]
fn a_block_larger_than_an_arena_has_its_own_mapping() {
    let heap = Heap::new().unwrap();
    let layout = Layout::from_size_align(3 << 30, 16).unwrap();
    let block = (&heap).allocate_zeroed(layout).unwrap().cast::<u8>();
    // SAFETY: inside the block; it is freed once.
    unsafe {
        assert_eq!(block.add((3 << 30) - 1).read(), 0);
        block.add((3 << 30) - 1).write(7);
        block.write(7);
        (&heap).deallocate(block, layout);
    }
    assert_eq!((heap.live_bytes(), heap.committed_bytes()), (0, 0));
    assert!(
        (&heap)
            .allocate(Layout::from_size_align(1 << 60, 16).unwrap())
            .is_err()
    );
}

#[test]
fn several_arenas_are_used_side_by_side() {
    let heap = Heap::new().unwrap();
    let layout = Layout::from_size_align(300 << 20, 16).unwrap();
    let blocks: Vec<NonNull<u8>> = (0..10)
        .map(|_| (&heap).allocate(layout).unwrap().cast())
        .collect();
    for (nth, &block) in blocks.iter().enumerate() {
        // SAFETY: inside live blocks.
        unsafe { block.add(nth << 20).write(nth as u8) };
    }
    for (nth, block) in blocks.into_iter().enumerate() {
        // SAFETY: inside live blocks, each freed once.
        unsafe {
            assert_eq!(block.add(nth << 20).read(), nth as u8);
            (&heap).deallocate(block, layout);
        }
    }
    assert_eq!((heap.live_bytes(), heap.committed_bytes()), (0, 0));
}

#[test]
fn a_dropped_heap_leaves_its_memory_to_the_next() {
    for _ in 0..200 {
        let heap = Heap::new().unwrap();
        let block = (&heap)
            .allocate(Layout::from_size_align(50 << 20, 16).unwrap())
            .unwrap();
        // SAFETY: inside the new block.
        unsafe { block.cast::<u8>().write(1) };
        std::mem::forget(HeapVec::<u64, _>::with_capacity_in(1000, &heap));
    }
}

#[test]
fn a_heap_works_on_the_thread_it_is_moved_to() {
    let heap = Heap::new().unwrap();
    drop(Box::new_in([1u8; 100], &heap));
    let heap = std::thread::spawn(move || {
        let text: HeapVec<u8, _> = HeapVec::with_capacity_in(5000, &heap);
        drop(text);
        heap
    })
    .join()
    .unwrap();
    drop(Box::new_in([1u8; 100], &heap));
    assert_eq!(heap.live_bytes(), 0);
}
