//! `mstress`: threads that come and go, and exchange objects whose every word is checked.

use crate::block::{get, put};
use crate::list::{Rounds, Size};
use crate::random::Random;
use std::io;
use std::ptr::null_mut;
use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, Ordering};

const SHARED: usize = 1000;
const COOKIE: usize = 0xBF58_476D_1CE4_E5B9;
/// Small objects have up to 2^4 words, kept ones up to 2^6.
const SMALL_SHIFTS: usize = 5;
const KEPT_SHIFTS: usize = 7;

/// Slots through which threads exchange objects. A swap publishes the words of the object that it puts in (release) and
/// sees those of the one that it takes out (acquire).
type Slots = Arc<Vec<AtomicPtr<usize>>>;

/// An object: n words, the i-th of which is (n - i) ^ cookie, so that the first tells how many there are.
fn object(shifts: usize, random: &mut Random) -> *mut usize {
    let mut words = 1 << random.below(shifts);
    match random.below(10_000) {
        0 => words *= 10_000,
        n if n <= 10 => words *= 1000,
        n if n <= 110 => words *= 100,
        _ => {}
    }
    let object: *mut usize = get(words * size_of::<usize>()).cast();
    for i in 0..words {
        // SAFETY: within the object.
        unsafe { object.add(i).write((words - i) ^ COOKIE) };
    }
    object
}

/// Checks and frees an object.
///
/// # Safety
/// `object` is null or one of [`object`], and is not used again.
unsafe fn free(object: *mut usize) {
    if object.is_null() {
        return;
    }
    // SAFETY: the first word tells how many there are.
    unsafe {
        let words = object.read() ^ COOKIE;
        for i in 0..words {
            assert_eq!(object.add(i).read() ^ COOKIE, words - i, "damaged");
        }
        put(object.cast(), words * size_of::<usize>());
    }
}

/// Rounds of threads that are made and joined; half of the shared objects survive each.
pub fn mstress(size: &Size) -> io::Result<Rounds> {
    let threads = size.threads;
    // Thread i does i + 1 times as much as the first, so more threads make fewer rounds.
    let rounds = match threads {
        1 => 50,
        2 => 25,
        _ => 8,
    };
    let allocations = size.of(5000);
    let slots: Slots = Arc::new((0..SHARED).map(|_| AtomicPtr::default()).collect());
    Ok(Rounds::plain(move || {
        for round in 0..rounds {
            let spawn = |i: usize| {
                let slots = slots.clone();
                std::thread::spawn(move || stress(i, allocations * (i % 8 + 1), &slots))
            };
            let all: Vec<_> = (0..threads).map(spawn).collect();
            for thread in all {
                thread.join().expect("a thread found damage");
            }
            let last = round + 1 == rounds;
            let mut random = Random::new(round as u64);
            for slot in slots.iter() {
                if last || random.chance(50) {
                    // SAFETY: taken out of its slot, so it is ours alone.
                    unsafe { free(slot.swap(null_mut(), Ordering::AcqRel)) };
                }
            }
        }
    }))
}

fn stress(number: usize, mut allocations: usize, slots: &Slots) {
    let mut random = Random::new(43 * (number as u64 + 1));
    let mut to_keep = allocations / 2;
    let mut kept = Vec::with_capacity(to_keep);
    let mut data: Vec<*mut usize> = Vec::new();
    while allocations > 0 || to_keep > 0 {
        if to_keep == 0 || (allocations > 0 && random.chance(50)) {
            allocations -= 1;
            data.push(object(SMALL_SHIFTS, &mut random));
        } else {
            to_keep -= 1;
            kept.push(object(KEPT_SHIFTS, &mut random));
        }
        if data.is_empty() {
            continue;
        }
        if random.chance(66) {
            let place = random.below(data.len());
            // SAFETY: taken out of its place, so it is ours alone.
            unsafe { free(std::mem::replace(&mut data[place], null_mut())) };
        }
        if random.chance(25) {
            let place = random.below(data.len());
            let slot = &slots[random.below(SHARED)];
            data[place] = slot.swap(data[place], Ordering::AcqRel);
        }
    }
    for object in kept.into_iter().chain(data) {
        // SAFETY: ours alone; none is in two places.
        unsafe { free(object) };
    }
}
