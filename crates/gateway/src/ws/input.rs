//! The input of a socket: bytes become frames, and frames become messages for its [`Work`](super::work::Work).

use std::pin::Pin;
use std::task::{Context, Poll};

use muster_live::{CloseReason, Millis};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::connection::{Connection, ConnectionEnd, Phase};
use super::frame::{self, FrameError, Header, Opcode};
use super::shared::{Scratch, Traffic};
use super::work::{AnswerOutput, MessageHandler};

/// Number of reads from one socket before the others of its shard have their turn.
const READ_TURNS_MAX: u32 = 8;

/// Input that has arrived and is not dealt with yet.
pub(super) struct Input {
    /// Bytes of a frame that has not arrived whole, or of whole frames that had to wait.
    partial: Vec<u8>,
    /// Whether `partial` may hold whole frames.
    has_unhandled: bool,
    /// Payloads of a message whose last fragment has not arrived.
    fragments: Vec<u8>,
    is_fragmented: bool,
    /// Whether there may be more to do for which nothing wakes the socket.
    pub(super) is_cut_short: bool,
    /// Whether messages were read since this was last looked at.
    pub(super) has_read: bool,
    /// See [`SocketShared::wake_after_pause`](super::shared::SocketShared::wake_after_pause).
    pause: u32,
    /// The time until which the socket is slowed; 0 for one that is not.
    slowed_until: Millis,
}

impl Input {
    pub(super) fn new(early: &[u8]) -> Self {
        Self {
            partial: early.to_vec(),
            has_unhandled: !early.is_empty(),
            fragments: Vec::new(),
            is_fragmented: false,
            is_cut_short: false,
            has_read: false,
            pause: 0,
            slowed_until: 0,
        }
    }

    /// Looks for the client's close frame only from here on. The close frame may have arrived already.
    pub(super) fn await_close(&mut self) {
        self.has_unhandled = !self.partial.is_empty();
        self.is_cut_short = true;
        self.fragments = Vec::new();
    }

    /// Keeps the bytes that were not consumed.
    fn keep(&mut self, rest: &[u8]) {
        if rest.is_empty() {
            self.partial = Vec::new();
        } else {
            self.partial.clear();
            self.partial.extend_from_slice(rest);
        }
    }
}

