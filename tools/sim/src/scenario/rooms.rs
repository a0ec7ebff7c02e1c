//! Actions of players on rooms and the lobby, and the settings of rooms. All numbers are small, so that limits are
//! reached. Details that an act leaves open are drawn at random by the seed of the act.

use std::sync::Arc;

use fastrand::Rng;
use muster_live::Millis;
use muster_live::rooms::{RoomPath, RoomsConfig, Template, Templates, ViewKey};

use super::pick;

/// The use that a player makes of a reservation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SeatPlan {
    /// The player joins as soon as the reservation is known.
    Join,
    /// The player waits, and perhaps joins later.
    Wait,
    /// The player's session closes.
    Die,
}

/// An action of a player on rooms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RoomAct {
    /// Make a room, freely or from a template.
    Create(SeatPlan),
    /// Ask for a seat in any room of a template.
    Place(usize, SeatPlan),
    /// Ask for a seat in any room that fits a filter.
    QuickJoin(SeatPlan),
    /// Join a room by its id, as a player or spectator.
    Join,
    /// Leave a room, sometimes over HTTP.
    Leave,
    /// Read a room's state.
    Look,
    /// Send a message to all members.
    Say,
    /// Send a message to some members.
    Whisper,
    /// Change room variables.
    Set,
    /// Change the player's own variables.
    SetOwn,
    /// Kick a member.
    Kick,
    /// Become a spectator or a player.
    Spectate,
    /// Change settings of the room.
    Update,
    /// Read a listing.
    Find,
    /// Watch a view of the lobby.
    Watch,
    /// Stop watching a view.
    Unwatch,
}

/// Names of templates by number. No template has the last name.
pub const TEMPLATES: [&str; 5] = ["pair", "table", "brief", "secret", "missing"];

/// Number of templates that exist.
pub const TEMPLATES_COUNT: usize = TEMPLATES.len() - 1;

/// Paths of rooms.
pub const PATHS: [&str; 4] = ["", "games", "games/pair", "other"];

/// Filters of listings and views.
pub const FILTERS: [&str; 4] = ["", "+open:T", "+players:>=2", "-locked:T +variables.v0:1"];

/// The template of a number.
pub fn template(number: usize) -> Template {
    let named = Template::new(TEMPLATES[number]);
    let path = |text| RoomPath::new(text).unwrap_or_default();
    match number {
        0 => Template { sizes: (2, 2), path: path("games/pair"), owned: false, ..named },
        1 => Template { sizes: (1, 4), path: path("games"), spectators_max: 2, empty_ms: 40, ..named },
        2 => Template { sizes: (3, 3), life_ms: Some(400), empty_ms: 1_000, ..named },
        _ => Template { sizes: (2, 5), hidden: true, ..named },
    }
}

/// Settings of rooms.
pub fn config(rng: &mut Rng) -> RoomsConfig {
    RoomsConfig {
        templates: Templates::new((0..TEMPLATES_COUNT).map(template)),
        reservation_ms: pick(rng, &[5, 60, 500]),
        rooms_max: pick(rng, &[2, 100_000, 100_000, 100_000]),
        rooms_per_creator_max: pick(rng, &[1, 2, 10]),
    }
}

/// The view of the lobby with this number.
pub fn view(number: usize) -> ViewKey {
    let path = RoomPath::new(PATHS[number % PATHS.len()]).unwrap_or_default();
    let filter: Arc<str> = FILTERS[number / PATHS.len() % FILTERS.len()].into();
    let interval_ms: Millis = if number.is_multiple_of(2) { 250 } else { 400 };
    ViewKey { path, filter, interval_ms, rooms_max: [1, 2, 50][number % 3] }
}

/// Number of views that sessions watch.
pub const VIEWS: usize = 6;

/// A random action on rooms.
pub fn act(rng: &mut Rng) -> RoomAct {
    let then =
        pick(rng, &[SeatPlan::Join, SeatPlan::Join, SeatPlan::Join, SeatPlan::Join, SeatPlan::Wait, SeatPlan::Die]);
    match rng.u8(0..40) {
        0..=3 => RoomAct::Create(then),
        4..=8 => RoomAct::Place(pick(rng, &[0, 0, 1, 1, 2, 3, 4]), then),
        9..=10 => RoomAct::QuickJoin(then),
        11..=15 => RoomAct::Join,
        16..=17 => RoomAct::Leave,
        18 => RoomAct::Look,
        19..=22 => RoomAct::Say,
        23..=24 => RoomAct::Whisper,
        25..=27 => RoomAct::Set,
        28..=29 => RoomAct::SetOwn,
        30..=31 => RoomAct::Kick,
        32..=33 => RoomAct::Spectate,
        34..=35 => RoomAct::Update,
        36 => RoomAct::Find,
        37..=38 => RoomAct::Watch,
        _ => RoomAct::Unwatch,
    }
}
