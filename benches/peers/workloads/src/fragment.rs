//! `fragment` and `fragment_iterate`: random holes, filled again.

use crate::block::{make, take};
use crate::list::{Rounds, Size};
use crate::random::Random;
use std::hint::black_box;
use std::io;
use std::ptr::null_mut;

struct Node {
    next: *mut Node,
    values: [usize; 3],
}

fn node(next: *mut Node, value: usize) -> *mut Node {
    make(Node {
        next,
        values: [value; 3],
    })
}

/// Many nodes of 32 bytes, a random quarter replaced, all freed.
pub fn fragment(size: &Size) -> io::Result<Rounds> {
    let nodes = size.each(128 * 1024);
    Ok(Rounds::copies(size, move |lane| {
        let mut random = Random::new(lane as u64);
        for _ in 0..25 {
            let mut all: Vec<*mut Node> = (0..nodes).map(|i| node(null_mut(), i)).collect();
            for i in 0..nodes / 4 {
                let place = random.below(nodes);
                // SAFETY: a live node, replaced at once.
                unsafe { take(all[place]) };
                all[place] = node(null_mut(), i);
            }
            for node in all {
                // SAFETY: each is live.
                unsafe { take(node) };
            }
        }
    }))
}

/// A random quarter of many nodes is freed and made anew as a list: how far apart are its nodes?
pub fn fragment_iterate(size: &Size) -> io::Result<Rounds> {
    let nodes = size.each(512 * 1024);
    Ok(Rounds::copies(size, move |lane| {
        let mut random = Random::new(lane as u64);
        let mut all: Vec<*mut Node> = (0..nodes).map(|i| node(null_mut(), i)).collect();
        for place in &mut all {
            if random.below(4) == 0 {
                // SAFETY: a live node, forgotten at once.
                unsafe { take(std::mem::replace(place, null_mut())) };
            }
        }
        let mut head = null_mut();
        for i in 0..nodes / 4 {
            head = node(head, i);
        }
        for _ in 0..20 {
            let mut sum = 0usize;
            let mut at = head;
            while !at.is_null() {
                // SAFETY: a live node of the list.
                let node = unsafe { &*at };
                sum = sum.wrapping_add(node.values[1]);
                at = node.next;
            }
            black_box(sum);
        }
        while !head.is_null() {
            // SAFETY: a live node of the list.
            head = unsafe { take(head) }.next;
        }
        for node in all.into_iter().filter(|node| !node.is_null()) {
            // SAFETY: those that were not freed.
            unsafe { take(node) };
        }
    }))
}
