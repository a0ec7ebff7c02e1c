//! What Muster adds to the protocol without changing a message: requests are `rpc` with ids of this prefix, pushes are
//! `stream_data` and `stream_presence_event` on modes that neither the protocol nor game code uses.

/// How ids of built-in functions begin.
pub const FUNCTION_PREFIX: &str = "muster.";

/// Modes of streams that are Muster's own: from [`mode::FIRST`] to [`mode::LAST`].
pub mod mode {
    /// The first of them.
    pub const FIRST: u8 = 200;
    /// The last of them.
    pub const LAST: u8 = 219;
    /// A session that may change its socket: see the reference, "Sessions that survive their socket".
    pub const SESSION: u8 = 200;
    /// A room; the subject is its id: see the reference, "Rooms and lobby".
    pub const ROOM: u8 = 201;
    /// A view of the lobby; the label is its name.
    pub const LOBBY: u8 = 202;
}
