//! What game code may do beyond the server.

use super::super::key::{Kind, Origin, honoured};

honoured! {
    /// What game code may do beyond the server.
    pub struct Script in "script." {
        /// Whether `http_request` reaches the public internet alone: neither this machine nor private networks. Link-local addresses, and those where clouds hand out credentials, are refused in any case.
        http_strict: bool = "false", Kind::Flag, Origin::Ours;
        /// Whether files of game code that change are loaded at once. SIGHUP has them loaded in any case. On under `muster dev`.
        reload: bool = "false", Kind::Flag, Origin::Ours;
    }
}
