//! Descriptions of a room: its public summary, and the state that members get. Never holds a password or private values
//! of others.

use std::sync::Arc;

use muster_domain::UserId;

use super::effect::Actor;
use super::message::RoomId;
use super::path::RoomPath;
use super::variables::Named;

/// A room as listings show it. Never holds the password.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    /// The room's id.
    pub id: RoomId,
    /// The name that players see; may be empty.
    pub name: Arc<str>,
    /// The template that the room was made from.
    pub template: Option<Arc<str>>,
    /// The room's path.
    pub path: RoomPath,
    /// Number of seats.
    pub capacity: u32,
    /// Number of players.
    pub players: u32,
    /// Seats that are neither taken nor held.
    pub free: u32,
    /// Number of spectators.
    pub spectators: u32,
    /// The largest number of spectators.
    pub spectators_max: u32,
    /// Whether the room has a password.
    pub locked: bool,
    /// Whether players without a reservation may come.
    pub open: bool,
    /// The player who owns the room.
    pub owner: Option<UserId>,
    /// Values that the owner set.
    pub properties: Vec<Named>,
    /// Values that members set.
    pub variables: Vec<Named>,
}

/// Work of showing a room in a listing, apart from its values.
const SHOW_UNITS: u32 = 4;
/// Bytes of values that are shown in one unit of work.
const BYTES_SHOWN_PER_UNIT: usize = 32;

impl Summary {
    /// Work of showing the room in a listing, in units of [`Work`](muster_domain::query::Work).
    pub(super) fn show_units(&self) -> u32 {
        let values = self.properties.iter().chain(&self.variables);
        let bytes: usize = values.map(|(name, value)| name.len() + value.as_json().len()).sum();
        // A room's values have bounded sizes.
        SHOW_UNITS + (bytes / BYTES_SHOWN_PER_UNIT) as u32
    }
}

/// A room as one user sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoomState {
    /// The public part.
    pub summary: Summary,
    /// Version of the room's variables.
    pub version: u64,
    /// The members in the order of their arrival, at most [`super::limits::MEMBERS_LISTED_MAX`]. Empty for users who
    /// are not in the room.
    pub members: Vec<MemberState>,
    /// Number of members, listed or not.
    pub members_total: usize,
}

/// A member of a room as one user sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemberState {
    /// The member's session and user.
    pub who: Actor,
    /// The seat; `None` for spectators.
    pub seat: Option<u32>,
    /// The member's public variables; for the member itself the private ones too.
    pub variables: Vec<Named>,
}
