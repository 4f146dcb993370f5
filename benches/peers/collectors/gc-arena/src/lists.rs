//! Objects that die young, and lists that come and go.

use crate::table::{Bytes, bytes, bytes_len};
use collectors::list::{CHURN_CELLS, PAYLOAD_CELLS, PAYLOAD_MAX, SHORT_BATCH};
use collectors::{Outcome, Size};
use gc_arena::metrics::Pacing;
use gc_arena::{Arena, Collect, Gc, Mutation, Rootable, Static};
use std::hint::black_box;
use workloads::random::Random;

/// 16 bytes that nobody keeps.
pub fn short_lived(size: Size, pacing: Pacing) -> Outcome {
    let mut arena = Arena::<Rootable![Static<()>]>::new(|_| Static(()));
    arena.metrics().set_pacing(pacing);
    let mut check = 0u64;
    for batch in 0..size.ops / SHORT_BATCH {
        check += arena.mutate(|mc, _| {
            let mut sum = 0;
            for n in 0..SHORT_BATCH as u64 {
                let pair = black_box(Gc::new(mc, Static([batch as u64, n])));
                sum += pair.0[1];
            }
            sum
        });
        arena.collect_debt();
    }
    Outcome::check(check)
}

/// A cell of 48 bytes.
#[derive(Collect)]
#[collect(no_drop)]
struct Cell<'gc> {
    next: Option<Gc<'gc, Cell<'gc>>>,
    values: [u64; 5],
}

fn list<'gc>(mc: &Mutation<'gc>, first: u64) -> Option<Gc<'gc, Cell<'gc>>> {
    (0..CHURN_CELLS as u64).fold(None, |next, n| {
        let values = [first + n; 5];
        Some(Gc::new(mc, Cell { next, values }))
    })
}

#[derive(Collect)]
#[collect(no_drop)]
struct Lists<'gc> {
    heads: Vec<Option<Gc<'gc, Cell<'gc>>>>,
}

/// Lists replaced at random.
pub fn list_churn(size: Size, pacing: Pacing) -> Outcome {
    let lists = size.live / CHURN_CELLS;
    let mut arena = Arena::<Rootable![Lists<'_>]>::new(|_| Lists {
        heads: vec![None; lists],
    });
    arena.metrics().set_pacing(pacing);
    let mut random = Random::new(1);
    let mut check = 0u64;
    for n in 0..size.ops / CHURN_CELLS {
        let place = if n < lists { n } else { random.below(lists) };
        check += arena.mutate_root(|mc, root| {
            let old = root.heads[place].take().map_or(0, |cell| cell.values[4]);
            root.heads[place] = list(mc, n as u64);
            old
        });
        arena.collect_debt();
    }
    Outcome::check(check).live(size.live * 48)
}

/// A cell of 32 bytes with payload.
#[derive(Collect)]
#[collect(no_drop)]
struct Owner<'gc> {
    next: Option<Gc<'gc, Owner<'gc>>>,
    payload: Bytes<'gc>,
    value: u64,
}

#[derive(Collect)]
#[collect(no_drop)]
struct Owners<'gc> {
    heads: Vec<Option<Gc<'gc, Owner<'gc>>>>,
}

/// Lists with payload replaced at random.
pub fn payload_churn(size: Size, pacing: Pacing) -> Outcome {
    let lists = size.live / PAYLOAD_CELLS;
    let mut arena = Arena::<Rootable![Owners<'_>]>::new(|_| Owners {
        heads: vec![None; lists],
    });
    arena.metrics().set_pacing(pacing);
    let text = [7u8; PAYLOAD_MAX];
    let mut random = Random::new(1);
    let mut check = 0u64;
    for n in 0..size.ops / PAYLOAD_CELLS {
        let place = if n < lists { n } else { random.below(lists) };
        check += arena.mutate_root(|mc, root| {
            let old = root.heads[place].take();
            let old = old.map_or(0, |cell| cell.value + bytes_len(&cell.payload) as u64);
            let mut head = None;
            for value in 0..PAYLOAD_CELLS as u64 {
                let payload = bytes(mc, &text[..random.between(16, PAYLOAD_MAX)]);
                head = Some(Gc::new(
                    mc,
                    Owner {
                        next: head,
                        payload,
                        value,
                    },
                ));
            }
            root.heads[place] = head;
            old
        });
        arena.collect_debt();
    }
    Outcome::check(check).live(size.live * (32 + (16 + PAYLOAD_MAX) / 2))
}
