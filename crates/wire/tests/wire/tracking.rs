//! An allocator that counts what the current thread holds, so that tests can bound what a decoder asks for.
// A global allocator cannot be written without unsafe code; this one only counts and passes on.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

struct Tracking;

#[global_allocator]
static ALLOCATOR: Tracking = Tracking;

thread_local! {
    static HELD: Cell<isize> = const { Cell::new(0) };
    static PEAK: Cell<isize> = const { Cell::new(0) };
}

fn add(size: isize) {
    // A thread that ends frees memory after its counters are gone; that is no one's test.
    let _ = HELD.try_with(|held| {
        held.set(held.get() + size);
        let _ = PEAK.try_with(|peak| peak.set(peak.get().max(held.get())));
    });
}

// SAFETY: every call goes to the system's allocator unchanged.
unsafe impl GlobalAlloc for Tracking {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        add(layout.size().cast_signed());
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        add(-layout.size().cast_signed());
        unsafe { System.dealloc(pointer, layout) }
    }
}

/// Runs `work` and tells how many bytes it held at most at one time.
pub fn peak_bytes<T>(work: impl FnOnce() -> T) -> (T, usize) {
    let before = HELD.get();
    PEAK.set(before);
    let result = work();
    (result, (PEAK.get() - before).cast_unsigned())
}
