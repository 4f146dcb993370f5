//! The table of workloads.

use crate::pool::Pool;
use std::rc::Rc;

/// How large one round is.
#[derive(Clone)]
pub struct Size {
    /// The number of threads.
    pub threads: usize,
    /// How much of the default size; 100 is all of it.
    pub percent: usize,
    /// The threads, for workloads whose threads stay.
    pub pool: Rc<Pool>,
}

impl Size {
    /// `full`, scaled, at least 1.
    pub fn of(&self, full: usize) -> usize {
        (full * self.percent / 100).max(1)
    }

    /// `full`, scaled and divided among the threads, at least 1.
    pub fn each(&self, full: usize) -> usize {
        (full * self.percent / 100 / self.threads).max(1)
    }
}

/// What a workload does in a round, ready to be run as often as one likes.
pub struct Rounds {
    /// One round; returns a figure of its own, if it has one.
    pub round: Box<dyn FnMut() -> Option<Extra>>,
    /// The resident memory of tables that are not the allocator's.
    pub table_bytes: u64,
}

impl Rounds {
    /// A workload without a figure of its own and without tables.
    pub fn plain(mut round: impl FnMut() + 'static) -> Self {
        Self {
            round: Box::new(move || {
                round();
                None
            }),
            table_bytes: 0,
        }
    }

    /// The same function on all threads of the pool at once.
    pub fn copies(size: &Size, job: impl Fn(usize) + Send + Sync + Copy + 'static) -> Self {
        let pool = size.pool.clone();
        Self::plain(move || pool.run(job))
    }
}

/// A figure that only one workload has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extra {
    /// How long it took until the process had shrunk; `None`: it had not when the time was over.
    ShrinkNs(Option<u64>),
}

/// How a round's CPU time is to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A fixed amount of work: less is better, and it counts in the mean.
    Work,
    /// It goes on until something has happened: the workload's own figure counts.
    Until,
}

/// A workload.
pub struct Workload {
    /// Its name.
    pub name: &'static str,
    /// What it does, in one line.
    pub about: &'static str,
    /// With how many threads it makes sense.
    pub threads: &'static [usize],
    /// How to read it.
    pub kind: Kind,
    /// Prepares it.
    pub make: fn(&Size) -> std::io::Result<Rounds>,
}

const ALL: &[usize] = &[1, 2, 4];

macro_rules! workloads {
    ($($name:literal, $threads:expr, $kind:ident, $make:expr, $about:literal;)*) => {
        /// All workloads, in the order of the tables.
        pub const WORKLOADS: &[Workload] = &[$(Workload {
            name: $name,
            about: $about,
            threads: $threads,
            kind: Kind::$kind,
            make: $make,
        }),*];
    };
}

workloads! {
    "churn", ALL, Work, crate::churn::churn,
        "7 M times: allocate 8 bytes, write, read, free";
    "list_allocate", ALL, Work, crate::linked_list::list_allocate,
        "70 lists of 32 Ki refcounted nodes with a payload each, built and torn down from the head";
    "tree_allocate", ALL, Work, crate::tree::tree_allocate,
        "24 full binary trees of depth 16, nodes of 48 bytes with payloads of 1 to 57";
    "tree_churn", ALL, Work, crate::tree::tree_churn,
        "a tree of depth 15; in 160 walks the children of every eighth node are replaced";
    "fragment", ALL, Work, crate::fragment::fragment,
        "25 times: 128 Ki nodes of 32 bytes, a random quarter replaced, all freed";
    "fragment_iterate", ALL, Work, crate::fragment::fragment_iterate,
        "512 Ki nodes, a random quarter freed and made anew as a list that is walked 20 times";
    "medium", ALL, Work, crate::chunks::medium,
        "256 MiB in zeroed objects of 1 to 8 KiB, then all freed";
    "big", ALL, Work, crate::chunks::big,
        "256 MiB in zeroed objects of 8 to 128 KiB, then all freed";
    "balloon", ALL, Until, crate::balloon::balloon,
        "100 MB of 1 KiB objects freed; then a steady load until the process has shrunk to 20 MB";
    "message_one", &[1], Work, crate::message::message_one,
        "2048 messages of 1024 nodes to one consumer, which frees them";
    "message_many", ALL, Work, crate::message::message_many,
        "768 messages to each of as many consumers as threads are asked for";
    "replay", ALL, Work, crate::replay::replay,
        "a made-up trace of 400 k births of 16 bytes to 1 MiB, some of them growing by realloc";
    "larson", ALL, Work, crate::larson::larson,
        "lanes of 5000 random chunks replaced at random; a thread hands its lane to its successor and ends";
    "mstress", ALL, Work, crate::mstress::mstress,
        "rounds of threads that allocate, keep, check, and exchange objects through shared slots";
    "xmalloc", ALL, Work, crate::xmalloc::xmalloc,
        "as many threads fill batches of 64-byte objects as others free them: every free is remote";
    "cache-scratch", ALL, Work, crate::cache_scratch::cache_scratch,
        "each thread frees one byte of the main thread's, then writes its own byte again and again";
    "alloc-test", ALL, Work, crate::alloc_test::alloc_test,
        "256 Ki slots, hit 80/20 six times over: allocate and write, or read and free";
    "glibc-thread", ALL, Work, crate::glibc_thread::glibc_thread,
        "1024 slots a thread, replaced at random by sizes of 4 to 32768 with inverse-square odds";
}

/// The workload of that name.
pub fn find(name: &str) -> Option<&'static Workload> {
    WORKLOADS.iter().find(|w| w.name == name)
}
