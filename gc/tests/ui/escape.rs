//! No pointer, reference or right to mutate leaves `mutate`.

use sleepy_gc::{Arena, Gc, Mutation, Rootable};

type Numbers = Arena<Rootable![Gc<'_, u32>]>;

fn pointer(arena: &Numbers) {
    let _ = arena.mutate(|mc, _| Gc::new(mc, 1u32));
}

fn reference(arena: &Numbers) {
    let _ = arena.mutate(|_, root| root.as_ref());
}

fn to_the_outside(arena: &Numbers) {
    let mut kept = None;
    arena.mutate(|_, root| kept = Some(*root));
}

fn right_to_mutate(arena: &Numbers) {
    let mut kept: Option<&Mutation<'_>> = None;
    arena.mutate(|mc, _| kept = Some(mc));
}

fn main() {}
