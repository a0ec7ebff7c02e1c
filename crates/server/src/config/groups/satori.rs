//! The original's link to Satori, a paid service of its maker.

use super::super::key::{Key, Kind, at_least, number};

const WHY: &str = "Satori is a paid service of the original's maker, which Muster does not call";

/// Rows of this group.
pub const OTHERS: &[Key] = &[
    Key::no_meaning("satori.url", Kind::Text, "", WHY, "Address of the service."),
    Key::no_meaning("satori.api_key_name", Kind::Text, "", WHY, "Name of the key for the service."),
    Key::no_meaning("satori.api_key", Kind::Secret, "", WHY, "Key for the service."),
    Key::no_meaning("satori.signing_key", Kind::Secret, "", WHY, "Key that signs tokens for the service."),
    Key::no_meaning("satori.server_key", Kind::Secret, "", WHY, "Server key of the service."),
    Key::no_meaning("satori.cache_enabled", Kind::Flag, "false", WHY, "Old form of `satori.cache_disabled`."),
    Key::no_meaning("satori.cache_disabled", Kind::Flag, "false", WHY, "Ask the service every time."),
    Key::no_meaning(
        "satori.cache_mode",
        Kind::Choice(&["context", "time"]),
        "context",
        WHY,
        "Lifetime of kept answers: that of a request's context, or a fixed time.",
    ),
    Key::no_meaning("satori.cache_ttl_sec", at_least(1), "300", WHY, "Life of a kept answer, in seconds."),
    Key::no_meaning(
        "satori.http_timeout_ms",
        at_least(1),
        "10000",
        WHY,
        "Longest wait for an answer, in milliseconds.",
    ),
    Key::no_meaning("satori.retry_count", number(0, 3), "0", WHY, "Number of times that a failed request is repeated."),
];
