//! An allocator that counts the bytes that the current thread holds, so that tests can bound the memory of a decoder.
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
    // An ending thread frees memory after its counters are gone. No test measures that.
    let _ = HELD.try_with(|held| {
        held.set(held.get() + size);
        let _ = PEAK.try_with(|peak| peak.set(peak.get().max(held.get())));
    });
}

// SAFETY: every call is passed to the system's allocator unchanged.
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

/// Runs `work`. Answers its result, and the most bytes that it held at one time.
pub fn peak_bytes<T>(work: impl FnOnce() -> T) -> (T, usize) {
    let before = HELD.get();
    PEAK.set(before);
    let result = work();
    (result, (PEAK.get() - before).cast_unsigned())
}
