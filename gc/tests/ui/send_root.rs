//! A root that moves between threads can't refer to what must not.

use std::rc::Rc;

use sleepy_gc::{Collect, Gc, SendRoot};

#[derive(Collect, SendRoot)]
#[collect(no_drop)]
struct Root<'gc> {
    count: Gc<'gc, Rc<u32>>,
    #[collect(require_static)]
    local: Rc<u32>,
    #[send_root(send)]
    shared: std::sync::Arc<u32>,
}

fn main() {}
