//! A program that does nothing, on snmalloc.

use with_snmalloc as _;

fn main() {
    println!("hello, world");
}
