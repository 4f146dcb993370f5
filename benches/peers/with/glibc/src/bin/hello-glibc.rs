//! A program that does nothing, on the system's allocator.

use with_glibc as _;

fn main() {
    println!("hello, world");
}
