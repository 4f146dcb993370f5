//! A program that does nothing, on jemalloc.

use with_jemalloc as _;

fn main() {
    println!("hello, world");
}
