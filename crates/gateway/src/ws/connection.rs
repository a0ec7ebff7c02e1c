//! One socket: a future that reads, answers and writes until there is a reason to close.
//!
//! It runs on its shard's thread. Between polls it owns no buffer unless half a frame has arrived or the client
//! does not take what is sent: input and replies pass through the shard's [`Scratch`].

use std::cell::RefCell;
use std::future::Future;
use std::io::IoSlice;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use muster_live::{CloseReason, Directive, KeepAlive, KeepAliveConfig, Millis};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Duration, Instant, Sleep, sleep_until};

use super::frame::{self, FrameError, Header, Opcode};
use super::handle::SocketHandle;

/// Bytes read from one socket before the others of its shard have their turn.
const READ_TURNS_MAX: u32 = 8;
/// Slices given to one write.
const WRITE_SLICES_MAX: usize = 32;

/// What a session does with a message.
pub trait MessageHandler {
    /// Handles one message and appends the payload of the reply, if any, to `reply`.
    ///
    /// Errors: the reason to close the socket, after what `reply` holds.
    fn message(&mut self, payload: &[u8], reply: &mut Vec<u8>) -> Result<(), CloseReason>;

    /// The type of frame that this session's format travels in.
    fn opcode(&self) -> Opcode;
}

/// Buffers that all sockets of a shard share, one poll at a time.
pub struct Scratch {
    input: Vec<u8>,
    output: Vec<u8>,
    reply: Vec<u8>,
}

impl Scratch {
    /// Buffers that hold a message of `message_bytes_max` with its header.
    pub fn new(message_bytes_max: usize) -> Self {
        const INPUT_BYTES_MIN: usize = 64 * 1024;
        const HEADER_BYTES_MAX: usize = 14;
        let input_len = INPUT_BYTES_MIN.max(message_bytes_max + HEADER_BYTES_MAX);
        Self { input: vec![0; input_len], output: Vec::new(), reply: Vec::new() }
    }
}

/// The limits of a socket, under their configuration names.
#[derive(Clone, Copy, Debug)]
pub struct SocketLimits {
    /// `socket.max_message_size_bytes`.
    pub message_bytes_max: usize,
    /// Unread replies beyond which a socket is not read: `socket.outgoing_queue_bytes`.
    pub backlog_bytes_max: usize,
    /// `socket.close_ack_wait_ms`.
    pub close_ack_wait_ms: Millis,
    /// Timeouts.
    pub keep_alive: KeepAliveConfig,
}

/// Traffic counters of one poll, for the shard's metrics.
pub trait Traffic {
    /// Whole messages and bytes received.
    fn received(&self, messages: u64, bytes: u64);
    /// Bytes sent.
    fn sent(&self, bytes: u64);
    /// A panic was caught.
    fn panicked(&self);
}

/// What connections of one shard share.
pub struct SocketShared<T> {
    /// See [`Scratch`].
    pub scratch: RefCell<Scratch>,
    /// See [`SocketLimits`].
    pub limits: SocketLimits,
    /// Counters.
    pub traffic: T,
    /// The zero of the sockets' clock.
    pub started: Instant,
}

enum Phase {
    Open,
    /// A close frame was queued; the client's is awaited.
    Closing(CloseReason),
}

impl Phase {
    /// Whether where frames begin is no longer known: what arrives is thrown away, until the client ends it.
    fn has_lost_frames(&self) -> bool {
        matches!(self, Self::Closing(CloseReason::ProtocolError | CloseReason::MessageTooBig))
    }
}

/// The future of one socket. Resolves with the reason for which it closed.
pub struct Connection<S, H, T> {
    io: S,
    handler: H,
    handle: Rc<SocketHandle>,
    shared: Rc<SocketShared<T>>,
    keep_alive: KeepAlive,
    phase: Phase,
    /// Bytes of a frame that has not arrived whole.
    partial: Vec<u8>,
    /// Whether `partial` was not looked at yet and may hold whole frames.
    has_unhandled: bool,
    /// Payloads of a message whose last fragment has not arrived.
    fragments: Vec<u8>,
    is_fragmented: bool,
    timer: Pin<Box<Sleep>>,
}

