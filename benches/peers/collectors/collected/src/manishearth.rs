//! Manishearth's gc: mark and sweep in one piece, by allocated bytes; marks by recursion.

#![allow(
    non_local_definitions,
    reason = "so the derives of that version are written"
)]

use collectors::Collector;
use collectors::counting::run_shared;
use gc::{Finalize, Gc, GcCell, Trace};

collectors::owned!(Manishearth, Gc, Some(gc::force_collect), |big| drop(big.clone()), #[derive(Trace, Finalize)]);
collectors::shared!(Manishearth, Gc, GcCell, get, set, #[derive(Trace, Finalize)]);

#[inline]
fn get<T: Trace, R>(slot: &GcCell<Option<Gc<T>>>, read: impl FnOnce(Option<&Gc<T>>) -> R) -> R {
    read(slot.borrow().as_ref())
}

#[inline]
fn set<T: Trace>(slot: &GcCell<Option<Gc<T>>>, value: Option<Gc<T>>) {
    *slot.borrow_mut() = value;
}

/// As it comes.
pub const COLLECTOR: Collector = Collector {
    name: "gc",
    version: "0.5",
    run: run_shared::<Manishearth>,
    recursive: true,
};
