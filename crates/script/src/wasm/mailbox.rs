//! Frames on their way to an instance, and the thread that waits for them.
//!
//! What lies here is bounded by what its senders wait for: calls by [`CALLS_MAX`](super::lane::CALLS_MAX), callbacks by the
//! matches there are, answers by [`ASKED_MAX`](super::lane::ASKED_MAX).

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};
use std::time::Instant;

/// Runs something on the shard of the calling thread, behind what is ready there.
pub(super) type Spawn = fn(Pin<Box<dyn Future<Output = ()>>>);

/// See the module.
pub(super) struct Mailbox {
    inner: Mutex<Inner>,
    has_mail: Condvar,
    spawn: Spawn,
}

#[derive(Default)]
struct Inner {
    frames: VecDeque<Vec<u8>>,
    /// The how manieth instance it is for.
    incarnation: u32,
    /// The thread waits.
    is_awaited: bool,
    /// The shard that is about to wake it.
    rung_soon_by: Option<ThreadId>,
    is_closed: bool,
}

/// Wakes the thread, also when this is dropped without having run.
struct Ring(Arc<Mailbox>);

impl Drop for Ring {
    fn drop(&mut self) {
        let mut inner = self.0.lock();
        inner.rung_soon_by = None;
        if !inner.frames.is_empty() {
            self.0.wake(&mut inner);
        }
    }
}

impl Mailbox {
    pub(super) fn new(spawn: Spawn) -> Self {
        Self { inner: Mutex::default(), has_mail: Condvar::new(), spawn }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wake(&self, inner: &mut Inner) {
        if inner.is_awaited {
            inner.is_awaited = false;
            self.has_mail.notify_one();
        }
    }

    /// Puts a frame on its way, to this instance or whichever there is. Answers whether it is there.
    pub(super) fn post(&self, incarnation: Option<u32>, frame: Vec<u8>) -> bool {
        let mut inner = self.lock();
        let is_its = incarnation.is_none_or(|incarnation| incarnation == inner.incarnation);
        if is_its {
            inner.frames.push_back(frame);
            self.wake(&mut inner);
        }
        is_its
    }

    /// The same, on a shard. The thread is woken when the shard has done what is ready: it works off many frames for one waking.
    pub(super) fn post_soon(self: &Arc<Self>, incarnation: u32, frame: Vec<u8>) -> bool {
        let mut inner = self.lock();
        let is_its = incarnation == inner.incarnation;
        if is_its {
            inner.frames.push_back(frame);
            let me = thread::current().id();
            match inner.rung_soon_by {
                // What another shard has to do first may take long.
                Some(by) if by != me => self.wake(&mut inner),
                None if inner.is_awaited => {
                    inner.rung_soon_by = Some(me);
                    drop(inner);
                    let ring = Ring(self.clone());
                    (self.spawn)(Box::pin(async move { drop(ring) }));
                }
                _ => {}
            }
        }
        is_its
    }

    /// The thread has nothing to do any more.
    pub(super) fn close(&self) {
        let mut inner = self.lock();
        inner.is_closed = true;
        inner.is_awaited = false;
        self.has_mail.notify_one();
    }

    pub(super) fn is_closed(&self) -> bool {
        self.lock().is_closed
    }
}

/// What the instance's thread does.
impl Mailbox {
    /// An instance starts, whose first frame is this. Answers the how manieth it is.
    pub(super) fn start(&self, hello: Vec<u8>) -> u32 {
        let mut inner = self.lock();
        inner.incarnation += 1;
        inner.frames = VecDeque::from([hello]);
        inner.incarnation
    }

    /// The next frame, if there is one.
    pub(super) fn next(&self) -> Option<Vec<u8>> {
        self.lock().frames.pop_front()
    }

    /// Waits for a frame, to this moment at most. Answers whether there is one; nothing when the thread is to end.
    pub(super) fn wait(&self, until: Option<Instant>) -> Option<bool> {
        let mut inner = self.lock();
        loop {
            if inner.is_closed {
                return None;
            }
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            let has_mail = !inner.frames.is_empty();
            if has_mail || left.is_some_and(|left| left.is_zero()) {
                inner.is_awaited = false;
                return Some(has_mail);
            }
            inner.is_awaited = true;
            inner = match left {
                None => self.has_mail.wait(inner).unwrap_or_else(PoisonError::into_inner),
                Some(left) => self.has_mail.wait_timeout(inner, left).unwrap_or_else(PoisonError::into_inner).0,
            };
        }
    }

    /// Waits before another instance is started. Answers whether one is to be.
    pub(super) fn pause(&self, until: Instant) -> bool {
        let mut inner = self.lock();
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if inner.is_closed || left.is_zero() {
                return !inner.is_closed;
            }
            inner = self.has_mail.wait_timeout(inner, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// As if another instance had started.
    #[cfg(test)]
    pub(super) fn pass_over(&self) {
        self.lock().incarnation += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A mailbox whose thread waits, and what it is to post there; the thread is woken by then.
    fn waited_for(spawn: Spawn, post: impl FnOnce(&Arc<Mailbox>, u32)) -> Arc<Mailbox> {
        let mailbox = Arc::new(Mailbox::new(spawn));
        let incarnation = mailbox.start(b"hello".to_vec());
        assert_eq!(mailbox.next(), Some(b"hello".to_vec()));
        thread::scope(|scope| {
            let waits = scope.spawn(|| mailbox.wait(None));
            while !mailbox.lock().is_awaited {
                thread::yield_now();
            }
            post(&mailbox, incarnation);
            assert_eq!(waits.join().unwrap(), Some(true));
        });
        mailbox
    }

    #[test]
    fn a_thread_is_woken_by_what_is_posted_soon_even_if_the_shard_ends_before() {
        // What the shard was to run is dropped.
        let mailbox = waited_for(drop, |mailbox, incarnation| {
            assert!(mailbox.post_soon(incarnation, b"frame".to_vec()));
            assert!(!mailbox.post_soon(incarnation + 1, Vec::new()));
        });
        assert_eq!(mailbox.lock().rung_soon_by, None);
    }

    #[test]
    fn a_shard_does_not_wait_for_what_another_has_to_do_first() {
        // What a shard is to run waits for ever.
        waited_for(std::mem::forget, |mailbox, incarnation| {
            assert!(mailbox.post_soon(incarnation, b"one shard's".to_vec()));
            assert!(mailbox.lock().is_awaited, "it is rung when that has time");
            thread::scope(|scope| {
                scope.spawn(|| mailbox.post_soon(incarnation, b"another's".to_vec()));
            });
        });
    }
}
