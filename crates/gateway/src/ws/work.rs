//! The work of a socket's messages: one is handled at a time, in order, and while one waits the next are kept.
//!
//! Nothing here reads or writes a socket. A handler that panics ends its own session.

use std::collections::VecDeque;
use std::rc::Rc;
use std::task::{Context, Poll};

use futures_util::FutureExt as _;
use muster_api::realtime::{Finished, MessageOutcome, Operation, SocketSession};
use muster_live::CloseReason;
use muster_wire::envelope::Format;

use super::frame::{self, Opcode};
use super::handle::SocketHandle;

/// Limit of the messages of one socket that wait for its running operation. At the limit the socket is not read.
pub const PENDING_MESSAGES_MAX: usize = 128;
/// Limit of the bytes of such messages. The last message may exceed the limit.
pub const PENDING_BYTES_MAX: usize = 64 * 1024;

/// The handler of a session's messages.
pub trait MessageHandler {
    /// Handles one message. The payload of a reply that stands at once is appended to `reply`.
    fn message(&mut self, payload: &[u8], reply: &mut Vec<u8>) -> MessageOutcome;

    /// The time for which the socket should not be read after the last message, in milliseconds. Answered once.
    fn take_hold_ms(&mut self) -> u32 {
        0
    }

    /// The type of frame that this session's format travels in.
    fn opcode(&self) -> Opcode;
}

/// The work of a player's session.
pub(crate) type SessionWork = Work<Rc<SocketSession>>;

impl MessageHandler for Rc<SocketSession> {
    fn message(&mut self, payload: &[u8], reply: &mut Vec<u8>) -> MessageOutcome {
        SocketSession::message(self, payload, reply)
    }

    fn take_hold_ms(&mut self) -> u32 {
        SocketSession::take_hold_ms(self)
    }

    fn opcode(&self) -> Opcode {
        match self.format() {
            Format::Json => Opcode::Text,
            Format::Protobuf => Opcode::Binary,
        }
    }
}

/// The destination of answers during one poll of a socket.
pub(super) struct AnswerOutput<'a> {
    pub handle: &'a SocketHandle,
    /// Frames that leave together.
    pub output: &'a mut Vec<u8>,
    /// The payload of the reply being made.
    pub reply: &'a mut Vec<u8>,
}

/// The messages of one socket.
pub struct Work<H> {
    handler: H,
    operation: Option<Operation>,
    /// Messages that wait; made for the first of them.
    waiting: Option<Box<WaitingMessages>>,
    /// See [`MessageHandler::take_hold_ms`].
    hold_ms: u32,
}

#[derive(Default)]
struct WaitingMessages {
    messages: VecDeque<Vec<u8>>,
    bytes: usize,
    /// Set when a limit is reached, and cleared when half of it is free, so that reading goes on in more than single
    /// messages.
    is_full: bool,
}

impl<H: MessageHandler> Work<H> {
    /// Work without any message yet.
    pub fn new(handler: H) -> Self {
        Self { handler, operation: None, waiting: None, hold_ms: 0 }
    }

    pub(super) fn opcode(&self) -> Opcode {
        self.handler.opcode()
    }

    /// Whether no further message may come for now: one of those here has to be handled first.
    pub(super) fn is_full(&self) -> bool {
        self.waiting.as_ref().is_some_and(|waiting| waiting.is_full)
    }

    /// The time for which the socket should not be read because of the messages that were handled, in milliseconds.
    /// Answered once.
    pub(super) fn take_hold_ms(&mut self) -> u32 {
        std::mem::take(&mut self.hold_ms)
    }

    /// Whether everything that came is dealt with.
    pub(super) fn is_idle(&self) -> bool {
        self.operation.is_none() && self.waiting.is_none()
    }

    /// Takes a message: handles it, or keeps it behind the messages that came before.
    ///
    /// Errors: the reason why the socket closes.
    pub(super) fn take(
        &mut self,
        payload: &[u8],
        answers: &mut AnswerOutput<'_>,
        context: &mut Context<'_>,
    ) -> Result<(), CloseReason> {
        if self.operation.is_none() && self.waiting.is_none() {
            return self.handle(payload, answers, context);
        }
        let waiting = self.waiting.get_or_insert_default();
        waiting.bytes += payload.len();
        waiting.messages.push_back(payload.to_vec());
        waiting.is_full = waiting.messages.len() >= PENDING_MESSAGES_MAX || waiting.bytes >= PENDING_BYTES_MAX;
        Ok(())
    }

    /// Goes on with the running operation, and with the messages that wait for it if any `may_start`.
    ///
    /// Errors: the reason why the socket closes.
    pub(super) fn go_on(
        &mut self,
        may_start: bool,
        answers: &mut AnswerOutput<'_>,
        context: &mut Context<'_>,
    ) -> Result<(), CloseReason> {
        let polled = self.poll_operation(answers, context);
        // This is done even if nothing ran: the operation may have gone on without its socket.
        answers.handle.release_own(answers.output);
        polled?;
        while may_start && self.operation.is_none() && self.hold_ms == 0 {
            let Some(message) = self.next_waiting() else { break };
            self.handle(&message, answers, context)?;
        }
        Ok(())
    }

    /// The operation that still runs; messages that wait for it are not handled any more.
    pub fn into_operation(self) -> Option<Operation> {
        self.operation
    }

    fn next_waiting(&mut self) -> Option<Vec<u8>> {
        let waiting = self.waiting.as_mut()?;
        let message = waiting.messages.pop_front();
        waiting.bytes -= message.as_ref().map_or(0, Vec::len);
        waiting.is_full &= waiting.messages.len() > PENDING_MESSAGES_MAX / 2 || waiting.bytes > PENDING_BYTES_MAX / 2;
        if waiting.messages.is_empty() {
            self.waiting = None;
        }
        message
    }

    fn handle(
        &mut self,
        payload: &[u8],
        answers: &mut AnswerOutput<'_>,
        context: &mut Context<'_>,
    ) -> Result<(), CloseReason> {
        let AnswerOutput { handle, output, reply } = answers;
        reply.clear();
        let handled = handle.handling(|| self.handler.message(payload, reply));
        let Some(outcome) = handled else { return Err(CloseReason::Panic) };
        self.hold_ms = self.handler.take_hold_ms();
        if !reply.is_empty() {
            frame::write_frame(self.handler.opcode(), reply, output);
        }
        handle.release_own(output);
        match outcome {
            MessageOutcome::Done => Ok(()),
            MessageOutcome::Close(reason) => Err(reason),
            MessageOutcome::Malformed(why) => {
                handle.explain_close(&why);
                Err(CloseReason::InvalidPayload)
            }
            MessageOutcome::Later(operation) => {
                self.operation = Some(operation);
                self.poll_operation(answers, context)
            }
        }
    }

    fn poll_operation(&mut self, answers: &mut AnswerOutput<'_>, context: &mut Context<'_>) -> Result<(), CloseReason> {
        while let Some(operation) = &mut self.operation {
            let polled = answers.handle.handling(|| operation.poll_unpin(context));
            if matches!(polled, Some(Poll::Pending)) {
                answers.handle.release_own(answers.output);
                return Ok(());
            }
            // The operation is not polled again, whatever it did.
            self.operation = None;
            let Some(Poll::Ready(Finished { reply, then, rest })) = polled else { return Err(CloseReason::Panic) };
            if !reply.is_empty() {
                frame::write_frame(self.handler.opcode(), &reply, answers.output);
            }
            answers.handle.release_own(answers.output);
            self.operation = rest;
            then.map_or(Ok(()), Err)?;
        }
        Ok(())
    }
}
