//! A program that does nothing, on sleepy-alloc.

use with_sleepy as _;

fn main() {
    println!("hello, world");
}