impl<S, H, T> Connection<S, H, T>
where
    S: AsyncRead + AsyncWrite + Unpin,
    H: MessageHandler + Unpin,
    T: Traffic,
{
    /// Goes on with messages that wait, then reads and handles until the socket has no more, its turn is over, or it
    /// has to wait: for its own operation, for its shard, or for the client to read. Answers leave together at the end.
    pub(super) fn receive(&mut self, context: &mut Context<'_>) -> Result<(), CloseReason> {
        let shared = self.shared.clone();
        let mut scratch = shared.scratch.borrow_mut();
        let Scratch { input, output, reply } = &mut *scratch;
        let handle = self.handle.clone();
        output.clear();
        self.input.is_cut_short = false;
        let mut answers = AnswerOutput { handle: &handle, output, reply };
        let outcome = self.go_on(&mut answers, context).and_then(|()| self.read(input, &mut answers, context));
        if !output.is_empty() {
            self.send_replies(output, context)?;
        }
        match outcome {
            Ok(()) => Ok(()),
            Err(ConnectionEnd::Now(reason)) => Err(reason),
            Err(ConnectionEnd::Close(reason, code)) => {
                self.begin_close(reason, code, context);
                Ok(())
            }
        }
    }

    fn go_on(&mut self, answers: &mut AnswerOutput<'_>, context: &mut Context<'_>) -> Result<(), ConnectionEnd> {
        let is_closing = matches!(self.phase, Phase::Closing(_));
        let may_start = !is_closing && !self.shared.is_paused() && !self.is_slowed() && !self.is_behind(answers);
        let outcome = self.work.go_on(may_start, answers, context);
        self.slow(context);
        if !is_closing {
            return outcome.map_err(ConnectionEnd::close);
        }
        if outcome == Err(CloseReason::Panic) {
            self.shared.traffic.panicked();
        }
        // Nothing follows the close frame.
        answers.output.clear();
        Ok(())
    }

    /// Whether the client has to read so much first that it is not served now.
    fn is_behind(&self, answers: &AnswerOutput<'_>) -> bool {
        self.handle.outbox().borrow().bytes() + answers.output.len() > self.shared.limits.backlog_bytes_max
    }

    /// Whether data frames have to wait.
    pub(super) fn is_held(&self) -> bool {
        matches!(self.phase, Phase::Open) && (self.shared.is_paused() || self.work.is_full() || self.is_slowed())
    }

    /// Whether the session sends more than it may.
    fn is_slowed(&self) -> bool {
        self.input.slowed_until != 0 && self.now() < self.input.slowed_until
    }

    /// Stops reading for a time if the message that was handled says so.
    fn slow(&mut self, context: &mut Context<'_>) {
        let hold_ms = self.work.take_hold_ms();
        if hold_ms > 0 && matches!(self.phase, Phase::Open) {
            self.input.slowed_until = self.now() + Millis::from(hold_ms);
            self.wake_by(self.input.slowed_until, context);
        }
    }

    /// The time until which the socket is slowed, if it is.
    pub(super) fn slowed_until(&self) -> Option<Millis> {
        self.is_slowed().then_some(self.input.slowed_until)
    }

    fn read(
        &mut self,
        buffer: &mut [u8],
        answers: &mut AnswerOutput<'_>,
        context: &mut Context<'_>,
    ) -> Result<(), ConnectionEnd> {
        for _ in 0..READ_TURNS_MAX {
            if self.is_behind(answers) {
                break;
            }
            if self.shared.is_paused() {
                self.shared.wake_after_pause(&mut self.input.pause, context.waker());
            }
            if self.is_held() {
                return Ok(());
            }
            let kept = self.input.partial.len();
            buffer[..kept].copy_from_slice(&self.input.partial);
            let read = if std::mem::take(&mut self.input.has_unhandled) {
                0
            } else {
                match self.poll_input(&mut buffer[kept..], context)? {
                    Poll::Ready(read) => read,
                    Poll::Pending => return Ok(()),
                }
            };
            self.handle_input(&mut buffer[..kept + read], read, answers, context)?;
        }
        self.input.is_cut_short = true;
        Ok(())
    }

    /// Reads once. Errors: the connection is lost or the client has ended it.
    fn poll_input(&mut self, room: &mut [u8], context: &mut Context<'_>) -> Result<Poll<usize>, ConnectionEnd> {
        let mut buffer = ReadBuf::new(room);
        match Pin::new(&mut self.io).poll_read(context, &mut buffer) {
            Poll::Pending => Ok(Poll::Pending),
            Poll::Ready(Ok(())) if !buffer.filled().is_empty() => Ok(Poll::Ready(buffer.filled().len())),
            Poll::Ready(_) => Err(ConnectionEnd::Now(CloseReason::ConnectionLost)),
        }
    }

    /// Handles the frames in `input`, whose last `read` bytes are new.
    fn handle_input(
        &mut self,
        input: &mut [u8],
        read: usize,
        answers: &mut AnswerOutput<'_>,
        context: &mut Context<'_>,
    ) -> Result<(), ConnectionEnd> {
        if self.phase.has_lost_frames() {
            self.input.keep(&[]);
            return Ok(());
        }
        let mut messages = 0;
        let mut start = 0;
        let outcome = loop {
            match self.handle_frame_at(&mut start, input, &mut messages, answers, context) {
                Ok(true) => {}
                Ok(false) => break Ok(()),
                Err(end) => break Err(end),
            }
        };
        self.input.has_read |= messages > 0;
        self.keep_alive.received(self.now(), messages);
        self.shared.traffic.received(u64::from(messages), read as u64);
        self.input.keep(&input[start..]);
        outcome
    }

    /// Handles the frame at `start`, and moves `start` behind it. Answers whether there was a whole frame whose turn it
    /// is.
    fn handle_frame_at(
        &mut self,
        start: &mut usize,
        input: &mut [u8],
        messages: &mut u32,
        answers: &mut AnswerOutput<'_>,
        context: &mut Context<'_>,
    ) -> Result<bool, ConnectionEnd> {
        let Some(header) = frame::parse_header(&input[*start..], self.shared.limits.message_bytes_max)? else {
            return Ok(false);
        };
        let payload_start = *start + header.header_len;
        let end = payload_start + header.payload_len;
        let Some(payload) = input.get_mut(payload_start..end) else { return Ok(false) };
        if !header.opcode.is_control() && self.is_held() {
            self.input.has_unhandled = true;
            if self.work.is_full() {
                self.shared.traffic.held();
            }
            return Ok(false);
        }
        frame::unmask(payload, header.mask);
        *start = end;
        let completed = self.handle_frame(&header, payload, answers)?;
        let message = match &completed {
            Completed::Nothing => return Ok(true),
            Completed::Payload => &*payload,
            Completed::Fragments(message) => message.as_slice(),
        };
        *messages += 1;
        self.handle.note_arrived();
        let taken = self.work.take(message, answers, context);
        self.slow(context);
        taken.map_err(ConnectionEnd::close)?;
        Ok(true)
    }

    /// Answers control frames, collects fragments, and says which message the frame completes.
    fn handle_frame(
        &mut self,
        header: &Header,
        payload: &[u8],
        answers: &mut AnswerOutput<'_>,
    ) -> Result<Completed, ConnectionEnd> {
        match header.opcode {
            // Nothing follows a close frame.
            Opcode::Ping if matches!(self.phase, Phase::Closing(_)) => Ok(Completed::Nothing),
            Opcode::Ping => {
                frame::write_frame(Opcode::Pong, payload, answers.output);
                Ok(Completed::Nothing)
            }
            Opcode::Pong => {
                self.handle.note_pong(payload);
                Ok(Completed::Nothing)
            }
            Opcode::Close => Err(self.handle_close(payload)),
            _ if matches!(self.phase, Phase::Closing(_)) => Ok(Completed::Nothing),
            Opcode::Continuation if !self.input.is_fragmented => Err(ConnectionEnd::from(FrameError::Protocol)),
            Opcode::Text | Opcode::Binary if self.input.is_fragmented => Err(ConnectionEnd::from(FrameError::Protocol)),
            Opcode::Text | Opcode::Binary if header.opcode != self.work.opcode() => {
                Err(ConnectionEnd::close(CloseReason::WrongFrameType))
            }
            _ if header.is_final && !self.input.is_fragmented => Ok(Completed::Payload),
            _ => self.add_fragment(header.is_final, payload),
        }
    }

    fn handle_close(&mut self, payload: &[u8]) -> ConnectionEnd {
        if let Phase::Closing(reason) = self.phase {
            return ConnectionEnd::Now(reason);
        }
        match frame::parse_close(payload) {
            Ok(code) => ConnectionEnd::Close(CloseReason::ClientClosed, code.unwrap_or(1000)),
            Err(error) => ConnectionEnd::from(error),
        }
    }

    fn add_fragment(&mut self, is_final: bool, payload: &[u8]) -> Result<Completed, ConnectionEnd> {
        if self.input.fragments.len() + payload.len() > self.shared.limits.message_bytes_max {
            return Err(ConnectionEnd::close(CloseReason::MessageTooBig));
        }
        self.input.fragments.extend_from_slice(payload);
        self.input.is_fragmented = !is_final;
        if !is_final {
            return Ok(Completed::Nothing);
        }
        Ok(Completed::Fragments(std::mem::take(&mut self.input.fragments)))
    }
}

/// The message that a frame completes.
enum Completed {
    Nothing,
    /// The frame's own payload.
    Payload,
    /// The message that was collected over several frames.
    Fragments(Vec<u8>),
}
