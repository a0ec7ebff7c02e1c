//! What a step of the plane wants done.

use bytes::Bytes;

use super::asked_matches::AskedMatch;
use super::message::{Message, Reply, RequestRef};
use super::moves::Claim;
use super::orders::Order;
use super::pool::Matched;
use super::recovery::Recoverable;
use super::tickets::EndedTicket;
use crate::close::CloseReason;
use crate::matches::{Call, MatchId};
use crate::outbox::Delivery;
use crate::place::{Epoch, Partition, Place};
use crate::registry::SessionKey;

/// What is to be done with handlers of matches.
#[derive(Debug)]
pub enum HandlerOrder {
    /// It is to be called. What comes of it is for [`super::Plane::match_returned`].
    Call(Box<Call>),
    /// The match has ended: what is kept for it is to be put away.
    Drop(MatchId),
    /// These partitions are this place's from an epoch on: the logs of their matches are to be taken over, and what they have
    /// of each partition is for [`super::Plane::matches_taken_over`]. Calls of matches that are found there come after that;
    /// the first call of one that is new may come before, and is to wait.
    TakeOver(Vec<(Partition, Epoch)>),
    /// No call of the partition's durable matches is under way, and none comes. Their log is to be given up, when all that is
    /// in it and what lets the next owner go on soon is kept; then [`super::Plane::matches_released`] is to be told.
    Release(Partition),
    /// The partition was given to another place, or anew to this one: its matches are to be put away as they are. Nothing more
    /// is to be written to their log, and what comes of their calls is for nobody.
    Forget(Partition),
}

/// The effects of a step, to be carried out in this order: which questions were answered, what sessions are sent, which
/// of them close, what other shards are told. Who learns from an answer who is on a stream must learn it before the
/// events that follow: events once more, from before, change nothing, but an answer behind its events would undo them.
#[derive(Debug, Default)]
pub struct Output {
    /// Answers to questions of this shard.
    pub replies: Vec<(u64, Reply)>,
    /// Frames for sessions of this shard.
    pub deliveries: Vec<(SessionKey, Bytes, Delivery)>,
    /// Sessions of this shard to be closed, after what they were sent.
    pub closes: Vec<(SessionKey, CloseReason)>,
    /// Messages for other shards, in order for each.
    pub sends: Vec<(Place, Message)>,
    /// What the matchmaker matched: its players are to be told.
    pub matches: Vec<Matched>,
    /// What the matchmaker matched and game code is to be asked of first, in this order.
    pub asked_matches: Vec<AskedMatch>,
    /// Tickets that end without a match, for players who are to be told.
    pub ended_tickets: Vec<EndedTicket>,
    /// Partitions that this place has handed over, and since when they are others'.
    pub handed_over: Vec<(Partition, Epoch)>,
    /// Sessions of this shard that are to go on elsewhere, and whom to tell what becomes of that.
    pub claims: Vec<(RequestRef, Claim)>,
    /// What is to be done with handlers of matches, in order.
    pub handlers: Vec<HandlerOrder>,
    /// What is to be done with sessions of this shard, and whom to tell what becomes of that.
    pub orders: Vec<(RequestRef, Order)>,
    /// What is to be kept for whoever owns it after a crash. Nobody waits for it.
    pub recoverable: Vec<Recoverable>,
    /// Partitions of dead owners that this place owns from an epoch on: what was kept of them is to be given to
    /// [`super::Plane::recovered`].
    pub recovering: Vec<(Partition, Epoch)>,
}

impl Output {
    /// Whether nothing is to be done.
    pub fn is_empty(&self) -> bool {
        self.deliveries.is_empty()
            && self.closes.is_empty()
            && self.sends.is_empty()
            && self.replies.is_empty()
            && self.matches.is_empty()
            && self.asked_matches.is_empty()
            && self.ended_tickets.is_empty()
            && self.handed_over.is_empty()
            && self.claims.is_empty()
            && self.handlers.is_empty()
            && self.orders.is_empty()
            && self.recoverable.is_empty()
            && self.recovering.is_empty()
    }
}
