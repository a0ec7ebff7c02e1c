//! The limits of rooms, each with its name. Limits that depend on a server's size are in [`super::RoomsConfig`]
//! instead. Nothing here enforces them.

use crate::session::Millis;

/// The largest number of players that a room may be made for.
pub const CAPACITY_MAX: u32 = 10_000;

/// The largest number of spectators that a room may be made for.
pub const SPECTATORS_MAX: u32 = 100_000;

/// The largest number of bytes of a room's name.
pub const ROOM_NAME_BYTES_MAX: usize = 128;

/// The largest number of bytes of a path.
pub const PATH_BYTES_MAX: usize = 128;

/// The largest number of segments of a path.
pub const PATH_SEGMENTS_MAX: usize = 8;

/// The largest number of bytes of a room's password.
pub const PASSWORD_BYTES_MAX: usize = 128;

/// The number of wrong passwords of one user for one room, after which the room refuses all passwords of that user for
/// a pause.
pub const PASSWORD_ATTEMPTS_MAX: u32 = 5;

/// Length of the pause in which a room refuses all passwords of a user, counted from the last wrong password.
pub const PASSWORD_PAUSE_MS: Millis = 30_000;

/// The largest number of users whose wrong passwords a room remembers; the least recent one is forgotten first.
pub const PASSWORD_USERS_MAX: usize = 1_000;

/// The largest number of properties of a room.
pub const PROPERTIES_MAX: usize = 32;

/// The largest number of room variables.
pub const ROOM_VARIABLES_MAX: usize = 64;

/// The largest number of variables of one player.
pub const PLAYER_VARIABLES_MAX: usize = 16;

/// The largest number of bytes of the name of a property or variable.
pub const VARIABLE_NAME_BYTES_MAX: usize = 64;

/// The largest number of bytes of the JSON of one property or variable.
pub const VALUE_BYTES_MAX: usize = 2_048;

/// The largest number of bytes of names and values in a room's properties. The same limit applies to the room's
/// variables.
pub const ROOM_VALUES_BYTES_MAX: usize = 16_384;

/// The largest number of bytes of names and values in one player's variables.
pub const PLAYER_VALUES_BYTES_MAX: usize = 4_096;

/// The largest number of bytes of a message.
pub const MESSAGE_BYTES_MAX: usize = 4_096;

/// The largest number of receivers of a private message.
pub const RECIPIENTS_MAX: usize = 100;

/// The largest number of members that the state of a room lists. The state also has the number of all members.
pub const MEMBERS_LISTED_MAX: usize = 200;

/// The largest number of users that a room keeps out at a time.
pub const BARRED_MAX: usize = 1_000;

/// Longest time that a kicked user is kept out.
pub const BAR_MS_MAX: Millis = 24 * 60 * 60 * 1_000;

/// Longest time that an empty room is kept.
pub const EMPTY_MS_MAX: Millis = 60 * 60 * 1_000;

/// The number of rooms that a placement or a quick join tries before it gives up.
pub const ATTEMPTS_MAX: usize = 8;

/// The largest number of rooms of a page of a listing.
pub const PAGE_ROOMS_MAX: usize = 100;

/// Most work of one search for rooms, in units of [`Work`](muster_domain::query::Work): about a millisecond. A page
/// ends there, and the next one goes on behind it.
pub const FIND_UNITS: u32 = 20_000;

/// The largest number of searches for rooms that wait for slices. Further ones are refused.
pub const SEARCHES_WAITING_MAX: usize = 256;

/// The shortest interval between two pushes that watchers of the lobby may ask for.
pub const LOBBY_INTERVAL_MS_MIN: Millis = 250;

/// The longest interval between two pushes that watchers of the lobby may ask for.
pub const LOBBY_INTERVAL_MS_MAX: Millis = 60_000;

/// The largest number of rooms that watchers of the lobby may ask for in one push. Changes of further rooms wait,
/// merged, for the next push.
pub const LOBBY_PUSH_ROOMS_MAX: usize = 50;

/// The largest number of views of the lobby (different paths, filters and budgets) at a time.
pub const LOBBY_VIEWS_MAX: usize = 1_000;

/// The largest number of views of the lobby that one session watches.
pub const LOBBY_VIEWS_PER_SESSION_MAX: usize = 8;

/// The largest number of views of the lobby that one user was the first to ask for.
pub const LOBBY_VIEWS_PER_USER_MAX: usize = 16;

/// Work of all views in one slice, about a millisecond.
pub const LOBBY_SLICE_UNITS: u32 = 20_000;

/// A view's share of work each time it has its turn. Work beyond the share is taken off the next ones.
pub const LOBBY_VIEW_UNITS: u32 = 1_000;

/// Most work of one push. Changes of further rooms wait, merged, for the next push.
pub const LOBBY_PUSH_UNITS_MAX: u32 = 5_000;

/// The largest number of changes that wait until each view has judged them. A view that is further behind begins anew.
pub const LOBBY_NEWS_MAX: usize = 10_000;

/// The largest number of bytes of all rooms in these changes.
pub const LOBBY_NEWS_BYTES_MAX: usize = 16 * 1_024 * 1_024;

/// The largest number of rooms of one shard in which seats are held for one user at a time.
pub const RESERVATIONS_PER_USER_MAX: usize = 4;

/// Time for which a room holds no seat for a user who let one go by.
pub const RESERVATION_PAUSE_MS: Millis = 30_000;

/// The largest number of users that a room remembers for having let a seat go by; the least recent is forgotten first.
pub const RESERVATION_USERS_MAX: usize = 1_000;

/// The largest number of bytes of a filter.
pub const FILTER_BYTES_MAX: usize = 1_024;

/// Time for which changes of a room's counts and variables are gathered before the directory learns of them. The
/// directory learns at once that a room opened or closed, or that its owner changed its settings.
pub const LISTING_INTERVAL_MS: Millis = 100;
