//! One player in a room: what it says, what it hears, and how it goes.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::{Duration, Instant};

use muster_wire::realtime::Envelope;
use muster_wire::realtime::envelope::Message;
use tokio::sync::Notify;

use super::Hall;
use crate::load::frames::{self, Opcode};
use crate::load::incoming::{self, Incoming, Said};
use crate::load::socket::{Sent, SocketWriter};
use crate::load::stamp::{Origin, Stamp};
use crate::load::{Fault, envelopes};
use crate::scenario::inbox::Inbox;
use crate::scenario::rooms::contract;
use crate::scenario::sockets::{self, Player};

/// Messages that others meant to send this long before somebody left were sent before it left: the generator itself
/// may be late.
const LATENESS_MAX: Duration = Duration::from_secs(1);

/// What a resident is told to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    Stay,
    /// Say the last message, wait for its acknowledgement, and close.
    Leave,
    /// Say the last message; then neither read nor write, and keep the connection.
    Vanish,
    /// Say the last message; then go on sending, but read nothing.
    StopReading,
    /// Close: nobody talks any more.
    Close,
}

/// Where a player was put.
pub struct Place {
    pub room: String,
    pub seat: Option<String>,
    pub capacity: usize,
}

pub struct Resident {
    /// One for the whole run.
    pub number: u32,
    /// Which of the servers it plays on.
    pub lane: usize,
    /// As messages name it.
    pub room: String,
    /// The seat to give back, if the generator keeps them.
    pub seat: Option<String>,
    pub writer: Rc<SocketWriter>,
    pub user: String,
    /// By the machine's clock.
    pub joined_us: u64,
    pub order: Cell<Order>,
    pub ordered: Notify,
    said: Cell<u32>,
    acknowledged: Cell<u32>,
    /// Nothing more is to be expected of it.
    has_said_last: Cell<bool>,
    /// When the latest message was meant to leave, or a period before the first.
    latest_us: Cell<u64>,
    inbox: RefCell<Inbox>,
}

impl Resident {
    pub fn new(player: &Player, number: u32, lane: usize, place: Place, joined_us: u64) -> Self {
        Self {
            number,
            lane,
            room: place.room,
            seat: place.seat,
            writer: player.writer.clone(),
            user: player.user.to_string(),
            joined_us,
            order: Cell::new(Order::Stay),
            ordered: Notify::new(),
            said: Cell::default(),
            acknowledged: Cell::default(),
            has_said_last: Cell::default(),
            latest_us: Cell::default(),
            inbox: RefCell::default(),
        }
    }

    pub fn order(&self, order: Order) {
        self.order.set(order);
        self.ordered.notify_one();
    }

    pub fn is_healthy(&self) -> bool {
        self.order.get() == Order::Stay
    }

    /// The first message is meant to leave a period after `before_us`.
    pub fn begin_at(&self, before_us: u64) {
        self.latest_us.set(before_us);
    }

    /// From now on this one must hear everything that `other` says. One who has said its last may still have its place:
    /// whether that was before this one came only the server knows.
    pub fn expect(&self, other: &Self) {
        if other.has_said_last.get() {
            return;
        }
        self.inbox.borrow_mut().expect(other.number, other.said.get(), other.latest_us.get());
    }

    pub fn has_all_before(&self, time_us: u64, period: Duration) -> bool {
        self.inbox.borrow().is_complete(time_us, period)
    }

    /// Messages meant to leave before `time_us` that never came.
    pub fn lost_before(&self, time_us: u64, period: Duration) -> u64 {
        self.inbox.borrow().lost_before(time_us, period)
    }

    /// Messages without an acknowledgement.
    pub fn unacknowledged(&self) -> u64 {
        u64::from(self.said.get() - self.acknowledged.get())
    }

    /// Says something that was meant to be said at `intended`.
    pub fn say(&self, hall: &Hall, intended: Instant, is_last: bool) {
        let number = self.said.get() + 1;
        self.said.set(number);
        self.has_said_last.set(is_last);
        let time_us = hall.worker.clock.time_us(intended);
        self.latest_us.set(time_us);
        let talk = &hall.worker.plan.talk;
        let origin = Origin { room: self.room.as_bytes(), user: self.user.as_bytes() };
        let mut message = Vec::new();
        Stamp { sender: self.number, number, is_last, time_us }.write(origin, talk.message_bytes, &mut message);
        let request = contract::say_request(talk.via, &self.room, &message);
        hall.worker.expect_answers(1);
        hall.worker.note_message_in();
        let mut frame = Vec::new();
        let request = Envelope::reply(number.to_string(), request);
        envelopes::write_envelope(hall.worker.plan.format, &request, &mut frame);
        self.send_frame(&frame);
    }

