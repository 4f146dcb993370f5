//! Errors of the program that debug builds find: blocks freed twice, and pointers that no heap gave out.
//!
//! The checks cost a walk of the page's free list for each free that looks suspicious, so optimised builds do without.

use crate::page::{Kind, Page};
use crate::remote::List;
use crate::{arena, os};
use core::ptr::NonNull;

const FREED_TWICE: &str = "a block was freed twice";
const NEVER_GIVEN: &str = "a pointer was freed that no heap gave out";

/// Ends the process with a message if a pointer that is about to be freed is not a block.
pub(crate) fn check_pointer(block: NonNull<u8>) {
    let Some(slice) = arena::find(block.addr().get()) else {
        os::die(NEVER_GIVEN);
    };
    // SAFETY: the pointer lies in an arena, past its information area.
    let page = unsafe { Page::of(block) };
    let offset = block.addr().get().wrapping_sub(page.start().addr().get());
    let is_start = match page.kind.get() {
        Kind::Small if page.block_bytes.get() == 0 => os::die(NEVER_GIVEN),
        Kind::Small => offset.is_multiple_of(page.block_bytes.get()),
        Kind::Large | Kind::Huge => offset == 0 && page.slice().index == slice.index,
        Kind::Collector => os::die("a run of slices was freed like a block"),
    };
    if !is_start {
        os::die("a pointer was freed that points inside a block");
    }
    // Nobody else uses the descriptor of a block with slices of its own.
    if page.kind.get() != Kind::Small && page.used.get() == 0 {
        os::die(FREED_TWICE);
    }
}

impl Page {
    /// Ends the process if a block that its owner frees is free already, or was never made.
    pub(crate) fn check_free(&self, block: NonNull<u8>) {
        self.check_formed(block);
        if self.used.get() == 0 || self.kind.get() == Kind::Small && self.is_free(block) {
            os::die(FREED_TWICE);
        }
    }

    /// Ends the process if there never was such a block of the page, which the caller owns.
    fn check_formed(&self, block: NonNull<u8>) {
        let offset = block.addr().get() - self.start().addr().get();
        let formed_bytes = self.formed.get() as usize * self.block_bytes.get();
        if self.kind.get() == Kind::Small && offset >= formed_bytes {
            os::die(NEVER_GIVEN);
        }
    }

    /// Ends the process if a block that somebody else frees is the one that was freed last.
    pub(crate) fn check_remote_free(&self, block: NonNull<u8>) {
        if self.remote.head() == block.addr().get() {
            os::die(FREED_TWICE);
        }
    }

    /// Ends the process if the list holds a block twice, or one that is free already or was never made.
    pub(crate) fn check_list(&self, list: List) {
        let mut block = NonNull::new(core::ptr::with_exposed_provenance_mut::<u8>(list.head));
        for _ in 0..list.count {
            let Some(here) = block else {
                os::die(FREED_TWICE);
            };
            self.check_formed(here);
            if self.is_free(here) {
                os::die(FREED_TWICE);
            }
            // SAFETY: blocks in the list are free, and their first words hold the links.
            block = NonNull::new(unsafe { here.cast::<*mut u8>().read() });
        }
        if block.is_some() || list.count > self.used.get() {
            os::die(FREED_TWICE);
        }
    }

    /// Whether the block is in the free list, which makes a second free of it an error.
    ///
    /// A block whose first word cannot be a link is not looked for; the very last of the list goes unnoticed.
    fn is_free(&self, block: NonNull<u8>) -> bool {
        let start = self.start().addr().get();
        // SAFETY: the first word of a block of ours, dead or alive, is mapped and aligned.
        let link = unsafe { block.cast::<usize>().read_volatile() };
        let offset = block.addr().get() - start;
        self.free.get().addr() == block.addr().get()
            || (start..start + self.bytes()).contains(&link)
                && !self.each_free(|free| free != offset)
    }
}
