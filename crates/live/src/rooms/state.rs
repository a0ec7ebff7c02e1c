//! What a room looks like from outside: to listings, and to those who come in.

use std::sync::Arc;

use muster_domain::UserId;

use super::effect::Actor;
use super::message::RoomId;
use super::path::RoomPath;
use super::variables::Named;

/// A room as listings show it. Never holds its password.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    /// Its id.
    pub id: RoomId,
    /// A name for players' eyes; may be empty.
    pub name: Arc<str>,
    /// The template it was made of.
    pub template: Option<Arc<str>>,
    /// Where it stands.
    pub path: RoomPath,
    /// Number of seats.
    pub capacity: u32,
    /// Players in it.
    pub players: u32,
    /// Seats neither taken nor held.
    pub free: u32,
    /// Spectators in it.
    pub spectators: u32,
    /// Most spectators.
    pub spectators_max: u32,
    /// Whether it has a password.
    pub locked: bool,
    /// Whether players without a reservation may come.
    pub open: bool,
    /// Who owns it.
    pub owner: Option<UserId>,
    /// What the owner says of it.
    pub properties: Vec<Named>,
    /// Its variables.
    pub variables: Vec<Named>,
}

/// A room as those in it see it when they come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoomState {
    /// What everybody may see.
    pub summary: Summary,
    /// The version of its variables.
    pub version: u64,
    /// Who is in it, in the order of coming; cut at [`super::limits::MEMBERS_LISTED_MAX`], and empty for others than
    /// members.
    pub members: Vec<MemberState>,
    /// How many that are uncut.
    pub members_total: usize,
}

/// Somebody in a room.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemberState {
    /// Who.
    pub who: Actor,
    /// The seat; none for spectators.
    pub seat: Option<u32>,
    /// The member's variables: public ones, and of oneself the private ones too.
    pub variables: Vec<Named>,
}
