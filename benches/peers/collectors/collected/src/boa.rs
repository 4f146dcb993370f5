//! boa_gc: mark and sweep in one piece, by allocated bytes.

use boa_gc::{Finalize, Gc, GcRefCell, Trace};
use collectors::Collector;
use collectors::counting::run_shared;

collectors::owned!(Boa, Gc, Some(boa_gc::force_collect), |big| drop(big.clone()), #[derive(Trace, Finalize)]);
collectors::shared!(Boa, Gc, GcRefCell, get, set, #[derive(Trace, Finalize)]);

#[inline]
fn get<T: Trace, R>(slot: &GcRefCell<Option<Gc<T>>>, read: impl FnOnce(Option<&Gc<T>>) -> R) -> R {
    read(slot.borrow().as_ref())
}

#[inline]
fn set<T: Trace>(slot: &GcRefCell<Option<Gc<T>>>, value: Option<Gc<T>>) {
    *slot.borrow_mut() = value;
}

/// As it comes.
pub const COLLECTOR: Collector = Collector {
    name: "boa_gc",
    version: "0.22",
    run: run_shared::<Boa>,
    recursive: false,
};
