//! Nothing is collected while somebody looks at the objects.

use sleepy_gc::{Arena, Gc, Rootable};

fn collect(arena: &mut Arena<Rootable![Gc<'_, u32>]>) {
    arena.mutate(|_, root| {
        arena.finish_cycle();
        assert_eq!(**root, 1);
    });
}

fn main() {}
