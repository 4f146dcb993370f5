//! The derives and macros in a crate that knows `sleepy-gc` by another name, and in a module that gets it by way of
//! another crate's re-export.

use memory::{Arena, Collect, Gc, Lock, Rootable, SendRoot};

/// A list node.
#[derive(Collect, SendRoot)]
#[collect(no_drop)]
pub struct Node<'gc> {
    /// The next node.
    pub next: Lock<Option<Gc<'gc, Node<'gc>>>>,
    /// Something that holds no pointer.
    #[collect(require_static)]
    pub name: std::path::PathBuf,
}

/// An arena with such a node as its root.
pub type NodeArena = Arena<Rootable![Gc<'_, Node<'_>>]>;

/// What a crate offers that has `sleepy-gc` as its collector.
pub mod machine {
    pub use memory as collector;
}

/// A node that is derived by way of the re-export.
#[derive(machine::collector::Collect, machine::collector::SendRoot)]
#[collect(no_drop, crate = crate::machine::collector)]
pub struct Indirect<'gc>(pub Option<machine::collector::Gc<'gc, Indirect<'gc>>>);

/// Plain data, likewise.
#[derive(machine::collector::Collect)]
#[collect(require_static, crate = crate::machine::collector)]
pub struct Data(pub std::path::PathBuf);

#[cfg(test)]
mod tests {
    use memory::barrier::unlock;
    use memory::collect::{DynCollect, dyn_collect};
    use memory::{static_collect, unsize};

    use super::*;

    trait Named<'gc>: DynCollect<'gc> {
        fn name(&self) -> String;
    }
    dyn_collect!(dyn Named<'gc>);

    struct Foreign;
    static_collect!(Foreign);

    impl<'gc> Named<'gc> for Foreign {
        fn name(&self) -> String {
            "foreign".to_owned()
        }
    }

    #[test]
    fn derives_and_macros_find_the_crate() {
        let mut arena = NodeArena::new(|mc| {
            Gc::new(
                mc,
                Node {
                    next: Lock::new(None),
                    name: "first".into(),
                },
            )
        });
        arena.mutate(|mc, first| {
            let second = Node {
                next: Lock::new(None),
                name: "second".into(),
            };
            let second = Gc::new(mc, second);
            unlock!(Gc::write(mc, *first), Node, next).set(Some(second));
            let named: Gc<'_, dyn Named<'_>> = unsize!(Gc::new(mc, Foreign) => dyn Named<'_>);
            assert_eq!(named.name(), "foreign");
        });
        arena.finish_cycle();
        arena.mutate(|_, first| {
            let second = first.next.get().unwrap();
            assert_eq!(
                (first.name.to_str(), second.name.to_str()),
                (Some("first"), Some("second"))
            );
        });
        let indirect =
            Arena::<Rootable![Indirect<'_>]>::new(|mc| Indirect(Some(Gc::new(mc, Indirect(None)))));
        indirect.mutate(|mc, root| {
            assert!(root.0.is_some_and(|inner| inner.0.is_none()));
            assert_eq!(Gc::new(mc, Data("x".into())).0.to_str(), Some("x"));
        });
    }
}
