//! Durable matches: those that outlive the process, and the machine, that runs them.
//!
//! Their ids name no place but a partition, which has another owner when its owner dies. What a match is to the plane is
//! its [`Outline`], which follows from the calls of its handler and what came of them: whoever replays these has it.

use std::sync::Arc;

use muster_domain::Timestamp;

use super::call::Broadcast;
use super::owner::MatchId;
use crate::stream::Presence;

/// Somebody in a match.
#[derive(Clone, Debug, PartialEq)]
pub struct Seated {
    /// Who.
    pub presence: Arc<Presence>,
    /// Whether the handler was told that they came.
    pub has_joined: bool,
}

/// What there is to a match besides its handler's state.
#[derive(Clone, Debug, PartialEq)]
pub struct Outline {
    /// Which.
    pub id: MatchId,
    /// Whose callbacks are called.
    pub handler: Arc<str>,
    /// When it was asked for.
    pub created_at: Timestamp,
    /// Loops a second; 0 before it has begun.
    pub tick_rate: u32,
    /// The loops that there were so far.
    pub tick: u64,
    /// By what it is found.
    pub label: Arc<str>,
    /// Who is in it, in the order in which they came.
    pub players: Vec<Seated>,
    /// What is sent behind the next loop.
    pub deferred: Vec<Broadcast>,
}
