//! What a heap summary tells.

use sleepy_gc::collections::GcVec;
use sleepy_gc::summary::HeapSummary;
use sleepy_gc::{Arena, Collect, Gc, Mutation, Rootable};

#[derive(Collect)]
#[collect(no_drop)]
struct Leaf(u64);

#[derive(Collect)]
#[collect(no_drop)]
struct Branch<'gc> {
    leaves: GcVec<'gc, Gc<'gc, Leaf>>,
}

#[derive(Collect)]
#[collect(no_drop)]
struct Root<'gc> {
    left: Gc<'gc, Branch<'gc>>,
    right: Gc<'gc, Branch<'gc>>,
    leaf: Gc<'gc, Leaf>,
}

fn arena() -> Arena<Rootable![Root<'_>]> {
    fn branch<'gc>(mc: &Mutation<'gc>, len: u64, shared: Gc<'gc, Leaf>) -> Gc<'gc, Branch<'gc>> {
        let leaves = GcVec::new();
        for n in 0..len {
            leaves.push(mc, Gc::new(mc, Leaf(n)));
        }
        leaves.push(mc, shared);
        Gc::new(mc, Branch { leaves })
    }
    Arena::new(|mc| {
        let shared = Gc::new(mc, Leaf(0));
        for n in 0..5 {
            Gc::new(mc, Leaf(n));
        }
        Root {
            left: branch(mc, 1_000, shared),
            right: branch(mc, 10, shared),
            leaf: Gc::new(mc, Leaf(1)),
        }
    })
}

fn check(summary: &HeapSummary, garbage: usize) {
    let of = |what: &str| {
        let found = summary.types.iter().find(|of| of.name.starts_with(what));
        found.unwrap_or_else(|| panic!("no {what} in {summary}"))
    };
    let leaf = of("summary::Leaf");
    assert_eq!(
        (leaf.total.objects, leaf.retained.objects),
        (1_012 + garbage, 1_012)
    );
    assert_eq!(leaf.retained.bytes, 1_012 * 8);
    assert_eq!(of("summary::Branch").total, of("summary::Branch").retained);
    assert_eq!(of("summary::Branch").total.objects, 2);
    assert!(
        summary
            .types
            .is_sorted_by_key(|of| std::cmp::Reverse(of.total.bytes))
    );
    let roots = &summary.roots;
    assert_eq!(roots.len(), 2, "{summary}");
    assert!(
        roots[0].name.starts_with("summary::Branch") && roots[1].name.starts_with("summary::Leaf")
    );
    // Two branches, their buffers, and their own leaves.
    assert_eq!((roots[0].named, roots[0].retained.objects), (2, 1_014));
    assert_eq!((roots[1].named, roots[1].retained.objects), (1, 1));
    assert_eq!((summary.shared.objects, summary.shared.bytes), (1, 8));
    let parts = roots.iter().map(|of| of.retained.bytes).sum::<usize>() + summary.shared.bytes;
    assert_eq!(parts, summary.retained().bytes);
    assert!(summary.to_string().lines().count() >= 9);
}

#[test]
fn objects_are_counted_by_type_and_by_what_retains_them() {
    let mut arena = arena();
    arena.mutate(|_, root| assert_eq!(root.leaf.0, 1));
    let summary = arena.heap_summary();
    check(&summary, 5);
    assert_eq!(
        summary.total().objects,
        arena.metrics().total_gc_count(),
        "{summary}"
    );
    assert_eq!(summary.total().bytes, arena.heap_bytes(), "{summary}");
    // To look changes nothing: the cycle goes on.
    arena.verify().unwrap();
    arena.finish_cycle();
    check(&arena.heap_summary(), 0);
    assert_eq!(arena.heap_summary(), arena.heap_summary());
}

#[test]
fn a_root_that_names_one_object_is_looked_through() {
    type Boxed<'gc> = Gc<'gc, Gc<'gc, (Gc<'gc, Leaf>, Gc<'gc, [Leaf; 2]>)>>;
    let mut arena = Arena::<Rootable![Boxed<'_>]>::new(|mc| {
        let leaves = (Gc::new(mc, Leaf(1)), Gc::new(mc, [Leaf(2), Leaf(3)]));
        Gc::new(mc, Gc::new(mc, leaves))
    });
    arena.mutate(|_, root| assert_eq!(root.0.0 + root.1[0].0 + root.1[1].0, 6));
    let summary = arena.heap_summary();
    let roots = &summary.roots;
    let retained: Vec<_> = roots.iter().map(|of| of.retained.objects).collect();
    assert_eq!((retained, summary.shared.objects), (vec![1, 1], 2));
    // A long list is a root of its own; so is one that ends where it begins.
    #[derive(Collect)]
    #[collect(no_drop)]
    struct Link<'gc>(sleepy_gc::Lock<Option<Gc<'gc, Link<'gc>>>>);
    for ring in [false, true] {
        let mut arena = Arena::<Rootable![Gc<'_, Link<'_>>]>::new(|mc| {
            let last = Gc::new(mc, Link(sleepy_gc::Lock::new(None)));
            let link = |next| Gc::new(mc, Link(sleepy_gc::Lock::new(Some(next))));
            let first = (0..20).fold(last, |next, _| link(next));
            if ring {
                // SAFETY: no cycle is under way.
                unsafe { last.0.as_cell() }.set(Some(first));
            }
            first
        });
        let summary = arena.heap_summary();
        let roots = &summary.roots;
        let retained = roots[0].retained.objects + summary.shared.objects;
        assert_eq!((roots.len(), retained), (1, 21), "{summary}");
    }
}

#[test]
fn a_summary_is_taken_at_any_moment() {
    for bytes in [1, 100, 1_000, 10_000, 100_000] {
        let mut arena = arena();
        arena.start_cycle();
        arena.step(sleepy_gc::Budget::Work(bytes));
        let garbage =
            arena.heap_summary().total().objects - arena.heap_summary().retained().objects;
        assert!(garbage <= 5 + 11, "{garbage}");
        arena.finish_cycle();
        check(&arena.heap_summary(), 0);
        arena.verify().unwrap();
    }
}

#[test]
fn numbers_of_arenas_are_their_own() {
    let (one, other) = (arena(), arena());
    assert_ne!(one.metrics().arena_id(), other.metrics().arena_id());
}

#[cfg(feature = "json")]
#[test]
fn a_summary_is_json() {
    let json: serde_json::Value = serde_json::from_str(&arena().heap_summary().to_json()).unwrap();
    let types = json["types"].as_array().unwrap();
    assert!(types.iter().any(
        |of| of["name"].as_str().unwrap().starts_with("summary::Branch")
            && of["retained"]["objects"] == 2
    ));
    assert_eq!(json["shared"]["objects"], 1);
}
