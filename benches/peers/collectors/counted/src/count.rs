//! `Rc`.

use collectors::Collector;
use collectors::counting::run_shared;
use std::cell::Cell;
use std::rc::Rc;

collectors::owned!(Counted, Rc, None, |_| (),);
collectors::shared!(Counted, Rc, Cell, get, set,);

#[inline]
fn get<T, R>(slot: &Cell<Option<Rc<T>>>, read: impl FnOnce(Option<&Rc<T>>) -> R) -> R {
    let value = slot.take();
    let result = read(value.as_ref());
    slot.set(value);
    result
}

#[inline]
fn set<T>(slot: &Cell<Option<Rc<T>>>, value: Option<Rc<T>>) {
    slot.set(value);
}

/// Counted references: freed with the last; circles stay.
pub const COLLECTOR: Collector = Collector {
    name: "rc",
    version: "std",
    run: run_shared::<Counted>,
    recursive: false,
};
