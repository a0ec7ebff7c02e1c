//! The code that an input reaches, for programs that are built to count it (`tests/fuzz/README.md` has the flags).
//! Other programs count nothing, and every accepted input is changed further in place of those that reach new code.
// The compiler hands the counters over as pointers.
#![allow(unsafe_code)]

use std::slice::from_raw_parts_mut;
use std::sync::Mutex;

/// The counters of each instrumented part of the program, as address and length: one byte for each edge between two
/// blocks of code.
static COUNTERS: Mutex<Vec<(usize, usize)>> = Mutex::new(Vec::new());

/// Takes counters. Code that the compiler instruments calls this function before `main`.
///
/// # Safety
/// The counters must stay where they are.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __sanitizer_cov_8bit_counters_init(start: *mut u8, stop: *mut u8) {
    if let Ok(mut counters) = COUNTERS.lock() {
        let address = start.expose_provenance();
        counters.push((address, stop.addr() - address));
    }
}

/// Takes the addresses of code that belong to the counters, which nobody needs here.
#[unsafe(no_mangle)]
pub extern "C" fn __sanitizer_cov_pcs_init(_: *const usize, _: *const usize) {}

fn each(mut see: impl FnMut(usize, &mut u8)) {
    let counters = COUNTERS.lock().map(|counters| counters.clone()).unwrap_or_default();
    let mut edge = 0;
    for (start, length) in counters {
        // SAFETY: the program handed these bytes over for good. Another thread may count at the same time: a count that
        // is lost then matters to nobody.
        let part = unsafe { from_raw_parts_mut(std::ptr::with_exposed_provenance_mut::<u8>(start), length) };
        for counter in part {
            see(edge, counter);
            edge += 1;
        }
    }
}

/// Sets all counters to zero.
pub(super) fn clear() {
    each(|_, counter| *counter = 0);
}

/// The edges that were seen so far, each with a bit for each power of two of its count.
#[derive(Default)]
pub(super) struct Seen(Vec<u8>);

impl Seen {
    /// Whether the last input reached an edge, or reached it so often, as none did before; `None` in programs that do
    /// not count.
    pub(super) fn take_new(&mut self) -> Option<bool> {
        let (mut is_new, mut is_counted) = (false, false);
        each(|edge, counter| {
            is_counted = true;
            if *counter == 0 {
                return;
            }
            if self.0.len() <= edge {
                self.0.resize(edge + 1, 0);
            }
            let bit = 1 << counter.ilog2();
            is_new |= self.0[edge] & bit == 0;
            self.0[edge] |= bit;
        });
        is_counted.then_some(is_new)
    }

    /// Number of edges that were seen.
    pub(super) fn edges(&self) -> usize {
        self.0.iter().filter(|bits| **bits != 0).count()
    }
}
