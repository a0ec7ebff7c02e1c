//! The limits of rooms, each with its name. Limits that depend on a server's size are in [`super::RoomsConfig`]
//! instead. Nothing here enforces them.

use crate::session::Millis;

/// Most players that a room may be made for.
pub const CAPACITY_MAX: u32 = 10_000;

/// Most spectators that a room may be made for.
pub const SPECTATORS_MAX: u32 = 100_000;

/// Most bytes of a room's name.
pub const ROOM_NAME_BYTES_MAX: usize = 128;

/// Most bytes of a path.
pub const PATH_BYTES_MAX: usize = 128;

/// Most segments of a path.
pub const PATH_SEGMENTS_MAX: usize = 8;

/// Most bytes of a room's password.
pub const PASSWORD_BYTES_MAX: usize = 128;

/// Wrong passwords of one user for one room, after which the room refuses all passwords of that user for a pause.
pub const PASSWORD_ATTEMPTS_MAX: u32 = 5;

/// Length of that pause, counted from the last wrong password.
pub const PASSWORD_PAUSE_MS: Millis = 30_000;

/// Most users whose wrong passwords a room remembers; the least recent one is forgotten first.
pub const PASSWORD_USERS_MAX: usize = 1_000;

/// Most properties of a room.
pub const PROPERTIES_MAX: usize = 32;

/// Most room variables.
pub const ROOM_VARIABLES_MAX: usize = 64;

/// Most variables of one player.
pub const PLAYER_VARIABLES_MAX: usize = 16;

/// Most bytes of the name of a property or variable.
pub const VARIABLE_NAME_BYTES_MAX: usize = 64;

/// Most bytes of the JSON of one property or variable.
pub const VALUE_BYTES_MAX: usize = 2_048;

/// Most bytes of names and values in a room's properties, and as many in its variables.
pub const ROOM_VALUES_BYTES_MAX: usize = 16_384;

/// Most bytes of names and values in one player's variables.
pub const PLAYER_VALUES_BYTES_MAX: usize = 4_096;

/// Most bytes of a message.
pub const MESSAGE_BYTES_MAX: usize = 4_096;

/// Most receivers of a private message.
pub const RECIPIENTS_MAX: usize = 100;

/// Most members that the state of a room lists; the state says how many there are in all.
pub const MEMBERS_LISTED_MAX: usize = 200;

/// Most users that a room keeps out at a time.
pub const BARRED_MAX: usize = 1_000;

/// Longest time that a kicked user is kept out.
pub const BAR_MS_MAX: Millis = 24 * 60 * 60 * 1_000;

/// Longest time that an empty room is kept.
pub const EMPTY_MS_MAX: Millis = 60 * 60 * 1_000;

/// Rooms that a placement or a quick join tries before it gives up.
pub const ATTEMPTS_MAX: usize = 8;

/// Most rooms of a page of a listing.
pub const PAGE_ROOMS_MAX: usize = 100;

/// Fewest milliseconds between two pushes of a lobby.
pub const LOBBY_INTERVAL_MS_MIN: Millis = 250;

/// Most milliseconds between two pushes of a lobby.
pub const LOBBY_INTERVAL_MS_MAX: Millis = 60_000;

/// Most rooms of one push of a lobby; changes of others wait, merged, for the next push.
pub const LOBBY_PUSH_ROOMS_MAX: usize = 50;

/// Most views of the lobby (different paths, filters and budgets) at a time.
pub const LOBBY_VIEWS_MAX: usize = 1_000;

/// Most bytes of a filter.
pub const FILTER_BYTES_MAX: usize = 1_024;

/// How long changes of a room's counts and variables are gathered before the directory learns of them. The directory
/// learns at once that a room opened or closed, or that others may enter it.
pub const LISTING_INTERVAL_MS: Millis = 100;
