//! `churn`: one tiny object at a time.

use crate::block::{make, take};
use crate::list::{Rounds, Size};
use std::io;

/// Allocates a number, adds it to another one on the heap, frees it.
pub fn churn(size: &Size) -> io::Result<Rounds> {
    let times = size.each(7_000_000);
    Ok(Rounds::copies(size, move |_| {
        let total = make(0.0f64);
        for i in 0..times {
            let number = make(i as f64);
            // SAFETY: both are live numbers of this function.
            unsafe { *total += take(number) };
        }
        // SAFETY: made above.
        let total = unsafe { take(total) };
        assert!(total >= 0.0);
    }))
}
