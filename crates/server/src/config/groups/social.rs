//! Sign-in through other companies' services.

use super::super::key::{Key, Kind, at_least};

const STEAM: &str = "sign-in through Steam";
const FACEBOOK: &str = "sign-in through Facebook";
const APPLE: &str = "sign-in through Apple";
const GOOGLE: &str = "sign-in through Google";

/// Rows of this group.
pub const OTHERS: &[Key] = &[
    Key::not_yet("social.steam.publisher_key", Kind::Secret, "", STEAM, "Publisher key of the Steam web interface."),
    Key::not_yet("social.steam.app_id", at_least(0), "0", STEAM, "The game's number at Steam."),
    Key::not_yet("social.facebook_instant_game.app_secret", Kind::Secret, "", FACEBOOK, "Secret of the Instant Game."),
    Key::not_yet(
        "social.facebook_limited_login.app_id",
        Kind::Text,
        "",
        FACEBOOK,
        "App id whose Limited Login tokens are accepted.",
    ),
    Key::not_yet("social.apple.bundle_id", Kind::Text, "", APPLE, "Bundle id whose Apple tokens are accepted."),
    Key::not_yet(
        "google_auth.credentials_json",
        Kind::Secret,
        "",
        GOOGLE,
        "OAuth credentials, as the JSON that Google gives.",
    ),
];
