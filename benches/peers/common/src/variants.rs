//! The table of peers: which package, with which settings.

use serde::Serialize;

/// A peer with one set of settings.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Variant {
    /// The name in tables and on the command line.
    pub name: &'static str,
    /// The package under `with/`, without `with-`.
    pub peer: &'static str,
    /// Environment variables that the process is started with.
    pub env: &'static [(&'static str, &'static str)],
    /// What the settings are for.
    pub note: &'static str,
    /// Whether it takes part unless the user names the peers.
    pub default: bool,
}

/// The variant that all others are measured against.
pub const ANCHOR: &str = "mimalloc3-nothp";

/// All variants, in the order of the tables.
pub const VARIANTS: &[Variant] = &[
    Variant {
        name: "sleepy",
        peer: "sleepy",
        env: &[],
        note: "reaches thread-local data by the initial-exec model, as the crates of the others do",
        default: true,
    },
    Variant {
        name: ANCHOR,
        peer: "mimalloc3",
        env: &[("MIMALLOC_ALLOW_THP", "0")],
        note: "without huge pages: the anchor",
        default: true,
    },
    Variant {
        name: "mimalloc3",
        peer: "mimalloc3",
        env: &[],
        note: "as it comes: huge pages where the kernel gives them on request",
        default: true,
    },
    Variant {
        name: "mimalloc2",
        peer: "mimalloc2",
        env: &[],
        note: "as it comes",
        default: true,
    },
    Variant {
        name: "jemalloc",
        peer: "jemalloc",
        env: &[],
        note: "as it comes",
        default: true,
    },
    Variant {
        name: "jemalloc-bg",
        peer: "jemalloc",
        env: &[(
            "_RJEM_MALLOC_CONF",
            "background_thread:true,dirty_decay_ms:1000",
        )],
        note: "its best for memory: background thread, decay of 1 s",
        default: true,
    },
    Variant {
        name: "snmalloc",
        peer: "snmalloc",
        env: &[],
        note: "as it comes",
        default: true,
    },
    Variant {
        name: "glibc",
        peer: "glibc",
        env: &[],
        note: "as it comes",
        default: true,
    },
];

/// The variant of that name.
pub fn find(name: &str) -> Option<&'static Variant> {
    VARIANTS.iter().find(|v| v.name == name)
}
