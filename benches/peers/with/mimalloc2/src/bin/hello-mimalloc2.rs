//! A program that does nothing, on mimalloc 2.

use with_mimalloc2 as _;

fn main() {
    println!("hello, world");
}
