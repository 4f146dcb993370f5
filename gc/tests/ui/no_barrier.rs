//! A lock does not open without a barrier, and a `Write` does not go where others own the value too.

use std::rc::Rc;

use sleepy_gc::{
    Collect, Gc, Mutation,
    barrier::{Write, field, unlock},
    lock::{Lock, RefLock},
};

#[derive(Collect)]
#[collect(no_drop)]
struct Node<'gc> {
    next: Lock<Option<Gc<'gc, Node<'gc>>>>,
    list: RefLock<Vec<Gc<'gc, Node<'gc>>>>,
    shared: Rc<Lock<Option<Gc<'gc, Node<'gc>>>>>,
    other: Gc<'gc, Node<'gc>>,
}

fn methods<'gc>(node: Gc<'gc, Node<'gc>>) {
    node.next.set(Some(node));
    node.list.borrow_mut().push(node);
}

fn shared<'gc>(mc: &Mutation<'gc>, node: Gc<'gc, Node<'gc>>) {
    field!(Gc::write(mc, node), Node, shared).as_deref().unlock().set(Some(node));
}

fn local_reference<'gc>(node: Gc<'gc, Node<'gc>>) {
    let mut next: &Lock<_> = &node.as_ref().next;
    Write::from_mut(&mut next).as_deref().unlock().set(Some(node));
}

fn through_a_reference<'gc>(node: Gc<'gc, Node<'gc>>) {
    let mut reference: &Node<'gc> = node.as_ref();
    unlock!(Write::from_mut(&mut reference), Node, next).set(Some(node));
}

fn through_a_pointer<'gc>(mc: &Mutation<'gc>, node: Gc<'gc, Node<'gc>>) {
    let other = field!(Gc::write(mc, node), Node, other);
    unlock!(other, Node, next).set(Some(node));
    other.as_deref();
}

fn main() {}
