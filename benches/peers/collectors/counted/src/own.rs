//! `Box`.

use collectors::Collector;
use collectors::counting::run_owned;

collectors::owned!(Boxed, Box, None, |_| (),);

/// Boxes: freed when their owner goes.
pub const COLLECTOR: Collector = Collector {
    name: "box",
    version: "std",
    run: run_owned::<Boxed>,
    recursive: false,
};
