//! Session tokens: their keys, their lifetimes, and how many a user may hold.

use super::super::{
    key::{Kind, Origin, at_least, honoured},
    secret::Secret,
};

honoured! {
    /// Session tokens.
    pub struct Session in "session." {
        /// Key that signs session tokens. Generated at first start; changing it ends all sessions.
        encryption_key: Secret = "", Kind::Secret, Origin::Differs { original: "defaultencryptionkey", why: "a published key lets anyone sign tokens" };
        /// Life of a session token, in seconds.
        token_expiry_sec: u64 = "60", at_least(1);
        /// Key that signs refresh tokens; must not be the one for session tokens. Generated at first start.
        refresh_encryption_key: Secret = "", Kind::Secret, Origin::Differs { original: "defaultrefreshencryptionkey", why: "a published key lets anyone sign tokens" };
        /// Life of a refresh token, in seconds.
        refresh_token_expiry_sec: u64 = "3600", at_least(1);
        /// Whether a user may have only one session: signing in ends the older ones.
        single_session: bool = "false", Kind::Flag;
        /// Whether a user may have only one socket: a new one closes the older ones.
        single_socket: bool = "false", Kind::Flag;
        /// Whether a user may be in only one match: joining another leaves the first. Needs `session.single_socket`.
        single_match: bool = "false", Kind::Flag;
        /// Whether a user may be in only one party: joining another leaves the first. Needs `session.single_socket`.
        single_party: bool = "false", Kind::Flag;
        /// Time that a session with resumption waits for its next socket after it has lost one, in milliseconds. 0
        /// turns resumption off.
        resume_grace_ms: u64 = "15000", at_least(0), Origin::Ours;
        /// Limit of the bytes of sent messages that are kept for such a session until its client confirms them, besides
        /// the room that `socket.outgoing_queue_bytes` leaves. A client that missed more begins anew.
        resume_buffer_bytes: usize = "131072", at_least(0), Origin::Ours;
        /// Number of sent messages that are kept for such a session, besides the room that `socket.outgoing_queue_size`
        /// leaves.
        resume_buffer_frames: usize = "4096", at_least(0), Origin::Ours;
        /// Largest number of sessions that wait for their next socket at a time; further sessions end with their
        /// socket.
        resume_max_waiting: usize = "10000", at_least(0), Origin::Ours;
    }
}
