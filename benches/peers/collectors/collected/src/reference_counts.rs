//! dumpster for one thread: reference counts, and a search for circles now and then.

use collectors::counting::run_shared;
use collectors::{Collector, NotDone, Result, Size};
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

/// Why neither of dumpster's kinds takes part with 10 M objects.
pub const TOO_LARGE: NotDone = NotDone("takes minutes and gigabytes for its search: see 1 M");

fn run(workload: &str, size: Size) -> Result {
    if workload.ends_with("_10m") {
        return Err(TOO_LARGE);
    }
    run_shared::<Dumpster>(workload, size)
}

/// As it comes.
pub const COLLECTOR: Collector = Collector {
    name: "dumpster",
    version: "2.1",
    run,
    recursive: true,
};
