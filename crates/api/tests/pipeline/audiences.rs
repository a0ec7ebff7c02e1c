//! Audiences: every operation refuses callers without its key, and an operation that is not built says so to callers
//! with the key.

use muster_wire::operations::{Audience, OPERATIONS, Row};

use crate::world::{SERVER_KEY, World};

const TOKEN_INVALID: (u16, u64, &str) = (401, 16, "The session token is invalid or has expired.");

/// A path that matches the row's first binding.
fn target(row: &Row) -> String {
    row.bindings[0]
        .template
        .split('/')
        .map(|segment| if segment.starts_with('{') { "x" } else { segment })
        .collect::<Vec<_>>()
        .join("/")
}

#[test]
fn every_operation_asks_for_its_key() {
    let world = World::new();
    for row in &OPERATIONS {
        let message = match row.audience {
            Audience::Anyone => continue,
            Audience::ServerKey => "The server key is required.",
            Audience::Session => "A session token is required.",
            Audience::HttpKeyOrSession => "A session token or the HTTP key is required.",
        };
        world.refused((row.bindings[0].method.name(), &target(row), "", ""), (401, 16, message));
    }
}

#[test]
fn the_server_key_and_a_token_do_not_replace_each_other() {
    let world = World::new();
    let player = world.device("0123456789");
    let authenticate = "/v2/account/authenticate/device";
    world.refused(("POST", authenticate, &player.bearer(), "{}"), (401, 16, "The server key is required."));
    for wrong in ["Basic d3Jvbmc6", "Basic ZGVmYXVsdGtleQ==", "Basic !", "Basic "] {
        world.refused(("POST", authenticate, wrong, "{}"), (401, 16, "The server key is not valid."));
    }
    world.refused(("GET", "/v2/account", SERVER_KEY, ""), (401, 16, "A session token is required."));
    world.refused(("GET", "/v2/account", "Bearer ", ""), (401, 16, "A session token is required."));
    // The password of Basic credentials does not matter, and neither does the case of the scheme.
    world.ok("POST", authenticate, "basic ZGVmYXVsdGtleTpwYXNzd29yZA==", "{\"id\":\"0123456789\"}");
}

#[test]
fn tokens_must_be_ours_whole_and_in_time() {
    let world = World::new();
    let player = world.device("0123456789");
    assert_eq!(world.status_of(&player), 200);
    let cut = &player.token[..player.token.len() - 2];
    for token in ["x", "a.b.c", &player.refresh_token, cut] {
        world.refused(("GET", "/v2/account", &format!("Bearer {token}"), ""), TOKEN_INVALID);
    }
    world.advance_sec(59);
    assert_eq!(world.status_of(&player), 200);
    world.advance_sec(1);
    world.refused(("GET", "/v2/account", &player.bearer(), ""), TOKEN_INVALID);
}

#[test]
fn operations_that_are_not_built_say_so() {
    let world = World::new();
    let player = world.device("0123456789");
    let mut unbuilt = 0;
    for row in OPERATIONS.iter().filter(|row| !row.is_built()) {
        let authorization = if row.audience == Audience::ServerKey { SERVER_KEY.to_owned() } else { player.bearer() };
        let message = format!("{} is not available on this server yet.", row.name);
        world.refused((row.bindings[0].method.name(), &target(row), &authorization, ""), (501, 12, &message));
        unbuilt += 1;
    }
    assert_eq!(unbuilt, OPERATIONS.iter().filter(|row| !row.is_built()).count());
}

#[test]
fn every_operation_said_to_be_built_is() {
    let world = World::new();
    let player = world.device("0123456789");
    for row in OPERATIONS.iter().filter(|row| row.is_built() && row.name != "DeleteAccount") {
        let authorization = if row.audience == Audience::ServerKey { SERVER_KEY.to_owned() } else { player.bearer() };
        let (status, body) = world.call(row.bindings[0].method.name(), &target(row), &authorization, "");
        assert_ne!(status, 501, "{}: {body}", row.name);
    }
}

#[test]
fn no_malformed_request_is_the_servers_fault() {
    let world = World::new();
    let player = world.device("0123456789");
    let deep = "[".repeat(100_000);
    let bodies: [&[u8]; 9] = [
        b"{",
        b"[]",
        b"null",
        b"\"x\"",
        b"{\"id\":1}",
        b"\xff\xfe",
        b"{\"vars\":[]}",
        b"{\"account\":{}}",
        deep.as_bytes(),
    ];
    let queries = ["", "?create=maybe", "?%", "?limit=x&cursor=%ff", "?ids", "?=&&==", "?username=%00"];
    for row in OPERATIONS.iter().filter(|row| row.is_built() && row.name != "DeleteAccount") {
        let authorization = if row.audience == Audience::ServerKey { SERVER_KEY.to_owned() } else { player.bearer() };
        for (body, query) in bodies.iter().flat_map(|body| queries.map(|query| (body, query))) {
            let target = format!("{}{query}", target(row));
            // A logout would end the session that the other requests need, so it gets a session of its own.
            let authorization = match row.name {
                "SessionLogout" => world.device("9876543210").bearer(),
                _ => authorization.clone(),
            };
            let response = world.send(row.bindings[0].method.name(), &target, Some(&authorization), body);
            assert!(response.status < 500, "{target}: {}", String::from_utf8_lossy(&response.body));
        }
    }
}

#[test]
fn without_game_code_its_functions_are_unknown() {
    let world = World::new();
    let player = world.device("0123456789");
    let unknown =
        r#"{"error":"The game has no function of this id.","code":5,"message":"The game has no function of this id."}"#;
    let bearer = player.bearer();
    for (target, authorization) in [
        ("/v2/rpc/echo", Some(bearer.as_str())),
        ("/v2/rpc/echo?http_key=http-key", None),
        ("/v2/rpc/echo?unwrap", Some("Basic aHR0cC1rZXk6")),
    ] {
        for (method, body) in [("POST", "\"payload\""), ("POST", "no JSON"), ("GET", "")] {
            let response = world.send(method, target, authorization, body.as_bytes());
            assert_eq!((response.status, String::from_utf8(response.body).unwrap().as_str()), (404, unknown));
        }
    }
    world.refused(("GET", "/v2/rpc/echo?http_key=wrong", "", ""), (401, 16, "The HTTP key is not valid."));
    world.refused(("GET", "/v2/rpc/echo", SERVER_KEY, ""), (401, 16, "The HTTP key is not valid."));
    world.refused(("GET", "/v2/rpc/echo", "Bearer x", ""), TOKEN_INVALID);
}

#[test]
fn paths_and_methods_that_do_not_exist() {
    let world = World::new();
    world.refused(("GET", "/v2/nothing", "", ""), (404, 5, "There is nothing at this path."));
    world.refused(("PATCH", "/v2/account", "", ""), (501, 12, "This path does not take requests of this method."));
    assert_eq!(world.ok("GET", "/healthcheck", "", ""), serde_json::json!({}));
}
