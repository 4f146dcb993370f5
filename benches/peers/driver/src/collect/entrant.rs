//! Which collector on which allocator.

use crate::Error;
use serde::Serialize;

/// A column of the tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Entrant {
    /// The name in tables and on the command line.
    pub name: &'static str,
    /// The collector.
    pub collector: &'static str,
    /// The global allocator of the process.
    pub allocator: &'static str,
    /// Its settings, by environment.
    pub env: &'static [(&'static str, &'static str)],
    /// What is to be known of it.
    pub note: &'static str,
}

const fn entrant(
    name: &'static str,
    collector: &'static str,
    allocator: &'static str,
    note: &'static str,
) -> Entrant {
    Entrant {
        name,
        collector,
        allocator,
        env: &[],
        note,
    }
}

/// All of them, in the order of the tables.
pub const ENTRANTS: &[Entrant] = &[
    entrant(
        "sleepy",
        "sleepy",
        "glibc",
        "its objects are in its own pages, whatever the global allocator is",
    ),
    Entrant {
        env: &[("SLEEPY_GENERATIONAL", "1")],
        ..entrant(
            "sleepy-gen",
            "sleepy",
            "glibc",
            "with two generations: `Arena::set_generational`",
        )
    },
    entrant("gc-arena", "gc-arena", "glibc", "as it comes"),
    entrant("gc-arena-mi", "gc-arena", "mimalloc", "its best allocator"),
    entrant(
        "gc-arena-stw-mi",
        "gc-arena-stw",
        "mimalloc",
        "`Pacing::STOP_THE_WORLD`: its best setting for throughput",
    ),
    entrant(
        "dumpster",
        "dumpster",
        "mimalloc",
        "reference counts, and searches for circles; one thread",
    ),
    entrant(
        "dumpster-sync",
        "dumpster-sync",
        "mimalloc",
        "the same for several threads",
    ),
    entrant(
        "gc",
        "gc",
        "mimalloc",
        "Manishearth's: collects in one piece, inside of allocation",
    ),
    entrant(
        "boa_gc",
        "boa_gc",
        "mimalloc",
        "collects in one piece, inside of allocation",
    ),
    entrant(
        "rc",
        "rc",
        "glibc",
        "frees with the last reference; circles stay for ever",
    ),
    entrant("rc-mi", "rc", "mimalloc", "the same"),
    entrant("box", "box", "glibc", "frees with the owner"),
    entrant("box-mi", "box", "mimalloc", "the same"),
    entrant(
        "bump",
        "bump",
        "glibc",
        "bumpalo: frees whole regions only; the limit",
    ),
];

/// The entrants of those names; all without names.
///
/// # Errors
/// [`Error::NoPeer`].
pub fn select(names: &[String]) -> Result<Vec<Entrant>, Error> {
    if names.is_empty() {
        return Ok(ENTRANTS.to_vec());
    }
    let known = || {
        ENTRANTS
            .iter()
            .map(|e| e.name)
            .collect::<Vec<_>>()
            .join(", ")
    };
    names
        .iter()
        .map(|name| {
            ENTRANTS
                .iter()
                .find(|e| e.name == name)
                .copied()
                .ok_or_else(|| Error::NoPeer(name.clone(), known()))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_select() {
        assert_eq!(select(&[]).unwrap().len(), ENTRANTS.len());
        assert_eq!(select(&["rc".to_owned()]).unwrap()[0].collector, "rc");
        assert!(matches!(select(&["x".to_owned()]), Err(Error::NoPeer(..))));
    }
}
