//! `dynamic_roots`.

use gc_arena::dynamic_roots::{DynamicRoot, DynamicRootSet, MismatchedRootSet};
use gc_arena::{Arena, Gc, RefLock, Rootable};

type SetArena = Arena<Rootable![DynamicRootSet<'_>]>;

#[test]
fn handles_keep_objects_and_find_them() {
    let mut arena = SetArena::new(|mc| DynamicRootSet::new(mc));
    let handle: DynamicRoot<Rootable![RefLock<Vec<Gc<'_, u32>>>]> = arena.mutate(|mc, set| {
        let object = Gc::new(mc, RefLock::new(vec![Gc::new(mc, 1)]));
        set.stash::<Rootable![RefLock<Vec<Gc<'_, u32>>>]>(mc, object)
    });
    let clone = handle.clone();
    arena.finish_cycle();
    drop(handle);
    arena.finish_cycle();
    arena.mutate(|mc, set| {
        assert!(set.contains(&clone));
        let object = set.fetch(&clone);
        object.borrow_mut(mc).push(Gc::new(mc, 2));
        assert_eq!(object.borrow().iter().map(|n| **n).sum::<u32>(), 3);
        assert!(!clone.as_ptr().is_null());
    });
    let other = SetArena::new(|mc| DynamicRootSet::new(mc));
    let error: MismatchedRootSet = other.mutate(|_, set| set.try_fetch(&clone).err().unwrap());
    assert!(!other.mutate(|_, set| set.contains(&clone)));
    let error: Box<dyn std::error::Error> = Box::new(error);
    assert!(!error.to_string().is_empty());
    // A handle may outlive its arena.
    drop(arena);
    drop(clone);
}
