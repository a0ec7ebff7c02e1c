//! The memory of native stacks. Stacks belong to a thread and not to a machine, so a machine at rest has none: there
//! are as many as calls are under way.

use std::cell::RefCell;

use corosensei::stack::{DefaultStack, Stack};

/// Limit on the stacks that a thread keeps for later calls.
const KEPT_MAX: usize = 16;

/// Distance from the beginning of a stack to the page that tells whether a call went deep. A stack that was used beyond
/// it is not kept, because its pages would stay in memory.
const SHALLOW_BYTES: usize = 256 << 10;

/// Bytes of a stack that are looked at to see whether it was used there.
const MARK_BYTES: usize = 4 << 10;

thread_local! {
    static KEPT: RefCell<Vec<DefaultStack>> = const { RefCell::new(Vec::new()) };
}

/// Number of bytes from a stack's beginning to its end, including the guard page.
fn bytes(stack: &DefaultStack) -> usize {
    stack.base().get() - stack.limit().get()
}

/// A stack of at least so many bytes: one that the thread kept, or a new one.
///
/// # Errors
/// When the system has no address space left.
pub(super) fn take(wanted: usize) -> std::io::Result<DefaultStack> {
    let kept = KEPT.with_borrow_mut(|kept| {
        // Each language has one size, and a stack is at most a few pages larger than it was asked for.
        let index = kept.iter().rposition(|stack| (wanted..wanted + SHALLOW_BYTES).contains(&bytes(stack)));
        index.map(|index| kept.swap_remove(index))
    });
    kept.map_or_else(|| DefaultStack::new(wanted), Ok)
}

/// Keeps a stack on which no code runs any more for later calls, unless there are enough or a call went deep on it.
pub(super) fn give_back(stack: DefaultStack) {
    // Nothing is kept for a thread that ends.
    let _ = KEPT.try_with(|kept| {
        let mut kept = kept.borrow_mut();
        if kept.len() < KEPT_MAX && !was_deep(&stack) {
            kept.push(stack);
        }
    });
}

/// Whether code was [`SHALLOW_BYTES`] or more deep on a stack. Pages that were never used read as zero.
#[expect(unsafe_code, reason = "the memory of a stack is looked at from outside")]
fn was_deep(stack: &DefaultStack) -> bool {
    if bytes(stack) < 2 * SHALLOW_BYTES {
        return false;
    }
    let mark = std::ptr::with_exposed_provenance::<u64>(stack.base().get() - SHALLOW_BYTES - MARK_BYTES);
    // SAFETY: the words lie within the stack, above its guard page, and no code runs on it.
    (0..MARK_BYTES / size_of::<u64>()).any(|word| unsafe { mark.add(word).read_volatile() } != 0)
}

#[cfg(test)]
mod tests {
    use corosensei::{Coroutine, Yielder};

    use super::*;

    const BYTES: usize = 16 << 20;

    /// Runs a function on a stack of the thread.
    fn run(body: impl FnOnce() + 'static) {
        let stack = take(BYTES).unwrap();
        let mut code = Coroutine::<(), (), (), _>::with_stack(stack, move |_: &Yielder<(), ()>, ()| body());
        code.resume(());
        give_back(code.into_stack());
    }

    fn kept() -> usize {
        KEPT.with_borrow(Vec::len)
    }

    /// Uses a stack down to a depth.
    fn dig(bytes: usize) {
        let page = std::hint::black_box([1_u8; 1024]);
        if bytes > 1024 {
            dig(bytes - 1024);
        }
        std::hint::black_box(page);
    }

    #[test]
    fn stacks_are_kept_unless_a_call_went_deep() {
        run(|| dig(10 << 10));
        assert_eq!(kept(), 1);
        run(|| dig(10 << 10));
        assert_eq!(kept(), 1, "the second call had the stack of the first one");
        run(|| dig(512 << 10));
        assert_eq!(kept(), 0, "pages of deep calls are given back to the system");
    }

    #[test]
    fn a_thread_keeps_so_many() {
        let stacks: Vec<_> = (0..KEPT_MAX + 3).map(|_| take(BYTES).unwrap()).collect();
        stacks.into_iter().for_each(give_back);
        assert_eq!(kept(), KEPT_MAX);
        let larger = take(2 * BYTES).unwrap();
        assert!(bytes(&larger) >= 2 * BYTES, "sizes are not mixed up");
    }
}
