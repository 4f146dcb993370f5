//! Every field has to be traced, and no cell of the standard library can hold a pointer.

use std::cell::{Cell, RefCell};

use sleepy_gc::{Collect, Gc};

struct Plain;

#[derive(Collect)]
#[collect(no_drop)]
struct HasPlain<'gc> {
    plain: Plain,
    gc: Gc<'gc, u32>,
}

#[derive(Collect)]
#[collect(no_drop)]
struct HasReference<'gc> {
    reference: &'gc u32,
}

fn root_needs_collect<'gc, T: Collect<'gc>>() {}

fn cells<'gc>() {
    root_needs_collect::<'gc, Cell<Option<Gc<'gc, u32>>>>();
    root_needs_collect::<'gc, RefCell<Gc<'gc, u32>>>();
}

fn main() {}
