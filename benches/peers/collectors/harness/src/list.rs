//! The table of workloads and their sizes.

/// How much a workload does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Objects that are alive (the depth of the trees, where there are trees).
    pub live: usize,
    /// Operations, or objects that are allocated in all.
    pub ops: usize,
}

/// A workload by name.
#[derive(Clone, Copy, Debug)]
pub struct Workload {
    /// The name on the command line.
    pub name: &'static str,
    /// What it does, for the legend.
    pub what: &'static str,
    /// Its sizes.
    pub full: Size,
    /// Sizes to see that everything runs.
    pub quick: Size,
}

const fn size(live: usize, ops: usize) -> Size {
    Size { live, ops }
}

/// Cells of a list in [`list_churn`](WORKLOADS), each of 48 bytes.
pub const CHURN_CELLS: usize = 10_000;
/// Cells of a list in [`payload_churn`](WORKLOADS).
pub const PAYLOAD_CELLS: usize = 1_000;
/// The longest payload of a cell in bytes; the shortest is 16.
pub const PAYLOAD_MAX: usize = 240;
/// Short-lived objects between two chances to collect.
pub const SHORT_BATCH: usize = 1_000;
/// Writes between two chances to collect.
pub const WRITE_BATCH: usize = 256;
/// Cells between two chances to collect where steps are measured.
pub const STEP_BATCH: usize = 1_023;
/// Edges of a node in the workloads that write them.
pub const EDGES: usize = 4;
/// One write in so many stores a new node, where a cycle is to be under way.
pub const FRESH: usize = 8;
/// The time budget of a step, where the collector knows time budgets.
pub const STEP_US: u64 = 15;

/// All workloads, in the order of the table.
pub const WORKLOADS: &[Workload] = &[
    Workload {
        name: "binary_trees",
        what: "the benchmark of that name: trees of depth 4 to 18 built, counted and dropped beside one of depth 18; nodes of two pointers",
        full: size(18, 0),
        quick: size(12, 0),
    },
    Workload {
        name: "gcbench",
        what: "Boehm's GCBench: trees of depth 4 to 16, built top down and bottom up, beside a tree and an array of 500,000 numbers; stretch depth 18",
        full: size(18, 0),
        quick: size(12, 0),
    },
    Workload {
        name: "short_lived",
        what: "50 M objects of 16 bytes that nobody keeps, a chance to collect every 1,000",
        full: size(0, 50_000_000),
        quick: size(0, 500_000),
    },
    Workload {
        name: "list_churn",
        what: "200 lists of 10,000 cells of 48 bytes (96 MB) alive; random ones replaced, 30 M cells in all",
        full: size(2_000_000, 30_000_000),
        quick: size(100_000, 400_000),
    },
    Workload {
        name: "payload_churn",
        what: "1,000 lists of 1,000 cells of 32 bytes with 16 to 240 bytes of payload each (160 MB) alive; random lists replaced, 10 M cells in all",
        full: size(1_000_000, 10_000_000),
        quick: size(50_000, 200_000),
    },
    Workload {
        name: "writes",
        what: "50 M stores of a random node into a random edge of a random node, of 1 M nodes with 4 edges in a table; no cycle under way",
        full: size(1_000_000, 50_000_000),
        quick: size(20_000, 400_000),
    },
    Workload {
        name: "writes_and_allocates",
        what: "the same, every 8th store of a new node; a chance to collect every 256 stores; cycles as the collector paces them",
        full: size(1_000_000, 50_000_000),
        quick: size(20_000, 400_000),
    },
    Workload {
        name: "writes_in_cycle",
        what: "the same with a cycle always under way, and the same work for each object allocated: no sleep between cycles, \
               gc-arena's default factors for both",
        full: size(1_000_000, 50_000_000),
        quick: size(20_000, 400_000),
    },
    Workload {
        name: "payload_16",
        what: "5 M objects of 16 bytes in a list: what each adds to resident memory",
        full: size(5_000_000, 0),
        quick: size(200_000, 0),
    },
    Workload {
        name: "full_1m",
        what: "whole collections of 1 M objects of 32 bytes in 1,000 balanced trees, all alive, then all dead; then dropping as many with the heap",
        full: size(1_000_000, 0),
        quick: size(50_000, 0),
    },
    Workload {
        name: "full_10m",
        what: "the same with 10 M objects",
        full: size(10_000_000, 0),
        quick: size(100_000, 0),
    },
    Workload {
        name: "steps_1m",
        what: "a queue of 1 M cells of 32 bytes, 6 M more pushed and popped; a chance to collect every 1,023",
        full: size(1_000_000, 6_000_000),
        quick: size(50_000, 300_000),
    },
    Workload {
        name: "steps_10m",
        what: "the same with 10 M cells and 20 M more",
        full: size(10_000_000, 20_000_000),
        quick: size(100_000, 300_000),
    },
    Workload {
        name: "array_1m",
        what: "an array of 1 M pointers to objects of 16 bytes in random order: the steps of one cycle that allocation drives",
        full: size(1_000_000, 0),
        quick: size(50_000, 0),
    },
    Workload {
        name: "array_10m",
        what: "the same with 10 M pointers",
        full: size(10_000_000, 0),
        quick: size(100_000, 0),
    },
];

/// The workload of that name.
pub fn find(name: &str) -> Option<&'static Workload> {
    WORKLOADS.iter().find(|w| w.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_and_lists_come_out_even() {
        for w in WORKLOADS {
            assert_eq!(find(w.name).unwrap().full, w.full);
        }
        for size in [
            find("list_churn").unwrap().full,
            find("list_churn").unwrap().quick,
        ] {
            assert_eq!(size.live % CHURN_CELLS, 0);
            assert_eq!(size.ops % CHURN_CELLS, 0);
        }
        assert!(find("x").is_none());
    }
}
