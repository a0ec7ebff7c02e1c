//! The part of a plane that owns things: streams with their presences, parties, rooms, the matchmaker's pool, matches.
//!
//! An owner decides everything about its things, in the order in which it is asked, and tells the places of sessions.
//! An owner knows of sessions only what their places tell.

pub(crate) mod added;
pub(crate) mod asked_matches;
pub(crate) mod carried_streams;
pub(crate) mod match_logs;
pub(crate) mod matches;
pub mod owned;
mod owning;
pub(crate) mod parties;
pub(crate) mod pool;
pub(crate) mod presences;
pub(crate) mod rebuilding;
pub(crate) mod rooms;
pub(crate) mod rosters;
pub(crate) mod streams;
pub(crate) mod telling;
pub(crate) mod things;

use std::collections::VecDeque;

pub use owning::Owning;
use streams::Streams;
use things::Things;

use super::message::Up;
use super::options::PlaneConfig;
use crate::place::Place;

/// Everything that a place owns.
pub(crate) struct Owners {
    pub streams: Streams,
    pub things: Things,
    /// Messages to this place as an owner that wait until the way down is free, in order, with the place that sent
    /// each.
    pub held: VecDeque<(Place, Up)>,
}

impl Owners {
    pub(crate) fn new(config: &PlaneConfig) -> Self {
        Self { streams: Streams::default(), things: Things::new(config), held: VecDeque::new() }
    }
}
