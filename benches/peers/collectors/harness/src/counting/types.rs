//! The objects behind a pointer, defined for each kind of pointer by a macro.

/// Defines `$name` and its objects behind the pointer `$ptr`. `$collect` and `$touch` are what [`Owned`](crate::counting::Owned)
/// says of them; `$attr` are the attributes that the objects need.
#[macro_export]
macro_rules! owned {
    ($name:ident, $ptr:ident, $collect:expr, $touch:expr, $(#[$attr:meta])*) => {
        #[doc = concat!("The objects behind a `", stringify!($ptr), "`.")]
        pub struct $name;

        #[allow(missing_docs, reason = "a name for each shape of `Owned`")]
        mod owned_types {
            #[allow(unused_imports, reason = "what the attributes need")]
            use super::*;

            $(#[$attr])*
            pub struct Tree {
                pub left: Option<$ptr<Tree>>,
                pub right: Option<$ptr<Tree>>,
            }

            // The fields are there to be kept alive.
            #[allow(dead_code)]
            $(#[$attr])*
            pub struct Big {
                pub left: Option<$ptr<Big>>,
                pub right: Option<$ptr<Big>>,
                pub values: (u64, u64),
            }

            #[allow(dead_code)]
            $(#[$attr])*
            pub struct Cell {
                pub next: Option<$ptr<Cell>>,
                pub values: (u64, u64, u64, u64, u64),
            }

            #[allow(dead_code)]
            $(#[$attr])*
            pub struct Owner {
                pub next: Option<$ptr<Owner>>,
                pub payload: Box<[u8]>,
                pub value: u64,
            }

            #[allow(dead_code)]
            $(#[$attr])*
            pub struct Link {
                pub next: Option<$ptr<Link>>,
                pub value: u64,
            }

            #[allow(dead_code)]
            $(#[$attr])*
            pub struct Small {
                pub values: (u64, u64),
            }
        }

        impl $crate::counting::Owned for $name {
            type Tree = $ptr<owned_types::Tree>;
            type Big = $ptr<owned_types::Big>;
            type Cell = $ptr<owned_types::Cell>;
            type Owner = $ptr<owned_types::Owner>;
            type Link = $ptr<owned_types::Link>;
            type Small = $ptr<owned_types::Small>;

            #[inline]
            fn tree(left: Option<Self::Tree>, right: Option<Self::Tree>) -> Self::Tree {
                $ptr::new(owned_types::Tree { left, right })
            }
            #[inline]
            fn branches(tree: &Self::Tree) -> [Option<&Self::Tree>; 2] {
                [tree.left.as_ref(), tree.right.as_ref()]
            }
            #[inline]
            fn big(left: Option<Self::Big>, right: Option<Self::Big>, values: [u64; 2]) -> Self::Big {
                $ptr::new(owned_types::Big { left, right, values: values.into() })
            }
            #[inline]
            fn big_value(big: &Self::Big) -> u64 {
                big.values.1
            }
            #[inline]
            fn cell(next: Option<Self::Cell>, values: [u64; 5]) -> Self::Cell {
                $ptr::new(owned_types::Cell { next, values: values.into() })
            }
            #[inline]
            fn cell_value(cell: &Self::Cell) -> u64 {
                cell.values.4
            }
            #[inline]
            fn owner(next: Option<Self::Owner>, payload: Box<[u8]>, value: u64) -> Self::Owner {
                $ptr::new(owned_types::Owner { next, payload, value })
            }
            #[inline]
            fn owner_value(owner: &Self::Owner) -> u64 {
                owner.value + owner.payload.len() as u64
            }
            #[inline]
            fn link(next: Option<Self::Link>, value: u64) -> Self::Link {
                $ptr::new(owned_types::Link { next, value })
            }
            #[inline]
            fn link_value(link: &Self::Link) -> u64 {
                link.value
            }
            #[inline]
            fn small(values: [u64; 2]) -> Self::Small {
                $ptr::new(owned_types::Small { values: values.into() })
            }
            #[inline]
            fn small_value(small: &Self::Small) -> u64 {
                small.values.1
            }

            const COLLECT: Option<fn()> = $collect;
            const TOUCH: fn(&Self::Big) = $touch;
        }
    };
}

/// Defines the objects of `$name` that change: `$slot` is the cell for an optional `$ptr`, with `$get` and `$set`.
#[macro_export]
macro_rules! shared {
    ($name:ident, $ptr:ident, $slot:ident, $get:path, $set:path, $(#[$attr:meta])*) => {
        #[allow(missing_docs, reason = "a name for each shape of `Shared`")]
        mod shared_types {
            #[allow(unused_imports, reason = "what the attributes need")]
            use super::*;

            $(#[$attr])*
            pub struct Node {
                pub left: $slot<Option<$ptr<Node>>>,
                pub right: $slot<Option<$ptr<Node>>>,
                pub i: i32,
                pub j: i32,
            }

            // The fields are there to be kept alive.
            #[allow(dead_code)]
            $(#[$attr])*
            pub struct Queue {
                pub next: $slot<Option<$ptr<Queue>>>,
                pub values: (u64, u64, u64),
            }

            $(#[$attr])*
            pub struct Graph {
                pub id: u64,
                pub edges: [$slot<Option<$ptr<Graph>>>; $crate::list::EDGES],
            }
        }

        impl $crate::counting::Shared for $name {
            type Node = $ptr<shared_types::Node>;
            type Queue = $ptr<shared_types::Queue>;
            type Graph = $ptr<shared_types::Graph>;

            #[inline]
            fn node() -> Self::Node {
                $ptr::new(shared_types::Node {
                    left: $slot::new(None),
                    right: $slot::new(None),
                    i: 0,
                    j: 0,
                })
            }
            #[inline]
            fn set_branches(node: &Self::Node, left: &Self::Node, right: &Self::Node) {
                $set(&node.left, Some(left.clone()));
                $set(&node.right, Some(right.clone()));
            }
            fn count(node: &Self::Node) -> u64 {
                let below = |slot| $get(slot, |next: Option<&Self::Node>| next.map_or(0, Self::count));
                1 + (node.i + node.j) as u64 + below(&node.left) + below(&node.right)
            }
            #[inline]
            fn queue(value: u64) -> Self::Queue {
                $ptr::new(shared_types::Queue { next: $slot::new(None), values: (value, value, value) })
            }
            #[inline]
            fn set_next(cell: &Self::Queue, next: &Self::Queue) {
                $set(&cell.next, Some(next.clone()));
            }
            #[inline]
            fn next(cell: &Self::Queue) -> (Option<Self::Queue>, u64) {
                ($get(&cell.next, |next: Option<&Self::Queue>| next.cloned()), cell.values.2)
            }
            #[inline]
            fn graph(id: u64) -> Self::Graph {
                let edges = std::array::from_fn(|_| $slot::new(None));
                $ptr::new(shared_types::Graph { id, edges })
            }
            #[inline]
            fn set_edge(from: &Self::Graph, edge: usize, to: &Self::Graph) {
                $set(&from.edges[edge], Some(to.clone()));
            }
            #[inline]
            fn edge_id(from: &Self::Graph, edge: usize) -> u64 {
                $get(&from.edges[edge], |to: Option<&Self::Graph>| to.map_or(0, |to| to.id))
            }
        }
    };
}
