//! Stacks of work that grow by chunks: a push never moves what is there. Without memory there is room for one element.

use std::cell::{Cell, UnsafeCell};
use std::mem::MaybeUninit;
use std::ptr;

/// Elements of a chunk.
const CHUNK: usize = 1024;

type Chunk<T> = Box<[MaybeUninit<T>]>;

/// A stack, usable through a shared reference.
///
/// `base ≤ top ≤ limit` in the chunk that is pushed to and popped from, all three null while there is none.
pub(super) struct Stack<T: Copy> {
    /// Where the next element goes.
    top: Cell<*mut T>,
    base: Cell<*mut T>,
    limit: Cell<*mut T>,
    /// Whether there are elements in other chunks, or `last`.
    more: Cell<bool>,
    chunks: UnsafeCell<Chunks<T>>,
}

struct Chunks<T> {
    /// All full but the last, which `top` points into.
    used: Vec<Chunk<T>>,
    /// An empty one, so that a stack that goes to and fro over the edge of a chunk allocates nothing.
    spare: Option<Chunk<T>>,
    /// An element for which there was no memory.
    last: Option<T>,
}

impl<T> Chunks<T> {
    fn new_chunk() -> Option<Chunk<T>> {
        let mut fresh = Vec::new();
        fresh.try_reserve_exact(CHUNK).ok()?;
        fresh.resize_with(CHUNK, MaybeUninit::uninit);
        Some(fresh.into_boxed_slice())
    }
}

impl<T: Copy> Stack<T> {
    pub(super) const fn new() -> Self {
        Self {
            top: Cell::new(ptr::null_mut()),
            base: Cell::new(ptr::null_mut()),
            limit: Cell::new(ptr::null_mut()),
            more: Cell::new(false),
            chunks: UnsafeCell::new(Chunks {
                used: Vec::new(),
                spare: None,
                last: None,
            }),
        }
    }

    /// A stack that has a chunk, if there is memory for it, and keeps one.
    pub(super) fn with_chunk() -> Self {
        let stack = Self::new();
        stack.keep_chunk();
        stack
    }

