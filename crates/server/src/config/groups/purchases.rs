//! Purchases and subscriptions at the stores.

use super::super::key::{Key, Kind, at_least};

const FEATURE: &str = "purchases";

/// Rows of this group.
pub const OTHERS: &[Key] = &[
    Key::not_yet(
        "iap.apple.shared_password",
        Kind::Secret,
        "",
        FEATURE,
        "Shared secret of the App Store, for subscriptions.",
    ),
    Key::not_yet(
        "iap.apple.notifications_endpoint_id",
        Kind::Text,
        "",
        FEATURE,
        "Last part of the path that the App Store calls.",
    ),
    Key::not_yet(
        "iap.google.client_email",
        Kind::Text,
        "",
        FEATURE,
        "E-mail address of the service account at Google.",
    ),
    Key::not_yet("iap.google.private_key", Kind::Secret, "", FEATURE, "Private key of the service account at Google."),
    Key::not_yet(
        "iap.google.notifications_endpoint_id",
        Kind::Text,
        "",
        FEATURE,
        "Last part of the path that Google Play calls.",
    ),
    Key::no_meaning(
        "iap.google.refund_check_period_min",
        at_least(0),
        "0",
        "given up by the original too: refunds arrive as notifications",
        "Time between questions for refunds, in minutes.",
    ),
    Key::no_meaning(
        "iap.google.package_name",
        Kind::Text,
        "",
        "given up by the original too: receipts hold the package name",
        "Package name of the game.",
    ),
    Key::not_yet("iap.huawei.public_key", Kind::Text, "", FEATURE, "Public key of the game at Huawei, base64."),
    Key::not_yet("iap.huawei.client_id", Kind::Text, "", FEATURE, "OAuth client id at Huawei."),
    Key::not_yet("iap.huawei.client_secret", Kind::Secret, "", FEATURE, "OAuth client secret at Huawei."),
    Key::not_yet("iap.facebook_instant.app_secret", Kind::Secret, "", FEATURE, "Secret of the Instant Game."),
    Key::not_yet(
        "iap.samsung.package_name",
        Kind::Text,
        "",
        FEATURE,
        "Package name that Samsung's receipts must hold, if set.",
    ),
];
