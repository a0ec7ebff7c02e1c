//! Session tokens: their keys, their life, and how many a user may hold.

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
        /// A user may have one session: signing in ends the older ones.
        single_session: bool = "false", Kind::Flag;
        /// A user may have one socket: a new one closes the older ones.
        single_socket: bool = "false", Kind::Flag;
        /// A user may be in one match: joining another leaves the first. Needs `session.single_socket`.
        single_match: bool = "false", Kind::Flag;
        /// A user may be in one party: joining another leaves the first. Needs `session.single_socket`.
        single_party: bool = "false", Kind::Flag;
        /// How long a session that asked for it waits for its next socket when it has lost one, in milliseconds. 0: none waits.
        resume_grace_ms: u64 = "15000", at_least(0), Origin::Ours;
        /// Bytes kept of what was sent to such a session, until its client is known to have them, besides what `socket.outgoing_queue_bytes` leaves free. Who missed more begins anew.
        resume_buffer_bytes: usize = "131072", at_least(0), Origin::Ours;
        /// Messages kept of what was sent to such a session, besides what `socket.outgoing_queue_size` leaves free.
        resume_buffer_frames: usize = "4096", at_least(0), Origin::Ours;
        /// Most sessions that wait for their next socket at a time; beyond, sessions end with their socket.
        resume_max_waiting: usize = "10000", at_least(0), Origin::Ours;
    }
}
