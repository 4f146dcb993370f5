//! What dumpster has to know of the objects. (Its derive does not work inside of a macro.)

macro_rules! visit {
    ($($type:ty: $($field:ident)*;)*) => {$(
        // SAFETY: all fields that hold pointers are visited.
        unsafe impl<V: dumpster::Visitor> dumpster::TraceWith<V> for $type {
            fn accept(&self, visitor: &mut V) -> std::result::Result<(), ()> {
                $(dumpster::TraceWith::accept(&self.$field, visitor)?;)*
                let _ = visitor;
                Ok(())
            }
        }
    )*};
}

/// For the types of `collectors::owned`.
macro_rules! owned {
    () => {
        crate::traced::visit! {
            owned_types::Tree: left right;
            owned_types::Big: left right;
            owned_types::Cell: next;
            owned_types::Owner: next;
            owned_types::Link: next;
            owned_types::Small:;
        }
    };
}

/// For the types of `collectors::shared`.
macro_rules! shared {
    () => {
        crate::traced::visit! {
            shared_types::Node: left right;
            shared_types::Queue: next;
            shared_types::Graph: edges;
        }
    };
}

pub(crate) use {owned, shared, visit};
