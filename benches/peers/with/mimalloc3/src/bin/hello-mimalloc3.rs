//! A program that does nothing, on mimalloc 3.

use with_mimalloc3 as _;

fn main() {
    println!("hello, world");
}
