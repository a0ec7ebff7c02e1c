//! One socket: a future that reads, answers and writes until there is a reason to close.
//!
//! The future runs on its shard's thread. Between polls it owns no buffer unless half a frame has arrived, messages
//! have to wait, or the client does not read its frames: input and replies pass through the shard's
//! [`Scratch`](super::shared::Scratch).

use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use muster_live::{CloseReason, Directive, KeepAlive, Millis};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::{Duration, Instant, Sleep, sleep_until};

use super::frame::{self, FrameError};
use super::handle::SocketHandle;
use super::input::Input;
use super::shared::{SocketShared, Traffic};
use super::work::{MessageHandler, Work};

pub(super) enum Phase {
    Open,
    /// A close frame was queued; the client's is awaited.
    Closing(CloseReason),
}

impl Phase {
    /// Whether the beginnings of frames are no longer known. Input is then thrown away until the client ends the
    /// connection.
    pub(super) fn has_lost_frames(&self) -> bool {
        matches!(self, Self::Closing(CloseReason::ProtocolError | CloseReason::MessageTooBig))
    }
}

/// The future of one socket. Resolves with the reason for which it closed.
pub struct Connection<S, H, T> {
    pub(super) io: S,
    pub(super) work: Work<H>,
    pub(super) handle: Rc<SocketHandle>,
    pub(super) shared: Rc<SocketShared<T>>,
    pub(super) keep_alive: KeepAlive,
    pub(super) phase: Phase,
    pub(super) input: Input,
    timer: Pin<Box<Sleep>>,
}