    pub fn send_close(&self) {
        let mut frame = Vec::new();
        frames::write_client_frame(Opcode::Close, &NORMAL_CLOSURE.to_be_bytes(), &mut frame);
        self.send_frame(&frame);
    }

    fn send_frame(&self, frame: &[u8]) {
        // A lost connection is the reader's to report.
        if let Ok(Sent::Queued) = self.writer.send_now(frame) {
            sockets::flush_later(self.writer.clone());
        }
    }

    pub fn hear(&self, hall: &Hall, opcode: Opcode, payload: &[u8]) {
        let outcome = match incoming::read(hall.worker.plan.format, opcode, payload) {
            Ok(incoming) => self.take(hall, incoming),
            Err(fault) => Err(fault),
        };
        if let Err(fault) = outcome {
            hall.worker.fail(&fault);
        }
    }

    pub fn take(&self, hall: &Hall, incoming: Incoming<'_>) -> Result<(), Fault> {
        match incoming {
            Incoming::Said(said) => self.take_said(hall, &said),
            Incoming::RoomEvent => Ok(()),
            Incoming::ChatAck { cid } => self.take_acknowledgement(hall, cid),
            Incoming::Other(envelope) => match envelope.message {
                Some(Message::Error(error)) => Err(Fault::Refused(error.code)),
                _ if envelope.cid.is_empty() => Ok(()),
                Some(Message::Rpc(_)) => self.take_acknowledgement(hall, envelope.cid.as_bytes()),
                Some(_) | None => Err(Fault::Wrong("cid of another request")),
            },
        }
    }

    fn take_said(&self, hall: &Hall, said: &Said<'_>) -> Result<(), Fault> {
        let talk = &hall.worker.plan.talk;
        if !contract::is_way(talk.via, said) || said.origin().room != self.room.as_bytes() {
            return Err(Fault::Wrong("a message for another room"));
        }
        let stamp = Stamp::read(&said.message, said.origin())?;
        if said.message.len() != talk.message_bytes {
            return Err(Fault::Wrong("length of a message"));
        }
        let first_due = |stamp: &Stamp| first_due(stamp, self.joined_us, hall.metronome.period());
        self.inbox.borrow_mut().take(&stamp, first_due)?;
        hall.worker.note_message_out(hall.worker.clock.moment(stamp.time_us));
        Ok(())
    }

    fn take_acknowledgement(&self, hall: &Hall, cid: &[u8]) -> Result<(), Fault> {
        let number = self.acknowledged.get() + 1;
        if number > self.said.get() || cid != number.to_string().as_bytes() {
            return Err(Fault::Wrong("cid of another request"));
        }
        self.acknowledged.set(number);
        hall.worker.end_operation();
        Ok(())
    }

    /// What this one has not heard although it was said before it went.
    pub fn settle(&self, hall: &Hall, until: Instant) {
        let until = until.checked_sub(LATENESS_MAX).unwrap_or(until);
        let lost = self.lost_before(hall.worker.clock.time_us(until), hall.metronome.period());
        hall.worker.tally.borrow_mut().fail_many(Fault::MessageLost.to_string(), lost);
    }
}

/// Close code 1000 of RFC 6455.
const NORMAL_CLOSURE: u16 = 1000;

/// Senders speak once a period: the number of the first message that left after the receiver had joined.
fn first_due(stamp: &Stamp, joined_us: u64, period: Duration) -> u32 {
    let period_us = u64::try_from(period.as_micros()).unwrap_or(u64::MAX).max(1);
    let after_us = stamp.time_us.saturating_sub(joined_us + 1);
    let before = u32::try_from(after_us / period_us).unwrap_or(u32::MAX);
    stamp.number.saturating_sub(before)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_due_from_the_moment_of_joining() {
        let due = |number, time_us, joined_us| {
            let stamp = Stamp { sender: 1, number, is_last: false, time_us };
            first_due(&stamp, joined_us, Duration::from_micros(10))
        };
        assert_eq!(due(5, 50, 45), 5, "the one before left at 40");
        assert_eq!(due(5, 50, 40), 5, "at the very moment it may have been too early");
        assert_eq!(due(5, 50, 39), 4);
        assert_eq!(due(5, 50, 60), 5);
        assert_eq!(due(5, 50, 0), 1);
    }
}
