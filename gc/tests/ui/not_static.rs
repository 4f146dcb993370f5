//! What claims to be `'static` has to be.

use sleepy_gc::{Arena, Collect, Gc, Rootable, Static, static_collect};

#[derive(Collect)]
#[collect(require_static)]
struct Whole<'gc>(Gc<'gc, u32>);

#[derive(Collect)]
#[collect(no_drop)]
struct Field<'gc>(#[collect(require_static)] Gc<'gc, u32>);

struct Manual<'gc>(Gc<'gc, u32>);
static_collect!(Manual<'gc>);

fn whole(arena: &mut Arena<Rootable![Whole<'_>]>) {
    arena.finish_cycle();
}

fn field(arena: &mut Arena<Rootable![Field<'_>]>) {
    arena.finish_cycle();
}

fn manual(arena: &mut Arena<Rootable![Manual<'_>]>) {
    arena.finish_cycle();
}

fn wrapper(arena: &mut Arena<Rootable![Static<Gc<'_, u32>>]>) {
    arena.finish_cycle();
}

fn reference(arena: &mut Arena<Rootable![&'static Gc<'_, u32>]>) {
    arena.finish_cycle();
}

fn main() {}
