//! Nothing that is bound to a thread gets into an arena that moves, and no common arena takes its place.

use std::rc::Rc;

use sleepy_gc::{Arena, Gc, Rootable, SendRoot, Static, idle::SendArena, lock::Lock};

/// Says of itself that it may move, not of the roots that it names.
#[derive(SendRoot)]
struct Family;

impl<'a> Rootable<'a> for Family {
    type Root = Static<Rc<u32>>;
}

type Plain = Rootable![Gc<'_, Lock<u32>>];

fn a_root_bound_to_its_thread() {
    let _ = SendArena::<Rootable![Gc<'_, Rc<u32>>]>::new(|mc| Gc::new(mc, Rc::new(1)));
}

fn a_family_that_hides_it() {
    let _ = SendArena::<Family>::new(|_| Static(Rc::new(1)));
}

fn by_mapping(arena: SendArena<Plain>) {
    let _ = arena.map_root::<Static<Rc<u32>>>(|_, _| Static(Rc::new(1)));
}

fn by_a_swap(arena: &mut SendArena<Plain>) {
    let mut common = Arena::<Plain>::new(|mc| Gc::new(mc, Lock::new(1)));
    std::mem::swap(&mut common, arena);
    std::mem::swap(&mut common, &mut *arena);
    std::mem::swap(&mut common, &mut **arena);
}

fn main() {}
