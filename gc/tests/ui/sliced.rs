//! What is traced in slices must be able to be, and a store into it needs its barrier.

use sleepy_gc::{Collect, ForwardLock, Gc, Mutation, RefLock, collect::CollectSlices, collections::Sliced};

#[derive(Collect)]
#[collect(no_drop)]
struct NoSlices<'gc> {
    #[collect(slices)]
    entries: std::collections::HashMap<u32, Gc<'gc, u32>>,
}

#[derive(Collect)]
#[collect(no_drop)]
struct Undivided<'gc> {
    entries: Vec<Gc<'gc, u32>>,
}

#[derive(Collect)]
#[collect(no_drop)]
struct TwoModes<'gc> {
    #[collect(slices, require_static)]
    entries: Vec<Gc<'gc, u32>>,
}

type Places<'gc> = Box<[ForwardLock<Option<Gc<'gc, u32>>>]>;

fn undivided<'gc>(mc: &Mutation<'gc>, value: Undivided<'gc>) {
    Gc::new(mc, Sliced::new(value));
}

fn no_barrier<'gc>(places: Gc<'gc, Sliced<Places<'gc>>>, value: Gc<'gc, u32>) {
    places[0].set(Some(value));
}

fn whole_without_barrier<'gc>(places: Gc<'gc, Sliced<RefLock<Places<'gc>>>>) {
    *places.borrow_mut() = Box::new([]);
}

fn other_arena<'a, 'b>(mc: &Mutation<'a>, places: Gc<'b, Sliced<Places<'b>>>, value: Gc<'b, u32>) {
    places[0].set(mc, Some(value));
}

struct Own;

impl<'gc> Collect<'gc> for Own {}

impl<'gc> CollectSlices<'gc> for Own {
    fn trace_slice<T>(&self, _: usize, _: usize, _: &mut T) -> Option<usize> {
        None
    }
}

fn main() {}
