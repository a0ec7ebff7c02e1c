//! A bounded queue between shards and the threads that own a connection. Pushing never waits: a full queue refuses.
//!
//! The queue has one lock. It is held while a few pointers move, and never while a job runs.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// A bounded queue, see the module.
pub(super) struct Queue<T> {
    len_max: usize,
    state: Mutex<State<T>>,
    arrived: Condvar,
}

struct State<T> {
    items: VecDeque<T>,
    closed: bool,
    /// Number of threads that wait for an item; if there are none, no thread need be woken.
    waiting: usize,
    /// Set while a [`Wake`] exists that is not dropped yet.
    wake_due: bool,
    /// Number of threads that take items.
    workers: usize,
}

/// A thread that takes items. When the last one ends, even by a panic, the queue closes and its remaining items are
/// dropped. Their callers notice that, so that nobody waits for an answer that never comes.
pub(super) struct Worker<'a, T>(&'a Queue<T>);

impl<T> Drop for Worker<'_, T> {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.workers -= 1;
        if state.workers == 0 {
            state.closed = true;
            let left = std::mem::take(&mut state.items);
            drop(state);
            drop(left);
        }
    }
}

/// Wakes a thread when it is dropped.
#[must_use = "dropped at once it wakes a thread for a single item"]
pub(super) struct Wake<'a, T>(&'a Queue<T>);

impl<T> Drop for Wake<'_, T> {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.wake_due = false;
        let wake = !state.items.is_empty() && state.waiting > 0;
        drop(state);
        if wake {
            self.0.arrived.notify_one();
        }
    }
}

/// The reason why an item was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refused {
    Full,
    Closed,
}

impl<T> Queue<T> {
    pub(super) fn new(len_max: usize) -> Self {
        let state = State { items: VecDeque::new(), closed: false, waiting: 0, wake_due: false, workers: 0 };
        Self { len_max, state: Mutex::new(state), arrived: Condvar::new() }
    }

    /// Counts the calling thread among the threads that take items.
    pub(super) fn work(&self) -> Worker<'_, T> {
        self.lock().workers += 1;
        Worker(self)
    }

    /// Adds an item behind all others. If a thread has to be woken, the answer is a [`Wake`], which wakes the thread
    /// when it is dropped. The later it is dropped, the more items one wake serves.
    pub(super) fn push(&self, item: T) -> Result<Option<Wake<'_, T>>, Refused> {
        let mut state = self.lock();
        if state.closed {
            return Err(Refused::Closed);
        }
        if state.items.len() >= self.len_max {
            return Err(Refused::Full);
        }
        state.items.push_back(item);
        if state.waiting == 0 || state.wake_due {
            return Ok(None);
        }
        state.wake_due = true;
        Ok(Some(Wake(self)))
    }

    /// Waits for items and moves up to `len_max` of them into `taken`. `false` means that the queue is closed and
    /// empty.
    pub(super) fn take(&self, taken: &mut Vec<T>, len_max: usize) -> bool {
        let mut state = self.lock();
        while state.items.is_empty() {
            if state.closed {
                return false;
            }
            state.waiting += 1;
            state = self.arrived.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.waiting -= 1;
        }
        let len = state.items.len().min(len_max);
        taken.extend(state.items.drain(..len));
        // The remaining items are work for another thread.
        let wake_next = !state.items.is_empty() && state.waiting > 0;
        drop(state);
        if wake_next {
            self.arrived.notify_one();
        }
        true
    }

    /// Refuses new items from now on; items in the queue are still handed out.
    pub(super) fn close(&self) {
        self.lock().closed = true;
        self.arrived.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State<T>> {
        // No code that could panic runs under the lock, so the state is whole even if a thread died.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refuses_when_full_and_hands_out_the_rest_when_closed() {
        let queue = Queue::new(2);
        let push = |item| queue.push(item).map(drop);
        assert_eq!([push(1), push(2), push(3)], [Ok(()), Ok(()), Err(Refused::Full)]);
        queue.close();
        assert_eq!(push(4), Err(Refused::Closed));
        let mut taken = Vec::new();
        assert!(queue.take(&mut taken, 1) && queue.take(&mut taken, 9));
        assert_eq!(taken, [1, 2]);
        assert!(!queue.take(&mut taken, 1));
    }

    #[test]
    fn one_wake_serves_all_that_came_before_it() {
        let queue = Queue::new(9);
        std::thread::scope(|scope| {
            let taker = scope.spawn(|| {
                let mut taken = Vec::new();
                assert!(queue.take(&mut taken, 9));
                taken
            });
            while queue.lock().waiting == 0 {
                std::thread::yield_now();
            }
            let wake = queue.push(1).unwrap();
            assert!(wake.is_some(), "the first item wakes");
            assert!(queue.push(2).unwrap().is_none(), "the next need not");
            drop(wake);
            assert_eq!(taker.join().unwrap(), [1, 2]);
        });
    }

    #[test]
    fn nobody_waits_for_threads_that_are_gone() {
        let queue = Queue::new(2);
        let item = std::sync::Arc::new(());
        let (first, second) = (queue.work(), queue.work());
        drop(first);
        assert!(queue.push(item.clone()).is_ok());
        assert_eq!(std::sync::Arc::strong_count(&item), 2);
        let died = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let _worker = second;
            std::panic::resume_unwind(Box::new(()));
        }));
        assert!(died.is_err());
        assert_eq!(std::sync::Arc::strong_count(&item), 1, "dropped with the last thread");
        assert_eq!(queue.push(item).map(drop), Err(Refused::Closed));
    }
}
