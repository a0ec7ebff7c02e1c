//! One player in a room: its messages, the messages that it receives, and the way it goes.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::{Duration, Instant};

use muster_wire::realtime::Envelope;
use muster_wire::realtime::envelope::Message;
use tokio::sync::Notify;

use super::Hall;
use crate::load::frames::{self, Opcode};
use crate::load::incoming::{self, Incoming, PlayerMessage};
use crate::load::socket::{Sent, SocketWriter};
use crate::load::stamp::{Origin, Stamp};
use crate::load::{Fault, envelopes};
use crate::scenario::inbox::Inbox;
use crate::scenario::rooms::contract;
use crate::scenario::sockets::{self, Player};

/// Messages whose intended start lies this long before a resident's end must have been sent before that end, even by a
/// late generator.
const LATENESS_MAX: Duration = Duration::from_secs(1);

/// An order to a resident.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    Stay,
    /// Send the last message, wait for its acknowledgement, and close.
    Leave,
    /// Send the last message; then neither read nor write, and keep the connection.
    Vanish,
    /// Send the last message; then go on sending, but read nothing.
    StopReading,
    /// Close: nobody talks any more.
    Close,
}

/// The place of a player.
pub struct Place {
    pub room: String,
    pub seat: Option<String>,
    pub capacity: usize,
}

pub struct Resident {
    /// Number of the player, unique in the whole run.
    pub number: u32,
    /// The server or cluster that it plays on.
    pub lane: usize,
    /// Id of the room, as messages name it.
    pub room: String,
    /// The seat to give back, if the generator keeps seats.
    pub seat: Option<String>,
    pub writer: Rc<SocketWriter>,
    pub user: String,
    /// Time of joining, by the machine's clock.
    pub joined_us: u64,
    pub order: Cell<Order>,
    pub ordered: Notify,
    said: Cell<u32>,
    acknowledged: Cell<u32>,
    /// Whether the last message has been sent.
    has_said_last: Cell<bool>,
    /// Intended start of the latest message, or a period before that of the first.
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

    /// Sets the intended start of the first message to a period after `before_us`.
    pub fn begin_at(&self, before_us: u64) {
        self.latest_us.set(before_us);
    }

    /// Expects every message of `other` from now on. A player that has sent its last message may still be in the room:
    /// only the server knows whether that was before this one came.
    pub fn expect(&self, other: &Self) {
        if other.has_said_last.get() {
            return;
        }
        self.inbox.borrow_mut().expect(other.number, other.said.get(), other.latest_us.get());
    }

    pub fn has_all_before(&self, time_us: u64, period: Duration) -> bool {
        self.inbox.borrow().is_complete(time_us, period)
    }

    /// Number of messages with an intended start before `time_us` that never came.
    pub fn lost_before(&self, time_us: u64, period: Duration) -> u64 {
        self.inbox.borrow().lost_before(time_us, period)
    }

    /// Number of messages without an acknowledgement.
    pub fn unacknowledged(&self) -> u64 {
        u64::from(self.said.get() - self.acknowledged.get())
    }

    /// Sends a message whose intended start is `intended`.
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
        // The reader reports a lost connection.
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

    fn take_said(&self, hall: &Hall, said: &PlayerMessage<'_>) -> Result<(), Fault> {
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

    /// Counts the messages that this player did not receive although they were sent before it went.
    pub fn settle(&self, hall: &Hall, until: Instant) {
        let until = until.checked_sub(LATENESS_MAX).unwrap_or(until);
        let lost = self.lost_before(hall.worker.clock.time_us(until), hall.metronome.period());
        hall.worker.tally.borrow_mut().fail_many(Fault::MessageLost.to_string(), lost);
    }
}

/// Close code 1000 of RFC 6455.
const NORMAL_CLOSURE: u16 = 1000;

/// The number of the first message that left after the receiver had joined, given that senders talk once a period.
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
