//! Refreshing, logging out, single sessions and bans: tokens that are valid, and tokens that are void.

use muster_domain::ids::Uuid;
use muster_domain::ports::revocations::{Revocation, RevocationReason};
use muster_domain::sessions::SessionRules;
use muster_wire::token::{Claims, Signer};
use serde_json::json;

use crate::world::{Player, REFRESH_KEY, SERVER_KEY, SESSION_KEY, START_SEC, Setup, World, claims};

const REFRESH: &str = "/v2/account/session/refresh";
const LOGOUT: &str = "/v2/session/logout";
const REFRESH_INVALID: (u16, u64, &str) = (401, 16, "The refresh token is invalid or has expired.");

fn refresh_body(player: &Player) -> String {
    json!({ "token": player.refresh_token }).to_string()
}

fn refresh(world: &World, player: &Player) -> Player {
    Player::from(&world.ok("POST", REFRESH, SERVER_KEY, &refresh_body(player)))
}

#[test]
fn a_refresh_keeps_the_sign_in_and_reads_the_name_again() {
    let world = World::new();
    let device = r#"{"id":"0123456789","vars":{"a":"1"}}"#;
    let first = Player::from(&world.ok("POST", "/v2/account/authenticate/device", SERVER_KEY, device));
    world.ok("PUT", "/v2/account", &first.bearer(), r#"{"username":"renamed"}"#);
    world.advance_sec(30);
    let second = refresh(&world, &first);
    let (before, after) = (first.claims(), second.claims());
    for name in ["tid", "uid", "iat", "vrs"] {
        assert_eq!(after[name], before[name], "{name}");
    }
    assert_eq!((&after["usn"], &after["exp"]), (&json!("renamed"), &json!(START_SEC + 30 + 60)));
    assert_eq!(claims(&second.refresh_token)["exp"], START_SEC + 30 + 3600);
    assert!(!second.created);
    // If the request has any variables, they replace all variables of the session.
    let body = json!({ "token": second.refresh_token, "vars": { "b": "2" } }).to_string();
    let third = Player::from(&world.ok("POST", REFRESH, SERVER_KEY, &body));
    assert_eq!(third.claims()["vrs"], json!({ "b": "2" }));
    // The session token has expired long ago. The refresh token works once more in its last second, and then has
    // expired too.
    world.advance_sec(3599);
    let fourth = refresh(&world, &third);
    assert_eq!(fourth.claims()["tid"], before["tid"]);
    world.refused(("POST", REFRESH, SERVER_KEY, &refresh_body(&first)), REFRESH_INVALID);
}

#[test]
fn what_is_no_refresh_token_is_refused() {
    let world = World::new();
    let player = world.device("0123456789");
    world.refused(("POST", REFRESH, SERVER_KEY, "{}"), (400, 3, "A refresh token is required."));
    for token in ["x", &player.token] {
        let body = json!({ "token": token }).to_string();
        world.refused(("POST", REFRESH, SERVER_KEY, &body), REFRESH_INVALID);
    }
}

#[test]
fn a_refresh_for_a_user_that_is_gone_or_banned() {
    let world = World::new();
    let banned = world.device("0123456789");
    world.ban(&banned);
    world.refused(("POST", REFRESH, SERVER_KEY, &refresh_body(&banned)), REFRESH_INVALID);
    // Tokens of another server with the same keys. No revocation is about them.
    let foreign = |user_id: String| {
        let claims = Claims {
            token_id: Uuid::from_u128(0x7c9e_6679_7425_40de_944b_e07f_c1f9_0ae7).to_string(),
            user_id,
            expires_at_sec: START_SEC + 100,
            issued_at_sec: START_SEC + 10,
            ..Claims::default()
        };
        json!({ "token": Signer::new(REFRESH_KEY.as_bytes()).sign(&claims) }).to_string()
    };
    let not_found = (404, 5, "There is no such account.");
    world.refused(("POST", REFRESH, SERVER_KEY, &foreign(Uuid::from_u128(5).to_string())), not_found);
    world.refused(("POST", REFRESH, SERVER_KEY, &foreign(banned.id())), (403, 7, "This account is banned."));
    let system = foreign(Uuid::nil().to_string());
    world.refused(("POST", REFRESH, SERVER_KEY, &system), REFRESH_INVALID);
}

#[test]
fn logging_out_of_everything_spares_what_comes_after_even_in_the_same_microsecond() {
    let world = World::new();
    let before = [world.device("0123456789"), world.device("0123456789")];
    let other = world.device("9876543210");
    world.ok("POST", LOGOUT, &before[0].bearer(), "{}");
    let after = world.device("0123456789");
    for player in &before {
        assert_eq!(world.status_of(player), 401);
        world.refused(("POST", REFRESH, SERVER_KEY, &refresh_body(player)), REFRESH_INVALID);
    }
    assert_eq!((world.status_of(&after), world.status_of(&other)), (200, 200));
    refresh(&world, &after);
    // The clock is set back. The logout still voids earlier sign-ins and spares later ones.
    world.advance_sec(-30);
    let earlier = world.device("0123456789");
    assert_eq!(world.status_of(&earlier), 200);
    world.ok("POST", LOGOUT, &earlier.bearer(), "");
    assert_eq!([&earlier, &after].map(|player| world.status_of(player)), [401, 401]);
    assert_eq!(world.status_of(&world.device("0123456789")), 200);
}

#[test]
fn logging_out_of_one_sign_in_spares_the_others() {
    let world = World::new();
    let [first, second, third] = std::array::from_fn(|_| world.device("0123456789"));
    let renewed = refresh(&world, &first);
    let body = json!({ "token": first.token, "refresh_token": first.refresh_token }).to_string();
    world.ok("POST", LOGOUT, &first.bearer(), &body);
    for player in [&first, &renewed] {
        assert_eq!(world.status_of(player), 401, "the sign-in with all its refreshes");
        world.refused(("POST", REFRESH, SERVER_KEY, &refresh_body(player)), REFRESH_INVALID);
    }
    assert_eq!([&second, &third].map(|player| world.status_of(player)), [200, 200]);
    // The token of one session may end another session of the same user.
    world.ok("POST", LOGOUT, &second.bearer(), &json!({ "refresh_token": third.refresh_token }).to_string());
    assert_eq!([&second, &third].map(|player| world.status_of(player)), [200, 401]);
    let revoked = world.revoked.lock().unwrap();
    assert_eq!(revoked.len(), 2);
    assert!(revoked.iter().all(|revocation| revocation.reason == RevocationReason::SignedOut));
}

#[test]
fn tokens_named_in_a_logout_must_be_the_callers_own_and_good() {
    let world = World::new();
    let (player, other) = (world.device("0123456789"), world.device("9876543210"));
    let session_invalid = "The session token is invalid or has expired.";
    for (body, message) in [
        (json!({ "token": other.token }), "The token belongs to another user."),
        (json!({ "token": player.token, "refresh_token": other.refresh_token }), "The token belongs to another user."),
        (json!({ "token": "x" }), session_invalid),
        (json!({ "token": player.refresh_token }), session_invalid),
        (json!({ "refresh_token": player.token }), REFRESH_INVALID.2),
    ] {
        world.refused(("POST", LOGOUT, &player.bearer(), &body.to_string()), (400, 3, message));
    }
    assert_eq!([&player, &other].map(|player| world.status_of(player)), [200, 200]);
}

#[test]
fn revocations_outlive_the_process_and_then_expire() {
    let world = World::new();
    let player = world.device("0123456789");
    world.ok("POST", LOGOUT, &player.bearer(), "");
    let restarted = muster_domain::revocations::Revocations::new(Box::new(|_| {}));
    assert_eq!(world.run(restarted.refresh(&*world.store, &*world.clock)).unwrap(), 1);
    let claims = world.app.keys.read_session(&player.token, muster_domain::Timestamp(0)).unwrap();
    assert!(restarted.is_revoked(&claims));
    assert_eq!(world.run(restarted.refresh(&*world.store, &*world.clock)).unwrap(), 0, "nothing new");
    // The time is longer than the life of the refresh token and the margin of the revocation.
    world.advance_sec(3600 + 3600 + 1);
    restarted.prune(&*world.clock);
    assert!(restarted.is_empty());
}

#[test]
fn other_servers_learn_of_it_by_the_feed() {
    let world = World::new();
    let elsewhere = muster_domain::revocations::Revocations::new(Box::new(|_| {}));
    let [first, second] = std::array::from_fn(|_| world.device("0123456789"));
    let claims = [&first, &second]
        .map(|player| world.app.keys.read_session(&player.token, muster_domain::Timestamp(0)).unwrap());
    world.ok("POST", LOGOUT, &first.bearer(), &json!({ "token": first.token }).to_string());
    world.run(elsewhere.refresh(&*world.store, &*world.clock)).unwrap();
    assert_eq!(claims.each_ref().map(|claims| elsewhere.is_revoked(claims)), [true, false]);
    world.ok("POST", LOGOUT, &second.bearer(), "");
    world.run(elsewhere.refresh(&*world.store, &*world.clock)).unwrap();
    assert_eq!(claims.each_ref().map(|claims| elsewhere.is_revoked(claims)), [true, true]);
}

#[test]
fn a_single_session_voids_older_tokens() {
    let sessions = SessionRules { token_life_sec: 60, refresh_life_sec: 3600, single_session: true };
    let world = World::with(Setup { sessions, ..Setup::default() });
    let [first, second, third] = std::array::from_fn(|_| world.device("0123456789"));
    let other = world.device("9876543210");
    assert_eq!([&first, &second, &third, &other].map(|player| world.status_of(player)), [401, 401, 200, 200]);
    world.refused(("POST", REFRESH, SERVER_KEY, &refresh_body(&second)), REFRESH_INVALID);
    assert_eq!(world.status_of(&refresh(&world, &third)), 200);
}

#[test]
fn a_ban_voids_tokens_and_closes_sockets() {
    let world = World::new();
    let (player, other) = (world.device("0123456789"), world.device("9876543210"));
    world.ban(&player);
    assert_eq!([&player, &other].map(|player| world.status_of(player)), [401, 200]);
    let subject = muster_domain::Subject::from(player.id().parse::<muster_domain::UserId>().unwrap());
    let revoked = world.revoked.lock().unwrap();
    assert!(!revoked.is_empty());
    let is_ban =
        |revocation: &Revocation| (revocation.subject, revocation.reason) == (subject, RevocationReason::Banned);
    assert!(revoked.iter().all(is_ban));
}

#[test]
fn tokens_of_the_original_are_judged_by_their_second() {
    let world = World::new();
    let player = world.device("0123456789");
    let foreign = |issued_at_sec| {
        let claims = Claims {
            token_id: Uuid::from_u128(0x7c9e_6679_7425_40de_944b_e07f_c1f9_0ae7).to_string(),
            user_id: player.id(),
            expires_at_sec: START_SEC + 60,
            issued_at_sec,
            ..Claims::default()
        };
        format!("Bearer {}", Signer::new(SESSION_KEY.as_bytes()).sign(&claims))
    };
    let status = |issued_at_sec| world.call("GET", "/v2/account", &foreign(issued_at_sec), "").0;
    assert_eq!(status(START_SEC), 200);
    world.ok("POST", LOGOUT, &player.bearer(), "");
    assert_eq!([START_SEC - 1, START_SEC, START_SEC + 1].map(status), [401, 401, 200]);
}

#[test]
fn endless_logouts_cost_bounded_memory() {
    use muster_domain::limits::REVOKED_TOKENS_PER_USER_MAX;
    let world = World::new();
    let kept = world.device("0123456789");
    let subject = muster_domain::Subject::from(kept.id().parse::<muster_domain::UserId>().unwrap());
    let token = world.device("0123456789").token;
    // The rows are stored directly, because a thousand sign-ins would take longer.
    use muster_domain::ports::revocations::{RevocationStore as _, RevokedTokens};
    let row = |number: usize| Revocation {
        subject,
        tokens: RevokedTokens::Token(muster_domain::TokenId(Uuid::from_u128(number as u128))),
        revoked_at: muster_domain::Timestamp(1),
        expires_at: muster_domain::Timestamp::from_seconds(START_SEC + 100),
        reason: RevocationReason::SignedOut,
    };
    let rows: Vec<_> = (0..REVOKED_TOKENS_PER_USER_MAX).map(row).collect();
    world.run(world.store.revoke(&rows)).unwrap();
    world.run(world.app.revocations.refresh(&*world.store, &*world.clock)).unwrap();
    assert_eq!(world.app.revocations.tokens_of(&subject), REVOKED_TOKENS_PER_USER_MAX);
    assert_eq!(world.status_of(&kept), 200);
    // There are as many revoked tokens as are kept, so the next logout of one sign-in voids all tokens of the user.
    world.ok("POST", LOGOUT, &kept.bearer(), &json!({ "token": token }).to_string());
    assert_eq!(world.status_of(&kept), 401);
}