    fn keep_chunk(&self) {
        let chunks = self.chunks();
        if chunks.used.try_reserve(1).is_ok() && chunks.spare.is_none() {
            chunks.spare = Chunks::new_chunk();
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
    #[inline(always)]
    pub(super) fn push(&self, value: T) -> bool {
        self.push_in_chunk(value) || self.push_in_next(value)
    }

    /// Pushes where that needs no other chunk.
    #[inline(always)]
    pub(super) fn push_in_chunk(&self, value: T) -> bool {
        let top = self.top.get();
        if top == self.limit.get() {
            return false;
        }
        // SAFETY: below the limit there is room in the chunk.
        unsafe {
            top.write(value);
            self.top.set(top.add(1));
        }
        true
    }

    #[cold]
    #[inline(never)]
    fn push_in_next(&self, value: T) -> bool {
        let chunks = self.chunks();
        let fresh = match chunks.used.try_reserve(1) {
            Ok(()) => chunks.spare.take().or_else(Chunks::new_chunk),
            Err(_) => None,
        };
        let Some(fresh) = fresh else {
            let is_free = chunks.last.is_none();
            if is_free {
                chunks.last = Some(value);
                self.more.set(true);
            }
            return is_free;
        };
        self.more
            .set(!chunks.used.is_empty() || chunks.last.is_some());
        // First the push: a box that is moved claims its memory anew.
        chunks.used.push(fresh);
        if let Some(fresh) = chunks.used.last_mut() {
            self.enter(fresh, 0);
        }
        self.push_in_chunk(value)
    }

    /// Has `top` point into a chunk, behind so many elements.
    fn enter(&self, chunk: &mut Chunk<T>, len: usize) {
        let elements = chunk.as_mut_ptr_range();
        self.base.set(elements.start.cast());
        self.limit.set(elements.end.cast());
        // SAFETY: a chunk has at least `len` elements.
        self.top.set(unsafe { elements.start.add(len) }.cast());
    }

    #[inline(always)]
    pub(super) fn pop(&self) -> Option<T> {
        if self.top.get() == self.base.get() {
            return if self.more.get() {
                self.pop_before()
            } else {
                None
            };
        }
        // SAFETY: between base and top each element is written.
        unsafe {
            let top = self.top.get().sub(1);
            self.top.set(top);
            Some(top.read())
        }
    }

    #[cold]
    #[inline(never)]
    fn pop_before(&self) -> Option<T> {
        let chunks = self.chunks();
        if chunks.used.len() < 2 {
            self.more.set(false);
            return chunks.last.take();
        }
        chunks.spare = chunks.used.pop();
        self.more
            .set(chunks.used.len() > 1 || chunks.last.is_some());
        self.enter(chunks.used.last_mut()?, CHUNK);
        self.pop()
    }

    #[inline(always)]
    pub(super) fn is_empty(&self) -> bool {
        self.top.get() == self.base.get() && !self.more.get()
    }

    /// Copies of all elements, the lowest first; the one for which there was no memory comes last.
    #[cfg(any(debug_assertions, feature = "zeal"))]
    pub(super) fn all(&self) -> Vec<T> {
        let Chunks { used, last, .. } = self.chunks();
        let in_last = (self.top.get().addr() - self.base.get().addr()) / size_of::<T>();
        let mut all = Vec::new();
        for (index, chunk) in used.iter().enumerate() {
            let full = index + 1 < used.len();
            let written = &chunk[..if full { CHUNK } else { in_last }];
            // SAFETY: all chunks are full but the last, which is written up to `top`.
            all.extend(
                written
                    .iter()
                    .map(|element| unsafe { element.assume_init() }),
            );
        }
        all.extend(*last);
        all
    }

    /// Forgets everything, and frees its memory.
    pub(super) fn reset(&self) {
        self.top.set(ptr::null_mut());
        self.base.set(ptr::null_mut());
        self.limit.set(ptr::null_mut());
        self.more.set(false);
        *self.chunks() = Chunks {
            used: Vec::new(),
            spare: None,
            last: None,
        };
    }

    /// Forgets everything, and frees its memory but for a chunk.
    pub(super) fn reset_to_chunk(&self) {
        let chunks = self.chunks();
        let spare = chunks.used.pop().or(chunks.spare.take());
        self.reset();
        self.chunks().spare = spare;
        self.keep_chunk();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stack_of_many_chunks_gives_back_what_it_got() {
        let stack = Stack::new();
        assert!(stack.is_empty() && stack.pop().is_none());
        for n in 0..5 * CHUNK {
            assert!(stack.push(n));
        }
        for n in (0..5 * CHUNK).rev() {
            assert!(!stack.is_empty());
            assert_eq!(stack.pop(), Some(n));
        }
        assert!(stack.is_empty() && stack.pop().is_none());
        stack.reset();
        assert!(stack.push(7) && stack.pop() == Some(7) && stack.is_empty());
    }

    #[test]
    fn a_stack_without_memory_holds_one_element() {
        let stack = Stack::new();
        // As after a push that failed.
        stack.chunks().last = Some(1);
        stack.more.set(true);
        assert!(!stack.is_empty());
        assert!(stack.push(2) && !stack.is_empty());
        assert_eq!(
            [stack.pop(), stack.pop(), stack.pop()],
            [Some(2), Some(1), None]
        );
        assert!(stack.is_empty());
    }

    #[test]
    fn a_stack_may_keep_a_chunk() {
        let stack = Stack::with_chunk();
        for n in 0..3 * CHUNK {
            assert!(stack.push(n));
        }
        stack.reset_to_chunk();
        assert!(stack.is_empty() && stack.chunks().spare.is_some());
        assert!(stack.push(7) && stack.pop() == Some(7) && stack.is_empty());
    }

    #[test]
    fn a_stack_that_goes_to_and_fro_over_an_edge_keeps_its_order() {
        let stack = Stack::new();
        for n in 0..CHUNK {
            stack.push(n);
        }
        for _ in 0..3 {
            stack.push(CHUNK);
            stack.push(CHUNK + 1);
            assert_eq!(
                [stack.pop(), stack.pop(), stack.pop()],
                [Some(CHUNK + 1), Some(CHUNK), Some(CHUNK - 1)]
            );
            stack.push(CHUNK - 1);
        }
    }
}
