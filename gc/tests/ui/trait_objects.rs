//! `dyn_collect!` is for trait objects whose trait demands `DynCollect`.

use sleepy_gc::collect::{DynCollect, dyn_collect};

trait Callback {}
dyn_collect!(dyn Callback);

trait Traced<'gc>: DynCollect<'gc> {}
dyn_collect!(dyn Traced<'gc>);

struct Untraced;
impl<'gc> Traced<'gc> for Untraced {}

fn main() {}
