//! Muster's additions to the protocol, for which no message was changed. Requests are `rpc` messages with ids of this
//! prefix. Pushes are `stream_data` and `stream_presence_event` on modes that neither the protocol nor game code uses.

/// The beginning of the ids of built-in functions.
pub const FUNCTION_PREFIX: &str = "muster.";

/// The modes of Muster's own streams, from [`mode::FIRST`] to [`mode::LAST`].
pub mod mode {
    /// The first mode.
    pub const FIRST: u8 = 200;
    /// The last mode.
    pub const LAST: u8 = 219;
    /// The stream of a session that may change its socket: see the reference, "Sessions that survive their socket".
    pub const SESSION: u8 = 200;
    /// The stream of a room, whose subject is the room's id: see the reference, "Rooms and lobby".
    pub const ROOM: u8 = 201;
    /// The stream of a view of the lobby, whose label is the view's name.
    pub const LOBBY: u8 = 202;
}
