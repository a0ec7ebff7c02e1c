//! Frames on their way to an instance, and the waiting and waking of the instance's thread.
//!
//! The number of frames is bounded by the senders that wait: calls by [`CALLS_MAX`](super::call_table::CALLS_MAX),
//! callbacks by the number of matches, answers by [`HOST_CALLS_MAX`](super::call_table::HOST_CALLS_MAX).

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};
use std::time::Instant;

/// Spawns a task on the shard of the calling thread, behind the tasks that are ready there.
pub(super) type Spawn = fn(Pin<Box<dyn Future<Output = ()>>>);

/// The mailbox of one instance thread.
pub(super) struct Mailbox {
    inner: Mutex<Inner>,
    has_mail: Condvar,
    spawn: Spawn,
}

#[derive(Default)]
struct Inner {
    frames: VecDeque<Vec<u8>>,
    /// Serial number of the instance that the frames are for.
    incarnation: u32,
    /// Whether the instance's thread waits for a frame.
    is_awaited: bool,
    /// The shard that has a task which will wake the thread.
    woken_soon_by: Option<ThreadId>,
    is_closed: bool,
}

/// Wakes the instance's thread when it is dropped. A task drops it when it runs; a shard that drops the task without
/// running it does so too.
struct WakeLater(Arc<Mailbox>);

impl Drop for WakeLater {
    fn drop(&mut self) {
        let mut inner = self.0.lock();
        inner.woken_soon_by = None;
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

    /// Posts a frame to the instance with this number, or to any instance. Returns whether it was posted.
    pub(super) fn post(&self, incarnation: Option<u32>, frame: Vec<u8>) -> bool {
        let mut inner = self.lock();
        let is_its = incarnation.is_none_or(|incarnation| incarnation == inner.incarnation);
        if is_its {
            inner.frames.push_back(frame);
            self.wake(&mut inner);
        }
        is_its
    }

    /// Posts a frame from a shard. The thread is woken after the shard has run its ready tasks, so that it works off
    /// many frames for one waking.
    pub(super) fn post_soon(self: &Arc<Self>, incarnation: u32, frame: Vec<u8>) -> bool {
        let mut inner = self.lock();
        let is_its = incarnation == inner.incarnation;
        if is_its {
            inner.frames.push_back(frame);
            let me = thread::current().id();
            match inner.woken_soon_by {
                // The other shard's ready tasks may take long, so the thread is woken at once.
                Some(by) if by != me => self.wake(&mut inner),
                None if inner.is_awaited => {
                    inner.woken_soon_by = Some(me);
                    drop(inner);
                    let wake_later = WakeLater(self.clone());
                    (self.spawn)(Box::pin(async move { drop(wake_later) }));
                }
                _ => {}
            }
        }
        is_its
    }

    /// Tells the thread to end.
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

/// Functions for the instance's thread.
impl Mailbox {
    /// Starts an instance with its first frame, and drops all other frames. Returns the instance's serial number.
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

    /// Waits for a frame until a moment at most. Returns whether there is one; `None` when the thread is to end.
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

    /// Waits until the moment `until`, before another instance starts. Returns false when the thread is to end.
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

    /// Advances the serial number as if another instance had started.
    #[cfg(test)]
    pub(super) fn pass_over(&self) {
        self.lock().incarnation += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Makes a mailbox whose thread waits, and checks that what `post` does there wakes the thread.
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
        // The shard drops the task.
        let mailbox = waited_for(drop, |mailbox, incarnation| {
            assert!(mailbox.post_soon(incarnation, b"frame".to_vec()));
            assert!(!mailbox.post_soon(incarnation + 1, Vec::new()));
        });
        assert_eq!(mailbox.lock().woken_soon_by, None);
    }

    #[test]
    fn a_shard_does_not_wait_for_what_another_has_to_do_first() {
        // The shard never runs the task.
        waited_for(std::mem::forget, |mailbox, incarnation| {
            assert!(mailbox.post_soon(incarnation, b"one shard's".to_vec()));
            assert!(mailbox.lock().is_awaited, "the thread is woken when the shard has time");
            thread::scope(|scope| {
                scope.spawn(|| mailbox.post_soon(incarnation, b"another's".to_vec()));
            });
        });
    }
}