impl<S, H, T> Connection<S, H, T>
where
    S: AsyncRead + AsyncWrite + Unpin,
    H: MessageHandler + Unpin,
    T: Traffic,
{
    /// A socket whose handshake is done. `early` holds bytes that arrived behind the handshake.
    pub fn new(io: S, early: &[u8], work: Work<H>, handle: Rc<SocketHandle>, shared: Rc<SocketShared<T>>) -> Self {
        let started = shared.started;
        let keep_alive = KeepAlive::new(millis_since(started), &shared.limits.keep_alive);
        // The first poll sets the timer.
        let timer = Box::pin(sleep_until(started));
        Self { io, work, handle, shared, keep_alive, phase: Phase::Open, input: Input::new(early), timer }
    }

    /// The work that the socket's messages caused and that has not ended.
    pub fn into_work(self) -> Work<H> {
        self.work
    }

    pub(super) fn now(&self) -> Millis {
        millis_since(self.shared.started)
    }

    /// Queues a close frame and waits for the client's, for a while.
    pub(super) fn begin_close(&mut self, reason: CloseReason, code: u16, context: &mut Context<'_>) {
        if matches!(self.phase, Phase::Closing(_)) {
            return;
        }
        if reason == CloseReason::Panic {
            self.shared.traffic.panicked();
        }
        let mut bytes = Vec::new();
        let detail = self.handle.close_detail();
        frame::write_close(code, detail.as_deref().unwrap_or(reason.text()), &mut bytes);
        self.handle.note_close(reason);
        self.handle.release_held();
        self.handle.outbox().borrow_mut().push_unbounded(Bytes::from(bytes));
        self.phase = Phase::Closing(reason);
        self.input.await_close();
        self.set_timer(self.now() + self.shared.limits.close_ack_wait_ms, context);
    }

    pub(super) fn set_timer(&mut self, at: Millis, context: &mut Context<'_>) {
        let deadline = self.shared.started + Duration::from_millis(at);
        self.timer.as_mut().reset(deadline);
        if self.timer.as_mut().poll(context).is_ready() {
            context.waker().wake_by_ref();
        }
    }

    /// Sets the timer to `at` unless it is set to an earlier time.
    pub(super) fn wake_by(&mut self, at: Millis, context: &mut Context<'_>) {
        let is_earlier = self.timer.deadline() > self.shared.started + Duration::from_millis(at);
        if is_earlier {
            self.set_timer(at, context);
        }
    }

    /// Acts on timers that are due, and sets the timer for the next.
    fn run_timers(&mut self, context: &mut Context<'_>) -> Result<(), CloseReason> {
        while self.timer.as_mut().poll(context).is_ready() {
            if let Phase::Closing(reason) = self.phase {
                return Err(reason);
            }
            let now = self.now();
            if self.is_held() {
                // A client that is not read from cannot prove that it lives.
                self.keep_alive.received(now, 0);
            }
            match self.keep_alive.due(now, &self.shared.limits.keep_alive) {
                Directive::Wait(at) => {
                    let at = self.slowed_until().map_or(at, |slowed_until| at.min(slowed_until));
                    self.timer.as_mut().reset(self.shared.started + Duration::from_millis(at));
                }
                // Nobody is there to be told; the session may go on over another socket.
                Directive::Close(reason) if self.handle.resumption().is_some() => return Err(reason),
                Directive::Close(reason) => self.begin_close(reason, reason.code(), context),
                Directive::Ping => self.handle.push_ping(),
            }
        }
        Ok(())
    }

    /// Ends the way to the client once the close frame has left, if no answer to it is waited for.
    fn poll_shutdown(&mut self, context: &mut Context<'_>) -> Poll<CloseReason> {
        let Phase::Closing(reason) = self.phase else { return Poll::Pending };
        let is_answered = reason == CloseReason::ClientClosed;
        if !self.handle.outbox().borrow().is_empty() || !(is_answered || self.phase.has_lost_frames()) {
            return Poll::Pending;
        }
        let _ = ready!(Pin::new(&mut self.io).poll_shutdown(context));
        // Closing with unread bytes would reset the connection, and the reset may overtake the close frame.
        if is_answered { Poll::Ready(reason) } else { Poll::Pending }
    }

    /// Whether frames wait, and not so many that they should leave at once.
    fn may_put_off_writing(&self) -> bool {
        let outbox = self.handle.outbox().borrow();
        matches!(self.phase, Phase::Open)
            && !outbox.is_empty()
            && outbox.bytes() <= self.shared.limits.backlog_bytes_max
    }

    fn step(&mut self, context: &mut Context<'_>) -> Result<(), CloseReason> {
        self.handle.watch(context.waker());
        if self.handle.is_taken_over() {
            return Err(CloseReason::ConnectionLost);
        }
        if let Some(reason) = self.handle.close_requested() {
            self.begin_close(reason, reason.code(), context);
        }
        // Otherwise frames that wait leave together with the answers to what is read now.
        if self.handle.outbox().borrow().bytes() > self.shared.limits.backlog_bytes_max {
            self.flush(context)?;
        }
        let ended = self.receive(context).and_then(|()| self.run_timers(context));
        // Other sockets that were ready at the same time often have something for this one: once they were read, it
        // leaves in one write. A socket that is only pushed to is woken behind them anyway.
        if std::mem::take(&mut self.input.has_read) && ended.is_ok() && self.may_put_off_writing() {
            context.waker().wake_by_ref();
            return Ok(());
        }
        // Frames are flushed even if the socket ends: a client that only stopped sending still gets the frames that
        // wait for it.
        let flushed = self.flush(context);
        ended.and(flushed)?;
        if self.handle.push_question() {
            self.flush(context)?;
        }
        // Other sockets have their turn first. While too much waits for the client, the socket is woken when the client
        // has taken some.
        if self.input.is_cut_short && self.handle.outbox().borrow().bytes() <= self.shared.limits.backlog_bytes_max {
            context.waker().wake_by_ref();
        }
        Ok(())
    }
}

impl<S, H, T> Future for Connection<S, H, T>
where
    S: AsyncRead + AsyncWrite + Unpin,
    H: MessageHandler + Unpin,
    T: Traffic,
{
    type Output = CloseReason;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<CloseReason> {
        let this = self.get_mut();
        let Err(reason) = this.step(context) else {
            return this.poll_shutdown(context);
        };
        Poll::Ready(match this.phase {
            Phase::Closing(first) => first,
            Phase::Open => reason,
        })
    }
}

/// The way in which handling a frame ends the connection.
pub(super) enum ConnectionEnd {
    /// The connection ends at once.
    Now(CloseReason),
    /// The connection ends with a close frame of this code.
    Close(CloseReason, u16),
}

impl ConnectionEnd {
    pub(super) fn close(reason: CloseReason) -> Self {
        Self::Close(reason, reason.code())
    }
}

impl From<FrameError> for ConnectionEnd {
    fn from(error: FrameError) -> Self {
        Self::close(match error {
            FrameError::Protocol => CloseReason::ProtocolError,
            FrameError::TooBig => CloseReason::MessageTooBig,
        })
    }
}

fn millis_since(started: Instant) -> Millis {
    // 584 million years fit.
    started.elapsed().as_millis() as Millis
}
