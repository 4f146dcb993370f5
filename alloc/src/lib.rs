//! A memory allocator that lends idle heaps to a scavenger thread.
