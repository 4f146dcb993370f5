//! A program whose memory runs out at every moment in turn: each `try_` operation reports it, what was there stays as it
//! was, and a collection heals what it can.

use std::collections::BTreeMap;

use sleepy_gc::collections::{GcMap, GcTail, GcVec};
use sleepy_gc::finalize::FinalizerQueue;
use sleepy_gc::{Arena, Collect, Gc, Lock, Mutation, Rootable, barrier::unlock};

#[derive(Collect)]
#[collect(no_drop)]
struct Node<'gc> {
    number: u32,
    next: Lock<Option<Gc<'gc, Node<'gc>>>>,
}

#[derive(Collect)]
#[collect(no_drop)]
struct Root<'gc> {
    list: Lock<Option<Gc<'gc, Node<'gc>>>>,
    vector: GcVec<'gc, Gc<'gc, Node<'gc>>>,
    map: GcMap<'gc, u32, u32>,
    texts: GcVec<'gc, GcTail<'gc, u32, u8>>,
    queue: FinalizerQueue<'gc, Node<'gc>>,
}

type RootArena = Arena<Rootable![Gc<'_, Root<'_>>]>;

/// What the arena holds, kept outside.
#[derive(Default)]
struct Model {
    list: Vec<u32>,
    vector: Vec<u32>,
    map: BTreeMap<u32, u32>,
    texts: Vec<u32>,
}

fn arena() -> RootArena {
    RootArena::new(|mc| {
        let root = Root {
            list: Lock::new(None),
            vector: GcVec::new(),
            map: GcMap::new(),
            texts: GcVec::new(),
            queue: FinalizerQueue::new(mc),
        };
        Gc::new(mc, root)
    })
}

/// One operation of the program; `None`: there was no memory, and nothing has changed.
fn operate<'gc>(
    mc: &Mutation<'gc>,
    root: Gc<'gc, Root<'gc>>,
    model: &mut Model,
    n: u32,
) -> Option<()> {
    let node = |next| {
        let next = Lock::new(next);
        Gc::try_new(mc, Node { number: n, next }).ok()
    };
    match n % 5 {
        0 => {
            let first = node(root.list.get())?;
            unlock!(Gc::write(mc, root), Root, list).set(Some(first));
            model.list.push(n);
        }
        1 => {
            root.vector.try_push(mc, node(None)?).ok()?;
            model.vector.push(n);
        }
        2 => {
            root.map.try_insert(mc, n, n + 1).ok()?;
            model.map.insert(n, n + 1);
        }
        3 => {
            let bytes = vec![n as u8; (n as usize * 37) % 3_000];
            let text = GcTail::try_from_slice(mc, n, &bytes).ok()?;
            root.texts.try_push(mc, text).ok()?;
            model.texts.push(n);
        }
        _ => root.queue.try_register(mc, node(None)?).ok()?,
    }
    Some(())
}

fn check(arena: &mut RootArena, model: &Model) {
    arena.verify().unwrap();
    arena.mutate(|_, root| {
        let list = std::iter::successors(root.list.get(), |node| node.next.get());
        assert!(
            list.map(|node| node.number)
                .eq(model.list.iter().rev().copied())
        );
        assert!(
            root.vector
                .iter()
                .map(|node| node.number)
                .eq(model.vector.iter().copied())
        );
        assert!(
            model
                .map
                .iter()
                .all(|(key, value)| root.map.get(key) == Some(*value))
        );
        assert_eq!(root.map.len(), model.map.len());
        assert!(
            root.texts
                .iter()
                .map(|text| *text.header())
                .eq(model.texts.iter().copied())
        );
        for text in root.texts.iter() {
            let byte = *text.header() as u8;
            assert!(text.tail().iter().all(|&of| of == byte));
        }
    });
}

#[test]
fn memory_runs_out_at_each_moment_in_turn() {
    let enough = {
        let mut arena = arena();
        let mut model = Model::default();
        for n in 0..400 {
            arena
                .mutate(|mc, root| operate(mc, *root, &mut model, n))
                .unwrap();
        }
        check(&mut arena, &model);
        arena.metrics().heap_bytes()
    };
    let mut refused = 0;
    for limit in (1_000..enough + 8_000).step_by(1_500) {
        let mut arena = arena();
        let mut model = Model::default();
        arena.set_heap_limit(Some(limit));
        for n in 0..400 {
            let done = arena.mutate(|mc, root| operate(mc, *root, &mut model, n));
            if done.is_some() {
                continue;
            }
            refused += 1;
            assert!(arena.debt_due(), "a step is due after a refusal");
            check(&mut arena, &model);
            // In the midst of a cycle, too.
            match n % 3 {
                0 => arena.finish_cycle(),
                1 => drop(arena.finish_marking()),
                _ => {
                    arena.start_cycle();
                    arena.step(sleepy_gc::Budget::Work(200));
                }
            }
        }
        check(&mut arena, &model);
        // With room again, all goes on.
        arena.set_heap_limit(None);
        for n in 400..420 {
            arena
                .mutate(|mc, root| operate(mc, *root, &mut model, n))
                .unwrap();
        }
        arena.finish_cycle();
        arena.finish_cycle();
        check(&mut arena, &model);
    }
    assert!(refused > 1_000, "{refused}");
}
