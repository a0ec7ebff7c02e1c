//! The admin console. Its password and signing key are generated at first start like the other keys, so that they exist
//! when the console comes.

use super::super::key::{Key, Kind, Origin, PORT, Status, at_least};

const FEATURE: &str = "admin console";
const MISPLACED: &str = "it changes nothing in the original either; the key is `mfa` without `console`";

/// Rows of this group.
pub const OTHERS: &[Key] = &[
    Key::not_yet("console.port", PORT, "7351", FEATURE, "TCP port of the console."),
    Key::not_yet(
        "console.address",
        Kind::Interface,
        "",
        FEATURE,
        "IP address of the interface for the console; empty for all. `muster dev` chooses 127.0.0.1 unless this is set.",
    ),
    Key::not_yet("console.max_message_size_bytes", at_least(1), "4194304", FEATURE, "Longest request body, in bytes."),
    Key::not_yet(
        "console.read_timeout_ms",
        at_least(1),
        "10000",
        FEATURE,
        "Longest time to read a request, in milliseconds.",
    ),
    Key::not_yet(
        "console.write_timeout_ms",
        at_least(1),
        "60000",
        FEATURE,
        "Longest time to write an answer, in milliseconds.",
    ),
    Key::not_yet(
        "console.idle_timeout_ms",
        at_least(1),
        "300000",
        FEATURE,
        "Longest wait for the next request on an open connection, in milliseconds.",
    ),
    Key::not_yet("console.username", Kind::Text, "admin", FEATURE, "Name of the first administrator."),
    generated("console.password", "password", "Password of the first administrator. Generated at first start."),
    generated(
        "console.signing_key",
        "defaultsigningkey",
        "Key that signs the console's tokens. Generated at first start.",
    ),
    Key::not_yet(
        "console.token_expiry_sec",
        at_least(1),
        "86400",
        FEATURE,
        "Life of the console's tokens, in seconds.",
    ),
    Key::not_yet(
        "console.disable_display_name_search",
        Kind::Flag,
        "false",
        FEATURE,
        "Searching for accounts leaves display names out.",
    ),
    Key::no_meaning(
        "console.mfa.storage_encryption_key",
        Kind::Secret,
        "the-key-has-to-be-32-bytes-long!",
        MISPLACED,
        "See `mfa.storage_encryption_key`.",
    ),
    Key::no_meaning(
        "console.mfa.admin_account_enabled",
        Kind::Flag,
        "false",
        MISPLACED,
        "See `mfa.admin_account_enabled`.",
    ),
    Key::not_yet(
        "mfa.storage_encryption_key",
        Kind::Secret,
        "the-key-has-to-be-32-bytes-long!",
        FEATURE,
        "Key, 32 bytes, under which second factors are stored.",
    ),
    Key::not_yet(
        "mfa.admin_account_enabled",
        Kind::Flag,
        "false",
        FEATURE,
        "The first administrator needs a second factor.",
    ),
];

/// A key without a default of its own, because the original's is published.
const fn generated(name: &'static str, original: &'static str, doc: &'static str) -> Key {
    Key {
        name,
        kind: Kind::Secret,
        default: "",
        status: Status::NotYet { feature: FEATURE },
        origin: Origin::Differs { original, why: "a published secret keeps nobody out" },
        raw_doc: doc,
    }
}
