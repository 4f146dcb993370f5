//! A pointer of one arena is not taken for one of another.

use sleepy_gc::{Arena, Gc, Rootable, lock::GcLock};

type Cells = Arena<Rootable![GcLock<'_, Option<Gc<'_, u32>>>]>;

fn mix(one: &Cells, other: &Cells) {
    one.mutate(|mc, root| {
        other.mutate(|_, stranger| root.set(mc, stranger.get()));
    });
}

fn main() {}