impl<S, H, T> Connection<S, H, T>
where
    S: AsyncRead + AsyncWrite + Unpin,
    H: MessageHandler + Unpin,
    T: Traffic,
{
    /// A socket whose handshake is done. `early` holds bytes that arrived behind the handshake.
    pub fn new(io: S, early: &[u8], handler: H, handle: Rc<SocketHandle>, shared: Rc<SocketShared<T>>) -> Self {
        let started = shared.started;
        let keep_alive = KeepAlive::new(millis_since(started), &shared.limits.keep_alive);
        // The first poll sets the timer.
        let timer = Box::pin(sleep_until(started));
        Self {
            io,
            handler,
            handle,
            shared,
            keep_alive,
            phase: Phase::Open,
            partial: early.to_vec(),
            has_unhandled: !early.is_empty(),
            fragments: Vec::new(),
            is_fragmented: false,
            timer,
        }
    }

    fn now(&self) -> Millis {
        millis_since(self.shared.started)
    }

    /// Queues a close frame and waits for the client's, for a while.
    fn begin_close(&mut self, reason: CloseReason, code: u16, context: &mut Context<'_>) {
        if matches!(self.phase, Phase::Closing(_)) {
            return;
        }
        let mut bytes = Vec::new();
        frame::write_close(code, reason.text(), &mut bytes);
        self.handle.outbox().borrow_mut().push_unbounded(Bytes::from(bytes));
        self.phase = Phase::Closing(reason);
        // The client's own close frame may have arrived with what made us close.
        self.has_unhandled = !self.partial.is_empty();
        self.fragments = Vec::new();
        self.set_timer(self.now() + self.shared.limits.close_ack_wait_ms, context);
    }

    fn set_timer(&mut self, at: Millis, context: &mut Context<'_>) {
        let deadline = self.shared.started + Duration::from_millis(at);
        self.timer.as_mut().reset(deadline);
        if self.timer.as_mut().poll(context).is_ready() {
            context.waker().wake_by_ref();
        }
    }

    /// Writes what waits. Errors: the connection is lost.
    fn flush(&mut self, context: &mut Context<'_>) -> Result<(), CloseReason> {
        let handle = self.handle.clone();
        let mut outbox = handle.outbox().borrow_mut();
        let mut sent = 0;
        let mut is_blocked = false;
        while !outbox.is_empty() {
            let mut slices = [IoSlice::new(&[]); WRITE_SLICES_MAX];
            let filled = outbox.chunks(&mut slices);
            match Pin::new(&mut self.io).poll_write_vectored(context, &slices[..filled]) {
                Poll::Ready(Ok(written)) if written > 0 => {
                    sent += written;
                    outbox.advance(written);
                }
                Poll::Ready(_) => return Err(CloseReason::ConnectionLost),
                Poll::Pending => {
                    is_blocked = true;
                    break;
                }
            }
        }
        let _ = Pin::new(&mut self.io).poll_flush(context).map_err(|_| CloseReason::ConnectionLost)?;
        drop(outbox);
        self.note_written(sent, is_blocked, context);
        Ok(())
    }

    fn note_written(&mut self, sent: usize, is_blocked: bool, context: &mut Context<'_>) {
        if sent > 0 {
            self.shared.traffic.sent(sent as u64);
            self.keep_alive.write_progress(self.now(), is_blocked);
        }
        if is_blocked && (self.keep_alive.write_blocked(self.now()) || sent > 0) && matches!(self.phase, Phase::Open) {
            let deadline = self.now() + self.shared.limits.keep_alive.write_wait_ms;
            self.set_timer(deadline, context);
        }
    }

    /// Sends replies: straight to the socket when nothing waits before them.
    fn send_replies(&mut self, replies: &[u8], context: &mut Context<'_>) -> Result<(), CloseReason> {
        let handle = self.handle.clone();
        let mut outbox = handle.outbox().borrow_mut();
        let mut written = 0;
        if outbox.is_empty() {
            match Pin::new(&mut self.io).poll_write(context, replies) {
                Poll::Ready(Ok(count)) if count > 0 => written = count,
                Poll::Ready(_) => return Err(CloseReason::ConnectionLost),
                Poll::Pending => {}
            }
        }
        let rest = &replies[written..];
        if !rest.is_empty() {
            outbox.push_unbounded(Bytes::copy_from_slice(rest));
        }
        drop(outbox);
        self.note_written(written, false, context);
        Ok(())
    }

    /// Reads and handles until the socket has no more, its turn is over, or the client owes us reading.
    fn read(&mut self, context: &mut Context<'_>) -> Result<(), CloseReason> {
        let shared = self.shared.clone();
        let mut scratch = shared.scratch.borrow_mut();
        for _ in 0..READ_TURNS_MAX {
            if self.handle.outbox().borrow().bytes() > shared.limits.backlog_bytes_max {
                return Ok(());
            }
            let kept = self.partial.len();
            scratch.input[..kept].copy_from_slice(&self.partial);
            let read = if std::mem::take(&mut self.has_unhandled) {
                0
            } else {
                match self.poll_input(&mut scratch.input[kept..], context)? {
                    Poll::Ready(read) => read,
                    Poll::Pending => return Ok(()),
                }
            };
            self.handle_input(&mut scratch, kept + read, read, context)?;
        }
        context.waker().wake_by_ref();
        Ok(())
    }

    /// Reads once. Errors: the connection is lost or the client has ended it.
    fn poll_input(&mut self, room: &mut [u8], context: &mut Context<'_>) -> Result<Poll<usize>, CloseReason> {
        let mut buffer = ReadBuf::new(room);
        match Pin::new(&mut self.io).poll_read(context, &mut buffer) {
            Poll::Pending => Ok(Poll::Pending),
            Poll::Ready(Ok(())) if !buffer.filled().is_empty() => Ok(Poll::Ready(buffer.filled().len())),
            Poll::Ready(_) => Err(CloseReason::ConnectionLost),
        }
    }

    /// Handles the frames in the first `length` bytes of the scratch input and sends their replies.
    fn handle_input(
        &mut self,
        scratch: &mut Scratch,
        length: usize,
        read: usize,
        context: &mut Context<'_>,
    ) -> Result<(), CloseReason> {
        if self.phase.has_lost_frames() {
            self.partial = Vec::new();
            return Ok(());
        }
        let Scratch { input, output, reply } = scratch;
        output.clear();
        let mut messages = 0;
        let (consumed, outcome) = self.handle_frames(&mut input[..length], output, reply, &mut messages);
        self.keep_alive.received(self.now(), messages);
        self.shared.traffic.received(u64::from(messages), read as u64);
        if consumed == length {
            self.partial = Vec::new();
        } else {
            self.partial.clear();
            self.partial.extend_from_slice(&input[consumed..length]);
        }
        if !output.is_empty() {
            self.send_replies(output, context)?;
        }
        match outcome {
            Ok(()) => Ok(()),
            Err(End::Now(reason)) => Err(reason),
            Err(End::Close(reason, code)) => {
                self.begin_close(reason, code, context);
                Ok(())
            }
        }
    }

    fn handle_frames(
        &mut self,
        input: &mut [u8],
        output: &mut Vec<u8>,
        reply: &mut Vec<u8>,
        messages: &mut u32,
    ) -> (usize, Result<(), End>) {
        let mut start = 0;
        loop {
            let header = match frame::parse_header(&input[start..], self.shared.limits.message_bytes_max) {
                Ok(Some(header)) => header,
                Ok(None) => return (start, Ok(())),
                Err(error) => return (start, Err(End::from(error))),
            };
            let payload_start = start + header.header_len;
            let end = payload_start + header.payload_len;
            let Some(payload) = input.get_mut(payload_start..end) else { return (start, Ok(())) };
            frame::unmask(payload, header.mask);
            start = end;
            if let Err(end) = self.handle_frame(&header, payload, output, reply, messages) {
                return (start, Err(end));
            }
        }
    }

    fn handle_frame(
        &mut self,
        header: &Header,
        payload: &[u8],
        output: &mut Vec<u8>,
        reply: &mut Vec<u8>,
        messages: &mut u32,
    ) -> Result<(), End> {
        match header.opcode {
            // Nothing follows a close frame.
            Opcode::Ping if matches!(self.phase, Phase::Closing(_)) => Ok(()),
            Opcode::Ping => {
                frame::write_frame(Opcode::Pong, payload, output);
                Ok(())
            }
            Opcode::Pong => Ok(()),
            Opcode::Close => self.handle_close(payload),
            _ if matches!(self.phase, Phase::Closing(_)) => Ok(()),
            Opcode::Continuation if !self.is_fragmented => Err(End::from(FrameError::Protocol)),
            Opcode::Text | Opcode::Binary if self.is_fragmented => Err(End::from(FrameError::Protocol)),
            Opcode::Text | Opcode::Binary if header.opcode != self.handler.opcode() => {
                Err(End::close(CloseReason::WrongFrameType))
            }
            _ => self.handle_data(header, payload, output, reply, messages),
        }
    }

    fn handle_close(&mut self, payload: &[u8]) -> Result<(), End> {
        if let Phase::Closing(reason) = self.phase {
            return Err(End::Now(reason));
        }
        match frame::parse_close(payload) {
            Ok(code) => Err(End::Close(CloseReason::ClientClosed, code.unwrap_or(1000))),
            Err(error) => Err(End::from(error)),
        }
    }

    fn handle_data(
        &mut self,
        header: &Header,
        payload: &[u8],
        output: &mut Vec<u8>,
        reply: &mut Vec<u8>,
        messages: &mut u32,
    ) -> Result<(), End> {
        if header.is_final && !self.is_fragmented {
            *messages += 1;
            return self.handle_message(payload, output, reply);
        }
        if self.fragments.len() + payload.len() > self.shared.limits.message_bytes_max {
            return Err(End::close(CloseReason::MessageTooBig));
        }
        self.fragments.extend_from_slice(payload);
        self.is_fragmented = !header.is_final;
        if self.is_fragmented {
            return Ok(());
        }
        *messages += 1;
        let message = std::mem::take(&mut self.fragments);
        self.handle_message(&message, output, reply)
    }

    fn handle_message(&mut self, payload: &[u8], output: &mut Vec<u8>, reply: &mut Vec<u8>) -> Result<(), End> {
        reply.clear();
        // The handler's state after a panic is not looked at again: the session closes.
        let outcome = catch_unwind(AssertUnwindSafe(|| self.handler.message(payload, reply)));
        if !reply.is_empty() && outcome.is_ok() {
            frame::write_frame(self.handler.opcode(), reply, output);
        }
        match outcome {
            Ok(Ok(())) => Ok(()),
            Ok(Err(reason)) => Err(End::close(reason)),
            Err(_) => {
                self.shared.traffic.panicked();
                Err(End::close(CloseReason::Panic))
            }
        }
    }

    /// Acts on what is due and sets the timer for what comes next.
    fn run_timers(&mut self, context: &mut Context<'_>) -> Result<(), CloseReason> {
        while self.timer.as_mut().poll(context).is_ready() {
            if let Phase::Closing(reason) = self.phase {
                return Err(reason);
            }
            let now = self.now();
            match self.keep_alive.due(now, &self.shared.limits.keep_alive) {
                Directive::Wait(at) => self.timer.as_mut().reset(self.shared.started + Duration::from_millis(at)),
                Directive::Close(reason) => self.begin_close(reason, reason.code(), context),
                Directive::Ping => {
                    let mut ping = Vec::new();
                    frame::write_frame(Opcode::Ping, b"", &mut ping);
                    self.handle.outbox().borrow_mut().push_unbounded(Bytes::from(ping));
                }
            }
        }
        Ok(())
    }

    /// Ends the way to the client once the close frame has left, if nothing further of its own is waited for.
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

    fn step(&mut self, context: &mut Context<'_>) -> Result<(), CloseReason> {
        self.handle.watch(context.waker());
        if let Some(reason) = self.handle.close_requested() {
            self.begin_close(reason, reason.code(), context);
        }
        self.flush(context)?;
        self.read(context)?;
        self.run_timers(context)?;
        self.flush(context)
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

/// How handling a frame ends the connection.
enum End {
    /// At once.
    Now(CloseReason),
    /// With a close frame of this code.
    Close(CloseReason, u16),
}

impl End {
    fn close(reason: CloseReason) -> Self {
        Self::Close(reason, reason.code())
    }
}

impl From<FrameError> for End {
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
