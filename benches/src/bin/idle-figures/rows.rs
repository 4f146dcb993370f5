//! The rows, one file a kind of program.

mod burst;
mod memory;
mod neighbour;
mod queries;
mod quiet;
mod resume;
mod saturated;
mod shapes;
mod stream;
mod variants;

use crate::row::Table;
use crate::{Bench, Result};

/// Measures the figures of a workload.
pub type Measure = fn(&Bench, &mut Table) -> Result<()>;

/// In the order of the table.
pub const ALL: [(&str, Measure); 13] = [
    ("W1", stream::w1),
    ("W2", stream::w2),
    ("W3", saturated::w3),
    ("W4", burst::w4),
    ("W5", quiet::w5),
    ("W6", quiet::w6),
    ("W7", memory::w7),
    ("W8", shapes::w8),
    ("W9", memory::w9),
    ("W10", neighbour::w10),
    ("W11", resume::w11),
    ("W12", variants::w12),
    ("pg", queries::pg),
];
