//! Whatever safe code does with a lent heap, the heap stays whole.

use allocator_api2::boxed::Box as HeapBox;
use allocator_api2::vec::Vec as HeapVec;
use sleepy_alloc::{Heap, idle, idle_end, idle_start, purge_now, with_thread_heap};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};

type Block<'h> = HeapBox<[u8; 4000], &'h Heap>;

/// Makes half a megabyte lie free among blocks in use, so that a park lends the heap.
fn make_dirty(heap: &Heap) -> Vec<Block<'_>> {
    let mut blocks: Vec<_> = (0..160u8)
        .map(|fill| HeapBox::new_in([fill; 4000], heap))
        .collect();
    let mut nth = 0;
    blocks.retain(|_| {
        nth += 1;
        nth % 5 == 0
    });
    blocks
}

/// The same, and the blocks in use stay for good.
fn leave_dirty(heap: &Heap) {
    make_dirty(heap).into_iter().for_each(std::mem::forget);
}

fn check(blocks: &[Block<'_>]) {
    assert!(
        blocks
            .iter()
            .enumerate()
            .all(|(nth, block)| block.iter().all(|&byte| byte == nth as u8 * 5 + 4))
    );
}

/// Uses the heap in every way, and looks whether it is whole.
fn use_it(heap: &Heap) {
    let mut numbers = HeapVec::new_in(heap);
    numbers.extend(0..3000u64);
    numbers.truncate(10);
    numbers.shrink_to_fit();
    assert!(numbers.iter().copied().eq(0..10));
    let run = heap.alloc_slices(2).unwrap();
    // SAFETY: the run is this function's own; its units are not used while released.
    unsafe {
        heap.release_units(run.ptr, 3..20);
        heap.free_slices(run.ptr, 2);
    }
}

#[test]
fn a_lent_heap_is_swept_and_comes_back() {
    let heap = Heap::new().unwrap();
    let blocks = make_dirty(&heap);
    let committed = heap.committed_bytes();
    let parked = heap.park();
    purge_now();
    assert!(heap.committed_bytes() < committed, "nothing was swept");
    drop(parked);
    check(&blocks);
    use_it(&heap);
    check(&blocks);
}

#[test]
fn use_while_lent_takes_the_heap_back() {
    let heap = Heap::new().unwrap();
    for part in 0..6 {
        let mut blocks = make_dirty(&heap);
        let parked = heap.park();
        if part % 2 == 0 {
            purge_now();
        }
        match part / 2 {
            0 => drop(HeapBox::new_in(1u64, &heap)),
            1 => drop(blocks.pop()),
            _ => use_it(&heap),
        }
        check(&blocks);
        drop(parked);
        check(&blocks);
    }
}

#[test]
fn a_list_of_a_lent_heap_grows() {
    let heap = Heap::new().unwrap();
    let mut list = HeapVec::new_in(&heap);
    let _blocks = make_dirty(&heap);
    for number in 0..5000u32 {
        let parked = heap.park();
        list.push(number);
        drop(parked);
    }
    assert!(list.iter().copied().eq(0..5000));
}

#[test]
fn a_second_park_and_odd_order_are_harmless() {
    let heap = Heap::new().unwrap();
    let blocks = make_dirty(&heap);
    let first = heap.park();
    let second = heap.park();
    drop(first);
    use_it(&heap);
    let third = heap.park();
    drop(second);
    purge_now();
    drop(third);
    check(&blocks);
}

#[test]
fn a_forgotten_guard_leaves_the_heap_usable() {
    let heap = Heap::new().unwrap();
    let blocks = make_dirty(&heap);
    std::mem::forget(heap.park());
    purge_now();
    check(&blocks);
    use_it(&heap);
    check(&blocks);
    std::mem::forget(heap.park());
    drop(blocks);
}

#[test]
fn a_lent_heap_moves_to_another_thread() {
    let heap = Heap::new().unwrap();
    drop(make_dirty(&heap));
    leave_dirty(&heap);
    std::mem::forget(heap.park());
    let heap = std::thread::spawn(move || {
        use_it(&heap);
        let blocks = make_dirty(&heap);
        std::mem::forget(heap.park());
        purge_now();
        drop(blocks);
        std::mem::forget(heap.park());
        heap
    })
    .join()
    .unwrap();
    use_it(&heap);
}

#[test]
fn a_heap_is_dropped_while_lent_and_swept() {
    static DONE: AtomicBool = AtomicBool::new(false);
    let sweeper = std::thread::spawn(|| {
        while !DONE.load(Ordering::Relaxed) {
            purge_now();
        }
    });
    for _ in 0..300 {
        let heap = Heap::new().unwrap();
        leave_dirty(&heap);
        std::mem::forget(heap.park());
        std::thread::yield_now();
        drop(heap);
    }
    DONE.store(true, Ordering::Relaxed);
    sweeper.join().unwrap();
}

#[test]
fn two_heaps_do_not_know_each_other() {
    let one = Heap::new().unwrap();
    let two = Heap::new().unwrap();
    let mut blocks = make_dirty(&one);
    let parked = one.park();
    // Swapping blocks swaps nothing of the heaps: each still goes back to its own.
    let mut others = make_dirty(&two);
    std::mem::swap(&mut blocks, &mut others);
    drop(blocks);
    drop(parked);
    check(&others);
    drop(others);
    assert_eq!((one.live_bytes(), two.live_bytes()), (0, 0));
}

/// Lends the thread's heap, with something new to give each time: it may have been swept meanwhile, and if the scavenger
/// asked for that, the park itself sweeps it and has nothing left to lend.
fn lend_dirty() -> bool {
    (0..20).any(|_| {
        with_thread_heap(leave_dirty).unwrap();
        idle_start()
    })
}

#[test]
fn calls_that_do_not_balance_are_harmless() {
    assert!(!idle_start(), "there is no heap yet");
    idle_end();
    assert!(lend_dirty());
    assert!(!idle_start(), "it is lent already");
    idle_end();
    idle_end();
    assert!(lend_dirty());
    // Using it ends the loan; so does the end of the thread, in the test's own.
    with_thread_heap(use_it).unwrap();
    assert!(lend_dirty());
}

#[test]
fn a_panic_in_an_idle_closure_takes_the_heap_back() {
    with_thread_heap(leave_dirty).unwrap();
    let caught = catch_unwind(AssertUnwindSafe(|| idle(|| panic!("while lent"))));
    assert!(caught.is_err());
    assert!(lend_dirty(), "the heap was still lent");
    idle_end();
    assert_eq!(idle(|| 7), 7);
}

#[test]
fn a_thread_ends_while_its_heap_is_lent() {
    let threads: Vec<_> = (0..8)
        .map(|_| {
            std::thread::spawn(|| {
                with_thread_heap(leave_dirty).unwrap();
                idle_start();
            })
        })
        .collect();
    purge_now();
    threads
        .into_iter()
        .for_each(|thread| thread.join().unwrap());
    purge_now();
}
