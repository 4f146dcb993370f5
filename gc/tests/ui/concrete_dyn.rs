//! `dyn_collect!` takes nothing but trait objects: a concrete type would be found to be `Collect` because it is `Collect`.

use sleepy_gc::{Gc, collect::dyn_collect};

struct Loud<'gc>(Gc<'gc, String>);

impl Drop for Loud<'_> {
    fn drop(&mut self) {
        println!("{}", self.0);
    }
}

dyn_collect!(Loud<'gc>);

fn main() {}
