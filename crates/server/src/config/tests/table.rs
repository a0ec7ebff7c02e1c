//! Tests of the table of keys: complete, consistent, and with an up-to-date reference page.

use std::{collections::BTreeSet, fs, path::Path};

use super::super::{
    key::{Kind, Origin},
    keys, reference,
};

#[test]
fn every_key_of_the_original_is_there_with_its_default() {
    assert_eq!(ORIGINAL.len(), 139);
    for (name, default) in ORIGINAL {
        let key = keys::find(name).unwrap_or_else(|| panic!("{name} is missing"));
        match key.origin {
            Origin::Same => assert_eq!(key.default, default, "{name}"),
            Origin::Differs { original, .. } => assert_eq!(original, default, "{name}"),
            Origin::Ours => panic!("{name} is the original's"),
        }
    }
}

#[test]
fn every_other_key_is_marked_as_our_own() {
    let original: BTreeSet<&str> = ORIGINAL.iter().map(|(name, _)| *name).collect();
    for key in keys::all() {
        assert_eq!(key.origin == Origin::Ours, !original.contains(key.name), "{}", key.name);
    }
}

#[test]
fn names_are_unambiguous_in_every_form() {
    let names: BTreeSet<&str> = keys::all().map(|key| key.name).collect();
    let variables: BTreeSet<String> = keys::all().map(|key| key.environment_name()).collect();
    assert_eq!(names.len(), keys::all().count());
    assert_eq!(variables.len(), keys::all().count());
    for key in keys::all() {
        assert!(!key.name.contains("__") && !keys::is_group(key.name), "{} would have two readings", key.name);
    }
}

#[test]
fn every_default_fits_its_key() {
    for key in keys::all() {
        let empty_list = key.kind.is_list() && key.default.is_empty();
        assert!(empty_list || key.kind.check(key.default).is_ok(), "{} = {}", key.name, key.default);
    }
}

#[test]
fn every_key_is_documented_in_a_sentence() {
    for key in keys::all() {
        assert!(key.doc().ends_with('.') && key.doc().len() > 10, "{}: {}", key.name, key.doc());
        assert!(!key.doc().contains("  "), "{}: {}", key.name, key.doc());
    }
}

#[test]
fn whatever_is_called_a_secret_is_one() {
    for key in keys::all() {
        let last = key.name.rsplit('.').next().unwrap_or_default();
        let sounds_secret =
            ["secret", "password", "encryption_key", "signing_key", "server_key", "http_key", "private_key"]
                .iter()
                .any(|word| last.contains(word));
        // Paths, and settings of password checks, are not secret themselves.
        let is_about = matches!(key.kind, Kind::Path | Kind::Number { .. });
        assert!(key.secret() || !sounds_secret || is_about, "{}", key.name);
    }
}

#[test]
fn the_reference_page_is_up_to_date() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/configuration.md");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&page, reference::markdown()).expect("the page can be written");
    }
    let committed = fs::read_to_string(&page).unwrap_or_default();
    assert!(committed == reference::markdown(), "run: UPDATE_DOCS=1 cargo test -p muster-server reference");
}

