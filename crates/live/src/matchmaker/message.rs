//! Questions to the owner of the pool, its answers, and the parts in which the pool crosses nodes. All of it is data.

use std::sync::Arc;

use muster_domain::Timestamp;
use muster_domain::ids::SessionId;

use super::carry::{CarriedPasses, CarriedTicket};
use super::explain::Explanation;
use super::stats::Completion;
use super::ticket::{NewTicket, TicketId, TicketOwner};
use crate::place::Partition;
use crate::session::Millis;
use crate::stream::{Presence, SessionRef};

/// The name of a pool of tickets.
pub(crate) struct PoolName(&'static str);

/// The pool of all tickets.
pub(crate) const POOL: PoolName = PoolName("matchmaker");

impl PoolName {
    /// The partition of the pool.
    pub(crate) fn partition(&self) -> Partition {
        Partition::of_name(self.0)
    }
}

/// The partition of the pool of all tickets.
pub fn pool_partition() -> Partition {
    POOL.partition()
}

/// A question to the pool's owner.
#[derive(Debug)]
pub enum PoolAsk {
    /// A ticket is put in.
    Add(Box<NewTicket<Presence>>),
    /// A ticket of an owner is taken back.
    Remove(TicketId, TicketOwner),
    /// A session closed: all tickets that it is on end.
    RemoveSession(SessionId),
    /// A session goes on at another place.
    Rebind(SessionId, SessionRef),
    /// All tickets of an owner are taken back.
    RemoveOwner(TicketOwner),
    /// All tickets of an owner are lost without its doing: their players are told.
    LoseOwner(TicketOwner),
    /// A ticket ends because it is bound to this session, which is not where the pool believes it to be.
    RemoveStray(TicketId, SessionRef),
    /// The question why a ticket waits. If an owner is given, the ticket must be that owner's.
    Explain(TicketId, Option<TicketOwner>),
    /// The load of the pool is asked for.
    Stats,
}

/// An answer of the pool's owner.
#[derive(Clone, Debug, PartialEq)]
pub enum PoolReply {
    /// The change was made.
    Done,
    /// The reason why a ticket waits.
    Explained(Box<Explanation>),
    /// The load of the pool.
    Stats(Box<PoolStats>),
}

/// An answer of the pool's owner, or its refusal.
pub type PoolAnswer = muster_domain::Result<PoolReply>;

/// The load of a pool.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PoolStats {
    /// Number of tickets that wait.
    pub tickets: usize,
    /// Number of the waiting tickets that still search.
    pub active: usize,
    /// The time when the longest waiting ticket was made.
    pub oldest: Option<Timestamp>,
    /// The last tickets that were matched, newest first.
    pub completions: Vec<Completion>,
}

/// A ticket that a session is on.
#[derive(Clone, Debug, PartialEq)]
pub struct OnTicket {
    /// The ticket's id.
    pub id: TicketId,
    /// The ticket as it was asked for, and its age in milliseconds; `None` at all places but the one where the ticket
    /// was asked for.
    pub asked: Option<(Arc<NewTicket<Presence>>, Millis)>,
}

/// A session's relation to a ticket, as the session's place knows it.
#[derive(Clone, Debug, PartialEq)]
pub struct TicketStanding {
    /// The session.
    pub session: SessionRef,
    /// The session's public id.
    pub session_id: SessionId,
    /// The ticket.
    pub on: OnTicket,
}

/// A part of the pool, for its next owner.
#[derive(Clone, Debug)]
pub enum CarriedPool {
    /// A ticket.
    Ticket(Box<CarriedTicket<Presence>>),
    /// The pool without its tickets; sent behind them.
    Rest {
        /// Progress of the passes.
        passes: CarriedPasses,
        /// Milliseconds until the next pass begins, if one is to.
        due_ms: Option<Millis>,
    },
}
