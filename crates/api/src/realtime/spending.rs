//! The budget that pays for a message, and the refusal of messages of sessions that are over their budget.

use muster_domain::budget::{OverBudget, REFUSED_HOLD_MS, Spending, UNIT_BYTES};
use muster_domain::ladder::Rung;
use muster_live::stream::mode;
use muster_live::{CloseReason, Plane, StreamKey};
use muster_wire::code::Code;
use muster_wire::realtime::envelope::Message;
use muster_wire::realtime::{self, Envelope};

use super::functions::CODE_KEY;
use super::{MessageAnswer, SocketSession};
use crate::metrics::add;

/// The key in the error's context of the milliseconds after which the client may send the next message.
const RETRY_KEY: &str = "retry_after_ms";

/// Functions by which a member of a room tells something to all of them.
const TELLING_ROOMS: [&str; 4] =
    ["muster.rooms.send", "muster.rooms.set", "muster.rooms.set_player", "muster.rooms.update"];

/// The budget that pays for a message.
fn spending(message: &Message) -> Spending {
    match message {
        Message::ChannelMessageSend(_) | Message::ChannelMessageUpdate(_) | Message::ChannelMessageRemove(_) => {
            Spending::Chat
        }
        Message::MatchDataSend(_) => Spending::MatchData,
        Message::PartyDataSend(_) => Spending::PartyData,
        Message::Rpc(_) => Spending::Functions,
        Message::Ping(_) | Message::Pong(_) => Spending::Pings,
        _ => Spending::Requests,
    }
}

impl SocketSession {
    /// Pays for a message of so many bytes. Answers the budget that paid, or the refusal of the message.
    pub(super) fn pay(&self, message: &Message, bytes: usize) -> Result<Spending, (Spending, OverBudget)> {
        let what = spending(message);
        let (config, mut budgets) = (&self.app.budgets, self.budgets.borrow_mut());
        if let Err(over) = budgets.check(what, config, || self.app.clock.now()) {
            add(&self.app.metrics.limited(what).refused, 1);
            self.hold_ms.set(REFUSED_HOLD_MS);
            return Err((what, over));
        }
        budgets.spend(what, 1 + bytes / UNIT_BYTES, config);
        Ok(what)
    }

    /// Pays for the bytes that all who hear a stream are sent together.
    pub(super) fn pay_for_all(&self, stream: &StreamKey, bytes: usize) {
        let hearers = self.app.live.look(|plane| plane.hearers(stream));
        self.pay_for(hearers, bytes);
    }

    /// Pays for what a function tells all members of the session's rooms.
    pub(super) fn pay_for_rooms(&self, function: &str, bytes: usize) {
        if TELLING_ROOMS.contains(&function) {
            let hearers = |plane: &Plane| -> usize {
                let rooms = plane.streams_of(self.key, mode::ROOM);
                rooms.iter().map(|room| plane.hearers(room)).sum()
            };
            self.pay_for(self.app.live.look(hearers), bytes);
        }
    }

    /// Pays for the bytes that so many sessions are sent together.
    pub(super) fn pay_for(&self, receivers: usize, bytes: usize) {
        let bytes = receivers.saturating_mul(bytes);
        self.budgets.borrow_mut().spend(Spending::FanOut, bytes, &self.app.budgets);
    }

    /// Slows the session if the message that was handled has put its budget into debt.
    pub(super) fn slow(&self, what: Spending) {
        let held_ms = self.budgets.borrow_mut().slow_ms(what, &self.app.budgets, || self.app.clock.now());
        if held_ms > 0 {
            add(&self.app.metrics.limited(what).slowed, 1);
            self.hold_ms.set(held_ms);
        }
    }

    /// The time for which the socket should not be read after the last message, in milliseconds. Answered once.
    pub fn take_hold_ms(&self) -> u32 {
        self.hold_ms.replace(0)
    }

    /// The answer to a message over the session's budget, and what the ladder says.
    pub(super) fn over_budget(&self, cid: String, what: Spending, over: OverBudget) -> MessageAnswer {
        let name = what.name();
        let seconds = over.retry_after_ms.div_ceil(1_000);
        let error = realtime::Error {
            code: Code::ResourceExhausted.number().into(),
            message: format!("Too many messages of this kind ({name}). Please try again in {seconds} seconds."),
            context: [
                (CODE_KEY.to_owned(), Code::ResourceExhausted.number().to_string()),
                (RETRY_KEY.to_owned(), over.retry_after_ms.to_string()),
            ]
            .into(),
        };
        let answer = Envelope::reply(cid, Message::Error(error));
        MessageAnswer::Refusal(answer, over.rung.and_then(|rung| self.climb(what, rung)))
    }

    /// Does what a rung says. Answers the reason for which the socket closes, if it does.
    fn climb(&self, what: Spending, rung: Rung) -> Option<CloseReason> {
        let (kind, user_id) = (what.name(), self.claims.user_id);
        let address = self.client.borrow().address.map(tracing::field::display);
        tracing::warn!(kind, %user_id, address, ?rung, "a session floods: its messages are refused");
        match rung {
            Rung::Warn | Rung::Mute { .. } => None,
            Rung::Kick => Some(CloseReason::Flooding),
            Rung::Refuse { sec } => {
                let until = self.app.clock.now().plus_seconds(sec.into());
                self.app.barred.bar(user_id, until);
                Some(CloseReason::Flooding)
            }
        }
    }
}
