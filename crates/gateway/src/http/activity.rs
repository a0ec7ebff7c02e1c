//! The present phase of an HTTP connection and its beginning, so that one timer, set late, can enforce all timeouts.
//!
//! The server library's own timeout is not used: it makes and drops a timer for each request, and there is none for
//! idle connections.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

use muster_live::Millis;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Instant;

use crate::config::HttpLimits;

/// The phases of a connection. Each but `Handling` has a timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// No request is under way.
    Idle,
    /// A request's head or body is arriving.
    Reading,
    /// The request is being handled. The connection has no timeout in this phase.
    Handling,
    /// The response is being sent, and the client takes no more of it at present.
    Writing,
}

/// The present phase, shared by a connection's I/O, its service and its timer. Atomic only because an upgrade requires
/// `Send`.
#[derive(Debug)]
pub struct Activity {
    started: Instant,
    /// The phase's beginning in milliseconds since `started`, times four, plus the phase's number.
    state: AtomicU64,
    /// The time by which the client must have read the counted answers that are on their way, in milliseconds since
    /// `started`; 0 while there are none.
    answer_due: AtomicU64,
    /// Number of such answers.
    answers: AtomicU64,
}

impl Activity {
    /// The activity of a connection that has just been accepted, and whose first request is expected.
    pub fn new(started: Instant) -> Self {
        let activity =
            Self { started, state: AtomicU64::new(0), answer_due: AtomicU64::new(0), answers: AtomicU64::new(0) };
        activity.enter(Phase::Reading);
        activity
    }

    /// Notes that `phase` begins now.
    pub fn enter(&self, phase: Phase) {
        self.state.store(self.now() << 2 | phase as u64, Ordering::Relaxed);
    }

    /// Notes that an answer of so many bytes is to be read, at the minimum rate.
    pub(super) fn answer_begins(&self, bytes: usize, limits: &HttpLimits) {
        self.answers.fetch_add(1, Ordering::Relaxed);
        if limits.answer_rate_min == 0 {
            return;
        }
        let needs_ms = bytes as u64 * 1_000 / limits.answer_rate_min;
        let begin = match self.answer_due.load(Ordering::Relaxed) {
            0 => self.now() + limits.write_timeout_ms,
            due => due,
        };
        self.answer_due.store(begin + needs_ms, Ordering::Relaxed);
    }

    /// Notes that the last byte of an answer has left.
    pub(super) fn answer_left(&self) {
        if self.answers.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.answer_due.store(0, Ordering::Relaxed);
        }
    }

    /// Whether the client reads more slowly than it must.
    pub fn is_answer_late(&self) -> bool {
        let due = self.answer_due.load(Ordering::Relaxed);
        due != 0 && self.now() >= due
    }

    fn now(&self) -> Millis {
        self.started.elapsed().as_millis() as Millis
    }

    fn phase(&self) -> (Phase, Millis) {
        let state = self.state.load(Ordering::Relaxed);
        let phase = match state & 3 {
            0 => Phase::Idle,
            1 => Phase::Reading,
            2 => Phase::Handling,
            _ => Phase::Writing,
        };
        (phase, state >> 2)
    }

    /// The time of the next check; `None` if the phase has lasted too long.
    pub fn next_check(&self, limits: &HttpLimits) -> Option<Instant> {
        if self.is_answer_late() {
            return None;
        }
        let (phase, since) = self.phase();
        let now = self.now();
        let allowed = match phase {
            Phase::Idle => limits.idle_timeout_ms,
            Phase::Reading => limits.read_timeout_ms,
            Phase::Writing => limits.write_timeout_ms,
            Phase::Handling => return Some(self.at(now + limits.read_timeout_ms)),
        };
        if now >= since + allowed {
            return None;
        }
        // A phase with a shorter timeout may begin before the next check, so the check is no later than the shortest
        // timeout.
        let shortest = limits.read_timeout_ms.min(limits.write_timeout_ms).max(1);
        let due = match self.answer_due.load(Ordering::Relaxed) {
            0 => Millis::MAX,
            due => due,
        };
        Some(self.at((since + allowed).min(now + shortest).min(due)))
    }

    fn at(&self, millis: Millis) -> Instant {
        self.started + tokio::time::Duration::from_millis(millis)
    }
}

/// A connection that notes its phase when it reads or writes.
#[derive(Debug)]
pub struct Watched<S> {
    /// The connection.
    pub io: S,
    /// The present phase.
    pub activity: Arc<Activity>,
}

impl<S: AsyncRead + Unpin> AsyncRead for Watched<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let outcome = Pin::new(&mut self.io).poll_read(context, buffer);
        if outcome.is_ready() && self.activity.phase().0 == Phase::Idle {
            self.activity.enter(Phase::Reading);
        }
        outcome
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Watched<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.io).poll_write(context, bytes);
        self.note_write(outcome.is_ready());
        outcome
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.io).poll_write_vectored(context, slices);
        self.note_write(outcome.is_ready());
        outcome
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(context)
    }
}

impl<S> Watched<S> {
    /// A write that makes progress puts the connection into `Idle`. A blocked write puts it into `Writing`, which keeps
    /// its beginning while further writes are blocked. The phases `Handling` and `Reading` stay.
    fn note_write(&self, is_progress: bool) {
        match (self.activity.phase().0, is_progress) {
            (Phase::Writing, false) | (Phase::Handling | Phase::Reading, _) => {}
            (_, true) => self.activity.enter(Phase::Idle),
            (Phase::Idle, false) => self.activity.enter(Phase::Writing),
        }
    }
}