/// Keys and defaults of the original, release 3.40; lists and computed defaults are empty.
#[rustfmt::skip]
const ORIGINAL: [(&str, &str); 139] = [
    ("name", "nakama"),
    ("config", ""),
    ("shutdown_grace_sec", "0"),
    ("data_dir", "data"),
    ("logger.level", "info"),
    ("logger.stdout", "true"),
    ("logger.file", ""),
    ("logger.rotation", "false"),
    ("logger.max_size", "100"),
    ("logger.max_age", "0"),
    ("logger.max_backups", "0"),
    ("logger.local_time", "false"),
    ("logger.compress", "false"),
    ("logger.format", "json"),
    ("metrics.reporting_freq_sec", "60"),
    ("metrics.namespace", ""),
    ("metrics.prometheus_port", "0"),
    ("metrics.prefix", "nakama"),
    ("metrics.custom_prefix", "custom"),
    ("metrics.custom_scope_limit", "10000"),
    ("session.encryption_key", "defaultencryptionkey"),
    ("session.token_expiry_sec", "60"),
    ("session.refresh_encryption_key", "defaultrefreshencryptionkey"),
    ("session.refresh_token_expiry_sec", "3600"),
    ("session.single_socket", "false"),
    ("session.single_match", "false"),
    ("session.single_party", "false"),
    ("session.single_session", "false"),
    ("socket.server_key", "defaultkey"),
    ("socket.port", "7350"),
    ("socket.address", ""),
    ("socket.protocol", "tcp"),
    ("socket.max_message_size_bytes", "4096"),
    ("socket.max_request_size_bytes", "262144"),
    ("socket.read_buffer_size_bytes", "4096"),
    ("socket.write_buffer_size_bytes", "4096"),
    ("socket.read_timeout_ms", "10000"),
    ("socket.write_timeout_ms", "10000"),
    ("socket.idle_timeout_ms", "60000"),
    ("socket.write_wait_ms", "5000"),
    ("socket.pong_wait_ms", "25000"),
    ("socket.ping_period_ms", "15000"),
    ("socket.ping_backoff_threshold", "20"),
    ("socket.close_ack_wait_ms", "2000"),
    ("socket.outgoing_queue_size", "64"),
    ("socket.ssl_certificate", ""),
    ("socket.ssl_private_key", ""),
    ("socket.response_headers", ""),
    ("socket.proxy_count", "1"),
    ("database.address", "root@localhost:26257"),
    ("database.conn_max_lifetime_ms", "3600000"),
    ("database.max_open_conns", "100"),
    ("database.max_idle_conns", "100"),
    ("database.dns_scan_interval_sec", "60"),
    ("social.steam.publisher_key", ""),
    ("social.steam.app_id", "0"),
    ("social.facebook_instant_game.app_secret", ""),
    ("social.facebook_limited_login.app_id", ""),
    ("social.apple.bundle_id", ""),
    ("runtime.env", ""),
    ("runtime.path", ""),
    ("runtime.http_key", "defaulthttpkey"),
    ("runtime.min_count", "0"),
    ("runtime.lua_min_count", "16"),
    ("runtime.max_count", "0"),
    ("runtime.lua_max_count", "48"),
    ("runtime.js_min_count", "16"),
    ("runtime.js_max_count", "32"),
    ("runtime.call_stack_size", "0"),
    ("runtime.lua_call_stack_size", "128"),
    ("runtime.registry_size", "0"),
    ("runtime.lua_registry_size", "512"),
    ("runtime.event_queue_size", "65536"),
    ("runtime.event_queue_workers", "8"),
    ("runtime.read_only_globals", "true"),
    ("runtime.lua_read_only_globals", "true"),
    ("runtime.js_read_only_globals", "true"),
    ("runtime.lua_api_stacktrace", "false"),
    ("runtime.js_entrypoint", ""),
    ("match.input_queue_size", "128"),
    ("match.call_queue_size", "128"),
    ("match.signal_queue_size", "10"),
    ("match.join_attempt_queue_size", "128"),
    ("match.deferred_queue_size", "128"),
    ("match.join_marker_deadline_ms", "15000"),
    ("match.max_empty_sec", "0"),
    ("match.label_update_interval_ms", "1000"),
    ("tracker.event_queue_size", "1024"),
    ("console.port", "7351"),
    ("console.address", ""),
    ("console.max_message_size_bytes", "4194304"),
    ("console.read_timeout_ms", "10000"),
    ("console.write_timeout_ms", "60000"),
    ("console.idle_timeout_ms", "300000"),
    ("console.username", "admin"),
    ("console.password", "password"),
    ("console.token_expiry_sec", "86400"),
    ("console.signing_key", "defaultsigningkey"),
    ("console.mfa.storage_encryption_key", "the-key-has-to-be-32-bytes-long!"),
    ("console.mfa.admin_account_enabled", "false"),
    ("console.disable_display_name_search", "false"),
    ("leaderboard.blacklist_rank_cache", ""),
    ("leaderboard.callback_queue_size", "65536"),
    ("leaderboard.callback_queue_workers", "8"),
    ("leaderboard.rank_cache_workers", "1"),
    ("matchmaker.max_tickets", "3"),
    ("matchmaker.interval_sec", "15"),
    ("matchmaker.max_intervals", "2"),
    ("matchmaker.rev_precision", "false"),
    ("matchmaker.rev_threshold", "1"),
    ("iap.apple.shared_password", ""),
    ("iap.apple.notifications_endpoint_id", ""),
    ("iap.google.client_email", ""),
    ("iap.google.private_key", ""),
    ("iap.google.notifications_endpoint_id", ""),
    ("iap.google.refund_check_period_min", "0"),
    ("iap.google.package_name", ""),
    ("iap.huawei.public_key", ""),
    ("iap.huawei.client_id", ""),
    ("iap.huawei.client_secret", ""),
    ("iap.facebook_instant.app_secret", ""),
    ("iap.samsung.package_name", ""),
    ("google_auth.credentials_json", ""),
    ("satori.url", ""),
    ("satori.api_key_name", ""),
    ("satori.api_key", ""),
    ("satori.signing_key", ""),
    ("satori.cache_enabled", "false"),
    ("satori.cache_disabled", "false"),
    ("satori.cache_mode", "context"),
    ("satori.cache_ttl_sec", "300"),
    ("satori.http_timeout_ms", "10000"),
    ("satori.server_key", ""),
    ("satori.retry_count", "0"),
    ("storage.disable_index_only", "false"),
    ("mfa.storage_encryption_key", "the-key-has-to-be-32-bytes-long!"),
    ("mfa.admin_account_enabled", "false"),
    ("party.label_update_interval_ms", "1000"),
    ("party.idle_check_interval_ms", "30000"),
];
