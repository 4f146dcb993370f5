//! Programs: what can be done, and any bytes as such.

/// How many edges of each kind a node has that programs follow.
pub const WIDTH: usize = 4;
/// How many nodes the root can name.
pub const ROOTS: usize = 8;
/// How many handles there are outside of the arena.
pub const HANDLES: usize = 4;
/// How many interned strings are kept.
pub const STRINGS: usize = 4;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    Lock,
    List,
    Array,
    Vec,
    Map,
    Tail,
}

pub const KINDS: [Kind; 6] = [
    Kind::Lock,
    Kind::List,
    Kind::Array,
    Kind::Vec,
    Kind::Map,
    Kind::Tail,
];

#[derive(Clone, Debug)]
pub enum Op {
    /// A new node at a root, which points to what another root names.
    New {
        root: usize,
        child: usize,
    },
    /// `from.kind[slot] = to`, where the nodes are found by walking from roots.
    Link {
        from: Path,
        kind: usize,
        slot: usize,
        to: Path,
    },
    /// `from.kind[slot] = nothing`.
    Cut {
        from: Path,
        kind: usize,
        slot: usize,
    },
    /// The old edge is taken out and stored elsewhere, which is what barriers are for.
    Move {
        from: Path,
        kind: usize,
        slot: usize,
        to: Path,
        to_kind: usize,
        to_slot: usize,
    },
    Root {
        root: usize,
        node: Path,
    },
    Drop {
        root: usize,
    },
    /// `from.weak = to`.
    Weaken {
        from: Path,
        to: Path,
    },
    /// What a weak edge points to is given to a root, if it is there.
    Upgrade {
        from: Path,
        root: usize,
    },
    /// Many edges of a kind that has any number of them, beyond those that programs follow.
    Fill {
        from: Path,
        kind: usize,
        count: usize,
        to: Path,
    },
    /// The vector's memory is made as small as it can be.
    Shrink {
        from: Path,
    },
    /// A vector becomes another node's.
    Take {
        from: Path,
        to: Path,
    },
    Stash {
        handle: usize,
        node: Path,
    },
    Unstash {
        handle: usize,
    },
    Fetch {
        handle: usize,
        root: usize,
    },
    /// A node is put on the stack.
    Push {
        node: Path,
    },
    Pop {
        root: usize,
    },
    /// An entry of the weak map, whose value lives as long as its key.
    Pair {
        key: Path,
        value: Path,
    },
    Unpair {
        key: Path,
    },
    /// The node comes back when it is unreachable.
    Register {
        node: Path,
    },
    /// One that has come back is given to a root.
    Finalize {
        root: usize,
    },
    /// A string is interned, and kept at a place.
    Intern {
        text: u8,
        place: usize,
    },
    /// A window below the top, with a node stored into its slot.
    Poke {
        slot: usize,
        node: Path,
    },
    /// Many objects that nobody keeps.
    Garbage {
        count: u8,
    },
    Step {
        bytes: u16,
    },
    Start,
    Mark,
    Cycle,
    /// The arena's memory is lent, and taken back by whatever comes next.
    Park {
        forget: bool,
    },
    Check,
}

/// A root, and which edges to follow from there.
#[derive(Clone, Debug)]
pub struct Path {
    pub root: usize,
    pub edges: Vec<(usize, usize)>,
}

/// Any bytes as a program.
struct Tape<'a>(std::slice::Iter<'a, u8>);

impl Tape<'_> {
    fn number(&mut self, limit: usize) -> usize {
        usize::from(self.0.next().copied().unwrap_or(0)) % limit
    }

    fn path(&mut self) -> Path {
        let root = self.number(ROOTS);
        let edges = (0..self.number(4))
            .map(|_| (self.number(KINDS.len()), self.number(WIDTH)))
            .collect();
        Path { root, edges }
    }
}

/// The program that the bytes stand for.
pub fn decode(bytes: &[u8]) -> Vec<Op> {
    let mut tape = Tape(bytes.iter());
    let mut ops = Vec::new();
    while tape.0.len() > 0 {
        ops.push(match tape.number(42) {
            0..4 => Op::New {
                root: tape.number(ROOTS),
                child: tape.number(ROOTS),
            },
            4..9 => Op::Link {
                from: tape.path(),
                kind: tape.number(KINDS.len()),
                slot: tape.number(WIDTH),
                to: tape.path(),
            },
            9 => Op::Cut {
                from: tape.path(),
                kind: tape.number(KINDS.len()),
                slot: tape.number(WIDTH),
            },
            10..14 => Op::Move {
                from: tape.path(),
                kind: tape.number(KINDS.len()),
                slot: tape.number(WIDTH),
                to: tape.path(),
                to_kind: tape.number(KINDS.len()),
                to_slot: tape.number(WIDTH),
            },
            14 | 15 => Op::Root {
                root: tape.number(ROOTS),
                node: tape.path(),
            },
            16 | 17 => Op::Drop {
                root: tape.number(ROOTS),
            },
            18 => Op::Weaken {
                from: tape.path(),
                to: tape.path(),
            },
            19 => Op::Upgrade {
                from: tape.path(),
                root: tape.number(ROOTS),
            },
            20 => Op::Push { node: tape.path() },
            21 => Op::Pop {
                root: tape.number(ROOTS),
            },
            28 => Op::Fill {
                from: tape.path(),
                kind: tape.number(KINDS.len()),
                count: tape.number(256) * 3,
                to: tape.path(),
            },
            29 => match tape.number(5) {
                0 => Op::Shrink { from: tape.path() },
                1 => Op::Take {
                    from: tape.path(),
                    to: tape.path(),
                },
                2 => Op::Stash {
                    handle: tape.number(HANDLES),
                    node: tape.path(),
                },
                3 => Op::Unstash {
                    handle: tape.number(HANDLES),
                },
                _ => Op::Fetch {
                    handle: tape.number(HANDLES),
                    root: tape.number(ROOTS),
                },
            },
            36 | 37 => Op::Pair {
                key: tape.path(),
                value: tape.path(),
            },
            38 => match tape.number(3) {
                0 => Op::Unpair { key: tape.path() },
                _ => Op::Poke {
                    slot: tape.number(64),
                    node: tape.path(),
                },
            },
            39 => Op::Register { node: tape.path() },
            40 => Op::Finalize {
                root: tape.number(ROOTS),
            },
            41 => Op::Intern {
                text: tape.number(16) as u8,
                place: tape.number(STRINGS),
            },
            22 => Op::Garbage {
                count: tape.number(256) as u8,
            },
            23 => Op::Start,
            24 => Op::Mark,
            25 => Op::Cycle,
            26 => Op::Check,
            27 => Op::Park {
                forget: tape.number(2) == 0,
            },
            _ => Op::Step {
                bytes: 1 + 16 * tape.number(256) as u16,
            },
        });
    }
    ops
}
