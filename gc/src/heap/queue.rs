//! Stacks of work that grow by chunks: a push never moves what is there.

use std::cell::UnsafeCell;

/// Elements of a chunk.
const CHUNK: usize = 1024;

/// A stack, usable through a shared reference.
pub(super) struct Stack<T> {
    chunks: UnsafeCell<Chunks<T>>,
}

struct Chunks<T> {
    /// All full but the last, which is not empty.
    full: Vec<Vec<T>>,
    /// The one that is pushed to and popped from.
    top: Vec<T>,
}

impl<T> Stack<T> {
    pub(super) const fn new() -> Self {
        Self {
            chunks: UnsafeCell::new(Chunks {
                full: Vec::new(),
                top: Vec::new(),
            }),
        }
    }

    /// The chunks, for the length of one method: nothing in here calls out.
    #[inline(always)]
    #[allow(clippy::mut_from_ref, reason = "private; see SAFETY")]
    fn chunks(&self) -> &mut Chunks<T> {
        // SAFETY: `Stack` is `!Sync`, every method takes the reference once and calls nothing that could come back.
        unsafe { &mut *self.chunks.get() }
    }

    /// Pushes; false where there is no memory.
    #[inline]
    pub(super) fn push(&self, value: T) -> bool {
        let chunks = self.chunks();
        if chunks.top.len() == chunks.top.capacity() && !Self::make_room(chunks) {
            return false;
        }
        // SAFETY of the order: there is room, so this does not allocate.
        chunks.top.push(value);
        true
    }

    #[cold]
    fn make_room(chunks: &mut Chunks<T>) -> bool {
        let mut fresh = Vec::new();
        if chunks.full.try_reserve(1).is_err() || fresh.try_reserve_exact(CHUNK).is_err() {
            return false;
        }
        let old = std::mem::replace(&mut chunks.top, fresh);
        if old.capacity() != 0 {
            chunks.full.push(old);
        }
        true
    }

    #[inline]
    pub(super) fn pop(&self) -> Option<T> {
        let chunks = self.chunks();
        match chunks.top.pop() {
            None => {
                chunks.top = chunks.full.pop()?;
                chunks.top.pop()
            }
            value => value,
        }
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        let chunks = self.chunks();
        chunks.top.is_empty() && chunks.full.is_empty()
    }

    /// Frees the memory of an empty stack.
    pub(super) fn reset(&self) {
        *self.chunks() = Chunks {
            full: Vec::new(),
            top: Vec::new(),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stack_of_many_chunks_gives_back_what_it_got() {
        let stack = Stack::new();
        for n in 0..5 * CHUNK {
            assert!(stack.push(n));
        }
        for n in (0..5 * CHUNK).rev() {
            assert_eq!(stack.pop(), Some(n));
        }
        assert!(stack.is_empty() && stack.pop().is_none());
    }
}
