//! Objects that die young, lists that come and go, what an object weighs.

use super::Owned;
use crate::list::{CHURN_CELLS, PAYLOAD_CELLS, PAYLOAD_MAX, SHORT_BATCH, Size};
use crate::outcome::{Figure, Outcome};
use peers_common::proc;
use std::hint::black_box;
use workloads::random::Random;

/// 16 bytes that nobody keeps.
pub fn short_lived<P: Owned>(size: Size) -> Outcome {
    let mut check = 0u64;
    for batch in 0..size.ops / SHORT_BATCH {
        for n in 0..SHORT_BATCH as u64 {
            check += P::small_value(&black_box(P::small([batch as u64, n])));
        }
    }
    Outcome::check(check)
}

/// Lists replaced at random.
pub fn list_churn<P: Owned>(size: Size) -> Outcome {
    let lists = size.live / CHURN_CELLS;
    let mut heads: Vec<Option<P::Cell>> = (0..lists).map(|_| None).collect();
    let mut random = Random::new(1);
    let mut check = 0u64;
    for n in 0..size.ops / CHURN_CELLS {
        let place = if n < lists { n } else { random.below(lists) };
        check += heads[place].take().map_or(0, |cell| P::cell_value(&cell));
        heads[place] =
            (0..CHURN_CELLS as u64).fold(None, |next, i| Some(P::cell(next, [n as u64 + i; 5])));
    }
    Outcome::check(check).live(size.live * 48)
}

/// Lists with payload replaced at random.
pub fn payload_churn<P: Owned>(size: Size) -> Outcome {
    let lists = size.live / PAYLOAD_CELLS;
    let mut heads: Vec<Option<P::Owner>> = (0..lists).map(|_| None).collect();
    let text = [7u8; PAYLOAD_MAX];
    let mut random = Random::new(1);
    let mut check = 0u64;
    for n in 0..size.ops / PAYLOAD_CELLS {
        let place = if n < lists { n } else { random.below(lists) };
        check += heads[place]
            .take()
            .map_or(0, |owner| P::owner_value(&owner));
        heads[place] = (0..PAYLOAD_CELLS as u64).fold(None, |next, value| {
            let payload = text[..random.between(16, PAYLOAD_MAX)].into();
            Some(P::owner(next, payload, value))
        });
    }
    Outcome::check(check).live(size.live * (32 + (16 + PAYLOAD_MAX) / 2))
}

/// Resident bytes for each object of 16 bytes, in lists of 1,000: longer ones are too deep for those who mark by recursion.
pub fn payload_16<P: Owned>(size: Size) -> Outcome {
    const CELLS: usize = 1_000;
    let before = proc::resident().rss_bytes;
    let list = |n: usize| {
        let values = (n * CELLS) as u64..((n + 1) * CELLS) as u64;
        values.fold(None, |next, value| Some(P::link(next, value)))
    };
    let lists: Vec<Option<P::Link>> = (0..size.live / CELLS).map(list).collect();
    let own = proc::resident().rss_bytes - before;
    let last = lists.last().and_then(Option::as_ref);
    Outcome::check(last.map_or(0, P::link_value))
        .with(Figure::ObjectBytes, own as f64 / size.live as f64)
}
