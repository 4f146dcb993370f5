//! One operation of a program, on one container.

use sleepy_gc::barrier::unlock;
use sleepy_gc::collections::{GcTail, GcVec, LateStack};
use sleepy_gc::ephemeron::{EphemeronMap, Weakness};
use sleepy_gc::{Collect, DynamicRoot, ForwardLock, Gc, Lock, Mutation, Rootable};

use crate::node::{Key, Node, NodeRef, Random, Root};

/// Roots outside the arena.
pub type Handles = Vec<DynamicRoot<Rootable![Node<'_>]>>;

/// Does one random operation.
pub fn operate<'gc>(
    mc: &Mutation<'gc>,
    root: &Root<'gc>,
    random: &mut Random,
    handles: &mut Handles,
) {
    let node = root.pick(mc, random);
    let other = if random.one_in(3) {
        Node::new(mc, random)
    } else {
        root.pick(mc, random)
    };
    match random.below(40) {
        0..=2 => on_lock(mc, node, other, random),
        3..=5 => on_list(mc, node, other, random),
        6..=10 => on_vec(mc, node, other, random),
        11..=13 => on_forward(mc, node, other, random),
        14 => {
            // Full after the first time, which is no error here.
            let _ = unlock!(Gc::write(mc, node), Node, once).set(other);
        }
        15 | 16 => unlock!(Gc::write(mc, node), Node, weak).set(Some(Gc::downgrade(other))),
        17..=19 => on_links(mc, node, other, random),
        20 | 21 => on_map(mc, node, other, random),
        22 | 23 => on_nodes(mc, root, other, random),
        24..=27 => on_weak_map(mc, root, node, other, random),
        28 => {
            let map = Gc::new(mc, EphemeronMap::new(mc, weakness(random)));
            keep(mc, &root.maps, 6, map, random);
        }
        29 | 30 => on_finalizers(mc, root, node, other, random),
        31 | 32 => on_handles(mc, root, node, random, handles),
        33 | 34 => on_interned(mc, root, random),
        35 | 36 => on_stack(mc, root, node, other, random),
        37 => {
            let stack = Gc::new(mc, LateStack::new(mc, 1 + random.index(100), None));
            keep(mc, &root.stacks, 4, stack, random);
        }
        38 => on_sliced(mc, root, other, random),
        _ => on_weaks(mc, root, node, other, random),
    }
}

/// Adds to what has at most so many elements; one of them goes if it is full.
fn keep<'gc, T: Collect<'gc> + Copy>(
    mc: &Mutation<'gc>,
    all: &GcVec<'gc, T>,
    most: usize,
    one: T,
    random: &mut Random,
) {
    if all.len() < most {
        all.push(mc, one);
    } else {
        all.set(mc, random.index(most), one);
    }
}

fn weakness(random: &mut Random) -> Weakness {
    match random.below(4) {
        0 => Weakness::Keys,
        1 => Weakness::Values,
        2 => Weakness::Both,
        _ => Weakness::Neither,
    }
}

fn on_lock<'gc>(mc: &Mutation<'gc>, node: NodeRef<'gc>, other: NodeRef<'gc>, random: &mut Random) {
    if random.one_in(3) {
        node.next.take();
    } else {
        unlock!(Gc::write(mc, node), Node, next).set(Some(other));
    }
}

fn on_list<'gc>(mc: &Mutation<'gc>, node: NodeRef<'gc>, other: NodeRef<'gc>, random: &mut Random) {
    match random.below(9) {
        0..=2 => drop(node.list.take()),
        3 | 4 => unlock!(Gc::write(mc, node), Node, list)
            .borrow_mut()
            .clear(),
        _ => unlock!(Gc::write(mc, node), Node, list)
            .borrow_mut()
            .push(other),
    }
}

fn on_vec<'gc>(mc: &Mutation<'gc>, node: NodeRef<'gc>, other: NodeRef<'gc>, random: &mut Random) {
    match random.below(5) {
        0 => {
            node.vec.pop();
        }
        1 => {
            // Moved into another object, which may be marked already.
            let old = other.vec.replace(mc, node.vec.take());
            if random.one_in(2) {
                old.free(mc);
            }
        }
        2 => node.vec.shrink_to_fit(mc),
        _ => node.vec.push(mc, other),
    }
}

fn on_forward<'gc>(
    mc: &Mutation<'gc>,
    node: NodeRef<'gc>,
    other: NodeRef<'gc>,
    random: &mut Random,
) {
    if random.one_in(3) {
        other.forward.set(mc, node.forward.take());
    } else {
        node.forward.set(mc, Some(other));
    }
}

fn on_links<'gc>(mc: &Mutation<'gc>, node: NodeRef<'gc>, other: NodeRef<'gc>, random: &mut Random) {
    if !random.one_in(3) {
        // Now and then more than is marked in one step.
        let most = if random.one_in(5) { 3_000 } else { 20 };
        let len = random.index(most);
        let links = GcTail::new(mc, len as u64, len, |i| {
            Lock::new((i % 3 == 0).then_some(other))
        });
        unlock!(Gc::write(mc, node), Node, links).set(Some(links));
    } else if let Some(links) = node.links.get()
        && links.len() > 0
    {
        let at = random.index(links.len());
        links.write_tail(mc)[at].unlock().set(Some(other));
    }
}

