//! NUMA nodes: how many there are, which one a thread runs on, and which arenas it looks into first.
//!
//! Nothing is asked before there is a second arena: the first belongs to no node, and its memory lies where it is first
//! touched. Then the nodes are counted once, from one file; where that is missing, by trying names. With one node all
//! stays as it was, and costs one load for each claim.
//!
//! With more, a new arena belongs to the node of the thread that needed it, and its memory is taken from there as long
//! as there is some. A thread looks into arenas of its own node and of no node, then makes one, and takes from another
//! node only if that fails: address space is cheap, and far memory is slow for as long as it is used.
#![forbid(unsafe_code)]

use crate::text::{Text, number};
use crate::{options, os};
use core::ffi::CStr;
use core::sync::atomic::{AtomicU32, Ordering};

/// A node, or none.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Node {
    /// Its number and one; 0 is no node.
    code: u32,
}

impl Node {
    pub(crate) const NONE: Self = Self { code: 0 };

    pub(crate) fn new(number: u32) -> Self {
        Self { code: number + 1 }
    }

    pub(crate) fn number(self) -> Option<u32> {
        self.code.checked_sub(1)
    }

    /// Whether a thread that runs here looks into memory of that node before a new arena is made.
    pub(crate) fn is_near(self, memory: Self) -> bool {
        self == Self::NONE || memory == Self::NONE || self == memory
    }
}

/// A node that can change. Relaxed: it is set before what it belongs to is published, or is a hint.
pub(crate) struct NodeCell(AtomicU32);

impl NodeCell {
    pub(crate) fn get(&self) -> Node {
        Node {
            code: self.0.load(Ordering::Relaxed),
        }
    }

    pub(crate) fn set(&self, node: Node) {
        self.0.store(node.code, Ordering::Relaxed);
    }
}

/// Nodes of the machine; 0 until they are counted. Relaxed: every thread counts alike.
static NODES: AtomicU32 = AtomicU32::new(0);

/// Nodes that the kernel can have.
const MAX_NODES: u32 = 1024;
/// Bytes of the list of nodes that are read. A longer list is very odd, and counted by trying names.
const LIST_BYTES: usize = 512;

/// The node that the calling thread runs on; none where there is only one, or while there is one arena.
#[inline]
pub(crate) fn here() -> Node {
    #[cfg(test)]
    if let Some(node) = tests::made_up() {
        return node;
    }
    if NODES.load(Ordering::Relaxed) <= 1 {
        return Node::NONE;
    }
    os::numa_node().map_or(Node::NONE, Node::new)
}

/// Counts the nodes unless that was done; called before any arena but the first is made.
pub(crate) fn count() {
    if NODES.load(Ordering::Relaxed) == 0 {
        let nodes = if options::numa() { count_now() } else { 1 };
        NODES.store(nodes, Ordering::Relaxed);
    }
}

fn count_now() -> u32 {
    let mut list = [0; LIST_BYTES];
    let listed = os::read_file(c"/sys/devices/system/node/online", &mut list)
        .filter(|&length| length < LIST_BYTES)
        .and_then(|length| count_listed(&list[..length]));
    listed.unwrap_or_else(|| count_named(os::exists))
}

/// Nodes in a list such as `0-3,7`. `None` if it is none.
fn count_listed(list: &[u8]) -> Option<u32> {
    let list = list.strip_suffix(b"\n").unwrap_or(list);
    list.split(|&byte| byte == b',')
        .try_fold(0, |count, range| {
            let (first, last) = match range.iter().position(|&byte| byte == b'-') {
                Some(dash) => (number(&range[..dash])?, number(&range[dash + 1..])?),
                None => (number(range)?, number(range)?),
            };
            (first <= last && last < u64::from(MAX_NODES))
                .then(|| count + (last - first) as u32 + 1)
        })
}

/// Nodes that have a name, up to the first that has none; 1 if no node has.
fn count_named(exists: impl Fn(&CStr) -> bool) -> u32 {
    let has_name = |node: &u32| {
        let mut path = Text::<64>::new();
        path.push(b"/sys/devices/system/node/node")
            .push_number(u64::from(*node))
            .push(b"\0");
        CStr::from_bytes_with_nul(path.as_bytes()).is_ok_and(&exists)
    };
    (0..MAX_NODES).take_while(has_name).count().max(1) as u32
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use core::cell::Cell;

    thread_local! {
        static MADE_UP: Cell<Option<Node>> = const { Cell::new(None) };
    }

    pub(super) fn made_up() -> Option<Node> {
        MADE_UP.get()
    }

    /// Runs `f` as if this thread ran on that node of a larger machine.
    pub(crate) fn on_node<R>(number: u32, f: impl FnOnce() -> R) -> R {
        MADE_UP.set(Some(Node::new(number)));
        let result = f();
        MADE_UP.set(None);
        result
    }

    #[test]
    fn lists_are_counted() {
        for (list, nodes) in [
            ("0\n", 1),
            ("0", 1),
            ("0-1\n", 2),
            ("0-3,7\n", 5),
            ("0,2,4-5,1023\n", 5),
        ] {
            assert_eq!(count_listed(list.as_bytes()), Some(nodes), "{list}");
        }
    }

    #[test]
    fn what_is_no_list_is_not_counted() {
        for list in [
            "", "\n", "a", "0-", "-1", "3-1", "0,,1", "0-1024", "0 1", "0-1-2", "0\n\n",
        ] {
            assert_eq!(count_listed(list.as_bytes()), None, "{list}");
        }
    }

    #[test]
    fn without_a_list_names_are_tried_in_order() {
        let tried = Cell::new(0);
        let three = |path: &CStr| {
            let expected = format!("/sys/devices/system/node/node{}", tried.get());
            assert_eq!(path.to_str(), Ok(&*expected));
            tried.set(tried.get() + 1);
            tried.get() <= 3
        };
        assert_eq!(count_named(three), 3);
        assert_eq!(tried.get(), 4);
        assert_eq!(count_named(|_| false), 1);
        assert_eq!(count_named(|_| true), MAX_NODES);
    }

    #[test]
    fn memory_of_no_node_is_near_to_all() {
        let (zero, one) = (Node::new(0), Node::new(1));
        assert!(zero.is_near(zero) && zero.is_near(Node::NONE));
        assert!(Node::NONE.is_near(one) && Node::NONE.is_near(Node::NONE));
        assert!(!zero.is_near(one));
    }

    #[test]
    fn this_machine_has_a_node() {
        assert!(count_now() >= 1);
        assert!(os::numa_node().is_none_or(|node| node < MAX_NODES));
    }
}
