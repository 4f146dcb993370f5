//! Stand-in for `sleepy_gc::collections` until it lands.
#![allow(missing_docs)]
use std::cell::{Cell, RefCell, UnsafeCell};
use std::collections::HashMap;

use sleepy_gc::collect::Trace;
use sleepy_gc::{Collect, Gc, Mutation};

pub struct Tail<H, T> {
    header: H,
    tail: Box<[T]>,
}
unsafe impl<'gc, H: Collect<'gc>, T: Collect<'gc>> Collect<'gc> for Tail<H, T> {
    fn trace<C: Trace<'gc>>(&self, cc: &mut C) {
        self.header.trace(cc);
        for t in &self.tail {
            t.trace(cc);
        }
    }
}
#[repr(transparent)]
pub struct GcTail<'gc, H: 'gc, T: 'gc>(Gc<'gc, Tail<H, T>>);
impl<H, T> Clone for GcTail<'_, H, T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<H, T> Copy for GcTail<'_, H, T> {}
unsafe impl<'gc, H, T> Collect<'gc> for GcTail<'gc, H, T> {
    fn trace<C: Trace<'gc>>(&self, cc: &mut C) {
        self.0.trace(cc);
    }
}
impl<'gc, H: Collect<'gc> + 'gc, T: Collect<'gc> + 'gc> GcTail<'gc, H, T> {
    pub fn new(mc: &Mutation<'gc>, header: H, len: usize, f: impl FnMut(usize) -> T) -> Self {
        let tail = (0..len).map(f).collect();
        GcTail(Gc::new(mc, Tail { header, tail }))
    }
    pub fn try_from_slice(mc: &Mutation<'gc>, header: H, s: &[T]) -> Result<Self, ()>
    where
        T: Copy,
    {
        Ok(Self::from_slice(mc, header, s))
    }
    pub fn from_slice(mc: &Mutation<'gc>, header: H, s: &[T]) -> Self
    where
        T: Copy,
    {
        Self::new(mc, header, s.len(), |i| s[i])
    }
    #[inline(always)]
    pub fn header(self) -> &'gc H {
        &Gc::as_ref(self.0).header
    }
    #[inline(always)]
    pub fn tail(self) -> &'gc [T] {
        &Gc::as_ref(self.0).tail
    }
    #[inline(always)]
    pub fn as_ptr(this: Self) -> *const () {
        Gc::as_ptr(this.0).cast()
    }
}

pub struct InternSet<'gc, H: 'gc> {
    map: RefCell<HashMap<u32, Vec<GcTail<'gc, H, u8>>>>,
}
unsafe impl<'gc, H: Collect<'gc>> Collect<'gc> for InternSet<'gc, H> {
    fn trace<C: Trace<'gc>>(&self, cc: &mut C) {
        for v in self.map.borrow().values().flatten() {
            v.trace(cc);
        }
    }
}
impl<'gc, H: Collect<'gc> + 'gc> InternSet<'gc, H> {
    pub fn new(_mc: &Mutation<'gc>) -> Self {
        Self {
            map: RefCell::default(),
        }
    }
    pub fn find(&self, _mc: &Mutation<'gc>, hash: u32, bytes: &[u8]) -> Option<GcTail<'gc, H, u8>> {
        let map = self.map.borrow();
        map.get(&hash)?.iter().find(|t| t.tail() == bytes).copied()
    }
    pub fn insert(&self, _mc: &Mutation<'gc>, hash: u32, tail: GcTail<'gc, H, u8>) {
        self.map.borrow_mut().entry(hash).or_default().push(tail);
    }
}

pub struct LateStack<'gc, T: 'gc> {
    slots: UnsafeCell<Vec<T>>,
    top: Cell<usize>,
    marker: std::marker::PhantomData<Cell<&'gc ()>>,
}
unsafe impl<'gc, T: Collect<'gc> + Copy> Collect<'gc> for LateStack<'gc, T> {
    fn trace<C: Trace<'gc>>(&self, cc: &mut C) {
        for i in 0..self.top.get() {
            unsafe { (&*self.slots.get())[i] }.trace(cc);
        }
    }
}
impl<'gc, T: Collect<'gc> + Copy + Default> LateStack<'gc, T> {
    pub fn new(_mc: &Mutation<'gc>) -> Self {
        Self {
            slots: UnsafeCell::default(),
            top: Cell::new(0),
            marker: std::marker::PhantomData,
        }
    }
    #[inline(always)]
    pub fn as_ptr(&self) -> *mut T {
        unsafe { (*self.slots.get()).as_mut_ptr() }
    }
    #[inline(always)]
    pub fn capacity(&self) -> usize {
        unsafe { (*self.slots.get()).len() }
    }
    pub fn try_grow(&self, _mc: &Mutation<'gc>, n: usize) -> Result<(), ()> {
        unsafe { (*self.slots.get()).resize(n, T::default()) };
        Ok(())
    }
    pub fn set_top(&self, n: usize) {
        self.top.set(n);
    }
}

pub struct GcVec<'gc, T: 'gc> {
    v: UnsafeCell<Vec<T>>,
    marker: std::marker::PhantomData<Cell<&'gc ()>>,
}
unsafe impl<'gc, T: Collect<'gc>> Collect<'gc> for GcVec<'gc, T> {
    fn trace<C: Trace<'gc>>(&self, cc: &mut C) {
        for t in unsafe { &*self.v.get() } {
            t.trace(cc);
        }
    }
}
impl<'gc, T: Collect<'gc> + Copy> GcVec<'gc, T> {
    pub const fn new() -> Self {
        Self { v: UnsafeCell::new(Vec::new()), marker: std::marker::PhantomData }
    }
    pub fn len(&self) -> usize {
        unsafe { (*self.v.get()).len() }
    }
    pub fn get(&self, i: usize) -> Option<T> {
        unsafe { (&*self.v.get()).get(i).copied() }
    }
    #[inline(always)]
    pub unsafe fn get_unchecked(&self, i: usize) -> T {
        unsafe { *(*self.v.get()).as_ptr().add(i) }
    }
    #[inline(always)]
    pub unsafe fn set_unchecked(&self, mc: &Mutation<'gc>, i: usize, v: T) {
        mc.shade(&v);
        unsafe { *(*self.v.get()).as_mut_ptr().add(i) = v }
    }
    pub fn try_resize(&self, _mc: &Mutation<'gc>, n: usize, fill: T) -> Result<(), ()> {
        unsafe { (*self.v.get()).resize(n, fill) };
        Ok(())
    }
    pub fn as_ptr(&self) -> *const T {
        unsafe { (*self.v.get()).as_ptr() }
    }
    pub fn truncate(&self, n: usize) {
        unsafe { (*self.v.get()).truncate(n) }
    }
    pub fn clear(&self) {
        self.truncate(0);
    }
    pub fn shrink_to_fit(&self, _mc: &Mutation<'gc>) {
        unsafe { (*self.v.get()).shrink_to_fit() }
    }
    pub fn replace(&self, _mc: &Mutation<'gc>, other: Self) -> Self {
        Self {
            v: UnsafeCell::new(std::mem::replace(unsafe { &mut *self.v.get() }, other.v.into_inner())),
            marker: std::marker::PhantomData,
        }
    }
}
