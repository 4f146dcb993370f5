//! dumpster for one thread: reference counts, and a search for circles now and then.

use collectors::Collector;
use collectors::counting::run_shared;
use dumpster::Trace;
use dumpster::unsync::{Gc, collect};
use std::cell::RefCell;

collectors::owned!(Dumpster, Gc, Some(collect), |big| drop(big.clone()),);
crate::traced::owned!();
collectors::shared!(Dumpster, Gc, RefCell, get, set,);
crate::traced::shared!();

#[inline]
fn get<T: Trace, R>(slot: &RefCell<Option<Gc<T>>>, read: impl FnOnce(Option<&Gc<T>>) -> R) -> R {
    read(slot.borrow().as_ref())
}

#[inline]
fn set<T: Trace>(slot: &RefCell<Option<Gc<T>>>, value: Option<Gc<T>>) {
    // The old value goes after the cell is free again: dropping it may look at the cell.
    let old = slot.replace(value);
    drop(old);
}

/// As it comes.
pub const COLLECTOR: Collector = Collector {
    name: "dumpster",
    version: "2.1",
    run: run_shared::<Dumpster>,
    recursive: true,
};
