//! What is wrong with an attribute is said, not guessed.

use sleepy_gc::Collect;

#[derive(Collect)]
struct None;

#[derive(Collect)]
#[collect(bound = "")]
struct NoMode;

#[derive(Collect)]
#[collect(no_drop, require_static)]
struct TwoModes;

#[derive(Collect)]
#[collect(no_drop)]
#[collect(bound = "")]
struct TwoAttributes;

#[derive(Collect)]
#[collect(no_dorp)]
struct Unknown;

#[derive(Collect)]
#[collect(no_drop)]
struct TwoLifetimes<'a, 'gc>(&'a &'gc u32);

#[derive(Collect)]
#[collect(no_drop, gc_lifetime = 'b)]
struct OtherLifetime<'a>(&'a u32);

#[derive(Collect)]
#[collect(no_drop)]
enum Variant {
    #[collect(require_static)]
    One(u32),
    Two(#[collect(no_drop)] u32),
}

#[derive(Collect)]
#[collect(no_drop)]
union Either {
    one: u32,
    other: u64,
}

fn main() {}