fn on_map<'gc>(mc: &Mutation<'gc>, node: NodeRef<'gc>, other: NodeRef<'gc>, random: &mut Random) {
    let key = random.map_key();
    if random.one_in(2) {
        node.map.insert(mc, key, other);
    } else {
        node.map.remove(mc, &key);
    }
}

fn on_nodes<'gc>(mc: &Mutation<'gc>, root: &Root<'gc>, other: NodeRef<'gc>, random: &mut Random) {
    if random.one_in(2) {
        keep(mc, &root.nodes, 60, other, random);
    } else if root.nodes.len() > 5 {
        root.nodes.swap_remove(mc, random.index(root.nodes.len()));
    }
}

fn on_weak_map<'gc>(
    mc: &Mutation<'gc>,
    root: &Root<'gc>,
    node: NodeRef<'gc>,
    other: NodeRef<'gc>,
    random: &mut Random,
) {
    let Some(map) = root.map(random) else { return };
    match random.below(12) {
        // In any phase, while it is being cleared too.
        0 | 1 => map.set_weakness(mc, weakness(random)),
        2 => {
            map.remove(mc, &Key(node));
        }
        3 => map.clear_dead(mc),
        4 => {
            for (key, value) in map.iter(mc) {
                key.0.check();
                value.0.check();
            }
        }
        _ => {
            map.insert(mc, Key(node), Key(other));
        }
    }
}

fn on_finalizers<'gc>(
    mc: &Mutation<'gc>,
    root: &Root<'gc>,
    node: NodeRef<'gc>,
    other: NodeRef<'gc>,
    random: &mut Random,
) {
    if random.one_in(2) {
        root.finalizers.register(mc, node);
    } else if let Some(node) = root.finalizers.pop(mc) {
        node.check();
        if random.one_in(3) {
            unlock!(Gc::write(mc, other), Node, next).set(Some(node));
        }
    }
}

fn on_handles<'gc>(
    mc: &Mutation<'gc>,
    root: &Root<'gc>,
    node: NodeRef<'gc>,
    random: &mut Random,
    handles: &mut Handles,
) {
    if random.one_in(2) {
        for handle in handles.iter() {
            root.roots.fetch(handle).check();
        }
    } else if handles.len() < 40 {
        handles.push(root.roots.stash(mc, node));
    } else {
        handles.swap_remove(random.index(handles.len()));
    }
}

fn on_interned<'gc>(mc: &Mutation<'gc>, root: &Root<'gc>, random: &mut Random) {
    let hash_of = |number: u32| number.wrapping_mul(0x9e37_79b9);
    let number = random.below(3_000) as u32;
    let (bytes, hash) = (number.to_string().into_bytes(), hash_of(number));
    let text = root.interned.find(mc, hash, &bytes).unwrap_or_else(|| {
        let text = GcTail::from_slice(mc, hash, &bytes);
        root.interned.insert(mc, hash, text);
        text
    });
    assert_eq!((*text.header(), text.tail()), (hash, &bytes[..]));
    keep(mc, &root.texts, 300, text, random);
    if let Some(text) = root.texts.get(random.index(root.texts.len())) {
        let number = str::from_utf8(text.tail()).unwrap().parse().unwrap();
        assert_eq!(*text.header(), hash_of(number), "a text was freed");
    }
}

fn on_stack<'gc>(
    mc: &Mutation<'gc>,
    root: &Root<'gc>,
    node: NodeRef<'gc>,
    other: NodeRef<'gc>,
    random: &mut Random,
) {
    let Some(stack) = root.stack(random) else {
        return;
    };
    let capacity = stack.capacity();
    match random.below(6) {
        0 => stack.set_top(mc, random.index(capacity + 1)),
        1 => stack.try_grow(mc, capacity + random.index(200)).unwrap(),
        2 if stack.top() > 0 => stack.set(mc, random.index(stack.top()), Some(node)),
        2 => {}
        _ => {
            let start = random.index(capacity);
            let end = (start + random.index(20)).min(capacity);
            for slot in stack.slots(mc, start..end).unwrap() {
                slot.set(Some(if random.one_in(2) { node } else { other }));
            }
            if random.one_in(2) {
                stack.set_top(mc, end);
            }
        }
    }
    for at in 0..stack.top() {
        if let Some(Some(node)) = stack.get(at) {
            node.check();
        }
    }
}

fn on_sliced<'gc>(mc: &Mutation<'gc>, root: &Root<'gc>, other: NodeRef<'gc>, random: &mut Random) {
    if random.one_in(20) {
        let len = random.index(2_000);
        let mut slots = root.sliced.unlock(mc).borrow_mut();
        slots.resize_with(len, || ForwardLock::new(None));
        return;
    }
    let slots = root.sliced.borrow();
    for _ in 0..10 {
        let Some(slot) = slots.get(random.index(slots.len())) else {
            return;
        };
        if random.one_in(3) {
            // To the first slot, which is the first to be marked.
            slots[0].set(mc, slot.take());
        } else {
            slot.set(mc, Some(other));
        }
    }
}

fn on_weaks<'gc>(
    mc: &Mutation<'gc>,
    root: &Root<'gc>,
    node: NodeRef<'gc>,
    other: NodeRef<'gc>,
    random: &mut Random,
) {
    let mut weaks = root.weaks.borrow_mut(mc);
    if weaks.len() < 200 {
        weaks.push(Gc::downgrade(node));
    } else {
        weaks[random.index(200)] = Gc::downgrade(other);
    }
}
