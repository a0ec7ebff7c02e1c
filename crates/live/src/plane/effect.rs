//! The effects of steps: everything that a plane wants done outside of itself, in one ordered list.
//!
//! Effects are carried out in the order in which they stand. So an answer that shows who is on a stream reaches its
//! asker before the events that follow it: an answer behind later events would undo them.

use bytes::Bytes;

use super::message::{Claim, Message, Order, Recoverable, Reply, RequestRef};
use crate::close::CloseReason;
use crate::matches::{Call, MatchId};
use crate::matchmaker::{FoundMatch, TicketId};
use crate::outbox::Delivery;
use crate::place::{Epoch, Partition, Place};
use crate::registry::SessionKey;
use crate::session::Millis;
use crate::stream::{Presence, SessionRef, SharedPayload, StreamKey};

/// An order to the engines that run match handlers.
#[derive(Debug)]
pub enum HandlerOrder {
    /// A handler is to be called. The return of the call is for [`super::Plane::match_returned`].
    Call(Box<Call>),
    /// The match has ended: its state is to be dropped.
    Drop(MatchId),
    /// These partitions are this place's, each from its epoch on. The engines are to take over the logs of their
    /// matches; the matches in each log are for [`super::Plane::matches_taken_over`]. Calls of matches in a log come
    /// after that. The first call of a new match may come before, and is to wait.
    TakeOver(Vec<(Partition, Epoch)>),
    /// No call of the partition's durable matches is under way, and none comes. The engines are to write everything
    /// that waits for the partition's log, with the data that let the next owner go on soon, and then to give the log
    /// up and tell [`super::Plane::matches_released`].
    Release(Partition),
    /// The partition was given to another place, or anew to this one. The engines are to put its matches away without
    /// writing anything more to their log. The returns of the matches' calls are dropped.
    Forget(Partition),
}

/// A match that the matchmaker found.
pub type Matched = FoundMatch<Presence>;

/// The number of a match whose players wait for game code, at the place that holds the match.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct AskedMatch(pub(crate) u64);

/// A ticket that ends without a match, and a player who is to be told, by [`super::Plane::push_of_tickets`].
pub type EndedTicket = (SessionRef, TicketId);

/// Chats whose kept messages are to be told again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recall {
    /// The partition of the chats and the epoch of its new owner, which waits with going on; `None` if nobody waits.
    pub rebuilt: Option<(Partition, Epoch)>,
    /// The chats.
    pub streams: Vec<StreamKey>,
    /// Time in milliseconds for which messages may have been lost until now.
    pub back_ms: Millis,
}

/// A message that the database kept.
#[derive(Clone, Debug)]
pub struct Recalled {
    /// The chat.
    pub stream: StreamKey,
    /// The content.
    pub payload: SharedPayload,
    /// The number by which places know the message, see [`Delivery::Kept`].
    pub number: u64,
    /// Time since the message was kept, in milliseconds.
    pub age_ms: u32,
}

/// One thing that a step wants done.
#[derive(Debug)]
pub enum Effect {
    /// The answer to a question of this shard, by the question's number.
    Reply(u64, Reply),
    /// A frame for a session of this shard.
    Deliver(SessionKey, Bytes, Delivery),
    /// A session of this shard closes, behind the frames that it was sent.
    Close(SessionKey, CloseReason),
    /// A message for another shard. The message is boxed, so that the most frequent effects, frames, stay small.
    Send(Place, Box<Message>),
    /// The matchmaker has matched players, who are to be told.
    Matched(Box<Matched>),
    /// The matchmaker has matched players, and game code is to be asked where they go before they are told.
    AskOfMatch(AskedMatch),
    /// A ticket ended without a match, and this player is to be told.
    EndTicket(EndedTicket),
    /// Partitions that this place has handed over arrived at their next owners, who own them since these epochs.
    HandedOver(Vec<(Partition, Epoch)>),
    /// A session of this shard is to go on elsewhere; the asker is to be told the outcome.
    Depart(RequestRef, Claim),
    /// An order to the engines that run match handlers.
    Handler(HandlerOrder),
    /// An order about sessions of this shard; the asker is to be told the outcome.
    Order(RequestRef, Box<Order>),
    /// Recovery data of these things, for their next owner after a crash. Nobody waits until they are kept.
    Keep(Vec<Recoverable>),
    /// This place owns these partitions of dead owners, each from its epoch on. Their recovery data are for
    /// [`super::Plane::recovered`].
    Recover(Vec<(Partition, Epoch)>),
    /// Messages of these chats may not have reached everybody, because a node has gone. Those that the database kept
    /// lately are for [`super::Plane::recalled`].
    Recall(Box<Recall>),
}

/// The effects of a step, to be carried out in this order.
#[derive(Debug, Default)]
pub struct Effects(Vec<Effect>);

impl Effects {
    /// Adds an effect behind those that there are.
    pub fn push(&mut self, effect: Effect) {
        self.0.push(effect);
    }

    /// Adds an answer to a question of this shard.
    pub fn reply(&mut self, request: u64, reply: Reply) {
        self.0.push(Effect::Reply(request, reply));
    }

    /// Adds an answer to a question that somebody may wait for.
    pub(crate) fn reply_if_asked(&mut self, request: Option<RequestRef>, reply: Reply) {
        if let Some(request) = request {
            self.reply(request.id, reply);
        }
    }

    /// Adds a frame for a session of this shard.
    pub(crate) fn deliver(&mut self, session: SessionKey, frame: Bytes, delivery: Delivery) {
        self.0.push(Effect::Deliver(session, frame, delivery));
    }

    /// Adds a message for another shard.
    pub(crate) fn send(&mut self, to: Place, message: Message) {
        self.0.push(Effect::Send(to, Box::new(message)));
    }

    /// Adds an order to the engines that run match handlers.
    pub(crate) fn order_handler(&mut self, order: HandlerOrder) {
        self.0.push(Effect::Handler(order));
    }

    /// Whether nothing is to be done.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The number of effects.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// The effects in their order, to be changed.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Effect> {
        self.0.iter_mut()
    }

    /// Takes the effects out in their order; the list keeps its capacity.
    pub fn drain(&mut self) -> impl Iterator<Item = Effect> {
        self.0.drain(..)
    }
}

impl Extend<Effect> for Effects {
    fn extend<I: IntoIterator<Item = Effect>>(&mut self, effects: I) {
        self.0.extend(effects);
    }
}

impl IntoIterator for Effects {
    type Item = Effect;
    type IntoIter = std::vec::IntoIter<Effect>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}
