//! A bounded queue between shards and the threads that own a connection. Pushing never waits: a full queue refuses.
//!
//! One lock, held for a few moves of pointers and never while a job runs.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// See the module.
pub(super) struct Queue<T> {
    len_max: usize,
    state: Mutex<State<T>>,
    arrived: Condvar,
}

struct State<T> {
    items: VecDeque<T>,
    closed: bool,
    /// Threads waiting for an item: none need be woken when there are none.
    waiting: usize,
}

/// Why an item was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refused {
    Full,
    Closed,
}

impl<T> Queue<T> {
    pub(super) fn new(len_max: usize) -> Self {
        let state = State { items: VecDeque::new(), closed: false, waiting: 0 };
        Self { len_max, state: Mutex::new(state), arrived: Condvar::new() }
    }

    /// Adds an item behind all others.
    pub(super) fn push(&self, item: T) -> Result<(), Refused> {
        let mut state = self.lock();
        if state.closed {
            return Err(Refused::Closed);
        }
        if state.items.len() >= self.len_max {
            return Err(Refused::Full);
        }
        state.items.push_back(item);
        let wake = state.waiting > 0;
        drop(state);
        if wake {
            self.arrived.notify_one();
        }
        Ok(())
    }

    /// Waits for items and moves up to `len_max` of them into `taken`; `false` when closed and empty.
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
        true
    }

    /// Refuses new items; those inside are still handed out.
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
        assert_eq!([queue.push(1), queue.push(2), queue.push(3)], [Ok(()), Ok(()), Err(Refused::Full)]);
        queue.close();
        assert_eq!(queue.push(4), Err(Refused::Closed));
        let mut taken = Vec::new();
        assert!(queue.take(&mut taken, 1) && queue.take(&mut taken, 9));
        assert_eq!(taken, [1, 2]);
        assert!(!queue.take(&mut taken, 1));
    }
}
