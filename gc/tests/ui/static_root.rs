//! A root can't make the compiler believe that `'gc` is `'static`.

use std::cell::Cell;

use sleepy_gc::{Arena, Gc, Rootable};

thread_local!(static KEPT: Cell<Option<Gc<'static, String>>> = const { Cell::new(None) });

fn main() {
    Arena::<Rootable![&'static Gc<'_, String>]>::new(|mc| {
        let kept: Gc<'static, String> = Gc::new(mc, "smuggled".to_owned());
        KEPT.set(Some(kept));
        Box::leak(Box::new(kept))
    });
}
