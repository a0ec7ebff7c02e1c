//! The memory of a machine. QuickJS says in no other way than by throwing null that it found no memory for an error, so
//! the allocator notes that it refused memory: null that game code throws is told from that.

#![expect(unsafe_code, reason = "QuickJS takes its memory by pointers")]

use std::alloc::{Layout, alloc, alloc_zeroed, dealloc, realloc};
use std::cell::Cell;
use std::ptr::null_mut;
use std::rc::Rc;

use rquickjs::allocator::Allocator;

/// Bytes in front of each block, which hold its size.
const HEADER_BYTES: usize = 16;

/// The memory of a machine that is in use.
#[derive(Default)]
pub(super) struct Memory {
    bytes: Cell<usize>,
    bytes_max: usize,
    was_refused: Cell<bool>,
}

impl Memory {
    /// Memory of so many bytes at most.
    pub(super) fn new(bytes_max: usize) -> Rc<Self> {
        Rc::new(Self { bytes_max, ..Self::default() })
    }

    /// Bytes that are in use.
    pub(super) fn bytes(&self) -> usize {
        self.bytes.get()
    }

    /// Whether the machine was refused memory since this was asked before.
    pub(super) fn take_refused(&self) -> bool {
        self.was_refused.take()
    }

    /// Whether a block may take the place of another one, of no bytes if there is none.
    fn may_grow(&self, before: usize, after: usize) -> bool {
        let is_fine = (self.bytes.get() - before).checked_add(after).is_some_and(|bytes| bytes <= self.bytes_max);
        if !is_fine {
            self.was_refused.set(true);
        }
        is_fine
    }

    fn note(&self, before: usize, after: usize) {
        self.bytes.set(self.bytes.get() - before + after);
    }
}

/// The allocator of a machine.
pub(super) struct MachineAllocator(pub(super) Rc<Memory>);

/// The layout of a block of so many bytes behind its header; `None` if there can be no such block.
fn layout(bytes: usize) -> Option<Layout> {
    Layout::from_size_align(bytes.checked_add(HEADER_BYTES)?, HEADER_BYTES).ok()
}

/// The number of bytes that the header of a block says.
///
/// # Safety
/// The block must be one of this allocator.
unsafe fn size(block: *mut u8) -> usize {
    // SAFETY: the header stands in front of each block, and is aligned as the block is.
    unsafe { block.sub(HEADER_BYTES).cast::<usize>().read() }
}

impl MachineAllocator {
    /// Writes the header of a fresh block.
    fn begun(&self, start: *mut u8, before: usize, bytes: usize) -> *mut u8 {
        if start.is_null() {
            self.0.was_refused.set(true);
            return null_mut();
        }
        self.0.note(before, bytes);
        // SAFETY: the allocation begins with room for the header, and is aligned for it.
        unsafe {
            start.cast::<usize>().write(bytes);
            start.add(HEADER_BYTES)
        }
    }

    fn fresh(&self, bytes: usize, make: unsafe fn(Layout) -> *mut u8) -> *mut u8 {
        match layout(bytes) {
            // SAFETY: the layout has room for the header at least.
            Some(layout) if self.0.may_grow(0, bytes) => self.begun(unsafe { make(layout) }, 0, bytes),
            _ => null_mut(),
        }
    }
}

// SAFETY: blocks have the asked size, are aligned to 16 bytes, and tell their size from their header.
unsafe impl Allocator for MachineAllocator {
    fn alloc(&mut self, bytes: usize) -> *mut u8 {
        self.fresh(bytes, alloc)
    }

    fn calloc(&mut self, count: usize, bytes: usize) -> *mut u8 {
        count.checked_mul(bytes).map_or(null_mut(), |bytes| self.fresh(bytes, alloc_zeroed))
    }

    unsafe fn dealloc(&mut self, block: *mut u8) {
        // SAFETY: the caller passes a block of this allocator.
        let bytes = unsafe { size(block) };
        let Some(layout) = layout(bytes) else { return };
        self.0.note(bytes, 0);
        // SAFETY: the block was made with this layout, which begins at its header.
        unsafe { dealloc(block.sub(HEADER_BYTES), layout) };
    }

    unsafe fn realloc(&mut self, block: *mut u8, bytes: usize) -> *mut u8 {
        if block.is_null() {
            return self.alloc(bytes);
        }
        // SAFETY: the caller passes a block of this allocator.
        let before = unsafe { size(block) };
        let (Some(old), Some(new)) = (layout(before), layout(bytes)) else { return null_mut() };
        if !self.0.may_grow(before, bytes) {
            return null_mut();
        }
        // SAFETY: the block was made with the old layout, which begins at its header; the new size is not zero.
        let start = unsafe { realloc(block.sub(HEADER_BYTES), old, new.size()) };
        self.begun(start, before, bytes)
    }

    unsafe fn usable_size(block: *mut u8) -> usize {
        // SAFETY: the caller passes a block of this allocator.
        unsafe { size(block) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_counted_and_refused_beyond_its_limit() {
        let memory = Memory::new(1_000);
        let mut allocator = MachineAllocator(memory.clone());
        let first = allocator.alloc(600);
        assert!(allocator.alloc(600).is_null());
        assert_eq!((memory.bytes(), memory.take_refused(), memory.take_refused()), (600, true, false));
        // SAFETY: the blocks are those of the allocator, and each is given back once.
        unsafe {
            first.add(599).write(7);
            let larger = allocator.realloc(first, 900);
            assert_eq!((larger.add(599).read(), MachineAllocator::usable_size(larger)), (7, 900));
            assert!(allocator.realloc(larger, 1_100).is_null(), "the block stays as it is");
            assert!(allocator.calloc(usize::MAX, 2).is_null());
            let zeros = allocator.calloc(10, 10);
            assert_eq!((zeros.add(99).read(), memory.bytes()), (0, 1_000));
            allocator.dealloc(larger);
            allocator.dealloc(zeros);
        }
        assert_eq!(memory.bytes(), 0);
    }
}
