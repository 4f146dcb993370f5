//! The workloads for pointers that stand alone: owned ones (`Box`), shared ones (`Rc`), collected ones without an arena.
//!
//! [`Owned`] and [`Shared`] are what such a pointer must offer; the macros [`owned!`](crate::owned) and
//! [`shared!`](crate::shared) define the objects behind it.

mod lists;
mod shared;
mod trees;
mod types;

use crate::list::Size;
use crate::outcome::{NotDone, Result};

/// Pointers to objects that are built bottom up and do not change.
pub trait Owned: Sized {
    /// To a node of two pointers.
    type Tree;
    /// To a node of two pointers and 16 bytes.
    type Big;
    /// To a cell of one pointer and 40 bytes.
    type Cell;
    /// To a cell of one pointer, 8 bytes, and payload of its own.
    type Owner;
    /// To a cell of one pointer and 8 bytes.
    type Link;
    /// To 16 bytes.
    type Small;

    /// A node.
    fn tree(left: Option<Self::Tree>, right: Option<Self::Tree>) -> Self::Tree;
    /// What it points to.
    fn branches(tree: &Self::Tree) -> [Option<&Self::Tree>; 2];
    /// A node.
    fn big(left: Option<Self::Big>, right: Option<Self::Big>, values: [u64; 2]) -> Self::Big;
    /// Its last value.
    fn big_value(big: &Self::Big) -> u64;
    /// A cell.
    fn cell(next: Option<Self::Cell>, values: [u64; 5]) -> Self::Cell;
    /// Its last value.
    fn cell_value(cell: &Self::Cell) -> u64;
    /// A cell.
    fn owner(next: Option<Self::Owner>, payload: Box<[u8]>, value: u64) -> Self::Owner;
    /// Its value, and the length of its payload.
    fn owner_value(owner: &Self::Owner) -> u64;
    /// A cell.
    fn link(next: Option<Self::Link>, value: u64) -> Self::Link;
    /// Its value.
    fn link_value(link: &Self::Link) -> u64;
    /// An object.
    fn small(values: [u64; 2]) -> Self::Small;
    /// Its last value.
    fn small_value(small: &Self::Small) -> u64;

    /// Frees what nobody reaches, now; where that can be asked for.
    const COLLECT: Option<fn()>;
    /// Takes a reference more and gives it up: some collect only what was touched since they collected last.
    const TOUCH: fn(&Self::Big);
}

/// Pointers that may be copied, to objects that change.
pub trait Shared: Owned {
    /// To a node of two pointers and two numbers.
    type Node: Clone;
    /// To a cell of one pointer and 24 bytes.
    type Queue: Clone;
    /// To a node of four pointers and 8 bytes.
    type Graph: Clone;

    /// A node without branches.
    fn node() -> Self::Node;
    /// Stores both branches.
    fn set_branches(node: &Self::Node, left: &Self::Node, right: &Self::Node);
    /// How many nodes there are from here on.
    fn count(node: &Self::Node) -> u64;
    /// A cell without another behind it.
    fn queue(value: u64) -> Self::Queue;
    /// Stores the one behind it.
    fn set_next(cell: &Self::Queue, next: &Self::Queue);
    /// The one behind it, and its last value.
    fn next(cell: &Self::Queue) -> (Option<Self::Queue>, u64);
    /// A node without edges.
    fn graph(id: u64) -> Self::Graph;
    /// Stores an edge.
    fn set_edge(from: &Self::Graph, edge: usize, to: &Self::Graph);
    /// The number of the node that an edge leads to; 0 if there is none.
    fn edge_id(from: &Self::Graph, edge: usize) -> u64;
}

/// Runs what owned pointers can do.
///
/// # Errors
/// [`NotDone`] where they cannot.
pub fn run_owned<P: Owned>(workload: &str, size: Size) -> Result {
    Ok(match workload {
        "binary_trees" => trees::binary_trees::<P>(size),
        "short_lived" => lists::short_lived::<P>(size),
        "list_churn" => lists::list_churn::<P>(size),
        "payload_churn" => lists::payload_churn::<P>(size),
        "payload_16" => lists::payload_16::<P>(size),
        "full_1m" | "full_10m" => trees::full::<P>(size),
        "gcbench" | "writes" => return Err(NotDone("its pointers cannot be shared")),
        _ => return Err(NotDone("frees at once: no cycles, no steps")),
    })
}

/// Runs what shared pointers can do.
///
/// # Errors
/// [`NotDone`] where they cannot.
pub fn run_shared<P: Shared>(workload: &str, size: Size) -> Result {
    Ok(match workload {
        "gcbench" => shared::gcbench::<P>(size),
        "writes" => shared::writes::<P>(size),
        "writes_and_allocates" => shared::writes_and_allocates::<P>(size),
        "writes_in_cycle" => {
            return Err(NotDone("has no cycles that go on while the program runs"));
        }
        "steps_1m" | "steps_10m" if P::COLLECT.is_some() => shared::pauses::<P>(size),
        "array_1m" | "array_10m" if P::COLLECT.is_some() => {
            return Err(NotDone("collects in one piece: see `full`"));
        }
        _ => return run_owned::<P>(workload, size),
    })
}
