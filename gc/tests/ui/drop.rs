//! A traced type can't have a destructor, which could look at pointers to objects that are gone.

use sleepy_gc::{Collect, Gc};

#[derive(Collect)]
#[collect(no_drop)]
struct Loud<'gc, T>(Gc<'gc, T>);

impl<'gc, T> Drop for Loud<'gc, T> {
    fn drop(&mut self) {}
}

fn main() {}
