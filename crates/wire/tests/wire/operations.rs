//! The operation table agrees with the schema, and routing finds its operations.

use std::collections::BTreeSet;

use muster_wire::Operation;
use muster_wire::operations::{
    Audience, GRPC_SERVICE, OPERATION_COUNT, OPERATIONS, RouteError, TypedOperation, route, typed,
};

/// Name, request and answer of every rpc in the schema.
fn rpcs() -> BTreeSet<(&'static str, &'static str, &'static str)> {
    let schema = include_str!("../../proto/service.proto");
    let lines = schema.lines().filter_map(|line| line.trim().strip_prefix("rpc "));
    lines
        .map(|line| {
            let (name, rest) = line.split_once('(').unwrap();
            let (request, rest) = rest.split_once(") returns (").unwrap();
            let response = rest.strip_suffix(");").unwrap();
            let short = |message: &'static str| message.strip_prefix("google.protobuf.").unwrap_or(message);
            (name, short(request), short(response))
        })
        .collect()
}

#[test]
fn every_rpc_has_its_row_and_every_row_its_rpc() {
    let rows: BTreeSet<_> = OPERATIONS.iter().map(|row| (row.name, row.request, row.response)).collect();
    assert_eq!(rows, rpcs());
    assert_eq!(OPERATION_COUNT, 85);
    assert!(include_str!("../../proto/service.proto").contains("package nakama.api;"));
    assert_eq!(GRPC_SERVICE, "nakama.api.Nakama");
}

#[test]
fn rows_stand_in_the_order_of_the_enum() {
    for (index, row) in OPERATIONS.iter().enumerate() {
        assert_eq!(row.operation as usize, index);
        assert_eq!(row.operation.row().name, row.name);
        assert_eq!(Operation::from_name(row.name), Some(row.operation));
        assert!(row.bindings.iter().all(|binding| binding.operation == row.operation));
    }
    assert_eq!(Operation::from_name("Nonsense"), None);
    assert_eq!(typed::GetAccount::OPERATION, Operation::GetAccount);
}

#[test]
fn no_two_bindings_collide_and_each_is_found() {
    let mut shapes = BTreeSet::new();
    for binding in OPERATIONS.iter().flat_map(|row| row.bindings) {
        let shape: Vec<&str> =
            binding.template.split('/').map(|part| if part.starts_with('{') { "{}" } else { part }).collect();
        assert!(shapes.insert((binding.method.name(), shape)), "{}", binding.template);
        let path: Vec<&str> = binding.template.split('/').map(|part| part.trim_matches(['{', '}'])).collect();
        let path = path.join("/");
        let found = route(binding.method.name(), &path).unwrap();
        assert_eq!(found.binding, binding);
        assert!(found.parameters.as_slice().iter().copied().eq(binding.parameter_names()));
    }
    assert_eq!(shapes.len(), 88);
}

#[test]
fn audiences() {
    let of =
        |audience| OPERATIONS.iter().filter(|row| row.audience == audience).map(|row| row.name).collect::<Vec<_>>();
    assert_eq!(of(Audience::Anyone), ["Healthcheck"]);
    assert_eq!(of(Audience::HttpKeyOrSession), ["RpcFunc"]);
    let server_key = of(Audience::ServerKey);
    assert_eq!(server_key.len(), 10);
    assert!(server_key.iter().all(|name| name.starts_with("Authenticate") || *name == "SessionRefresh"));
    assert_eq!(OPERATIONS.iter().filter(|row| row.operation.hookable()).count(), 83);
}

fn check_route(method: &str, path: &str, expected: Result<(Operation, &[&str]), RouteError>) {
    let found = route(method, path);
    let found = found.as_ref().map(|found| (found.operation, found.parameters.as_slice())).map_err(|error| *error);
    assert_eq!(found, expected, "{method} {path}");
}

#[test]
fn routes() {
    check_route("GET", "/healthcheck", Ok((Operation::Healthcheck, &[])));
    check_route("PUT", "/v2/storage/delete", Ok((Operation::DeleteStorageObjects, &[])));
    check_route("GET", "/v2/storage/delete", Ok((Operation::ListStorageObjects, &["delete"])));
    check_route("GET", "/v2/storage/saves/u%201", Ok((Operation::ListStorageObjects, &["saves", "u%201"])));
    check_route("GET", "/v2/storage/", Ok((Operation::ListStorageObjects, &[""])));
    check_route("POST", "/v2/iap/subscription/apple", Ok((Operation::ValidateSubscriptionApple, &[])));
    check_route("GET", "/v2/iap/subscription/apple", Ok((Operation::GetSubscription, &["apple"])));
    check_route("GET", "/v2/leaderboard/l/owner/o", Ok((Operation::ListLeaderboardRecordsAroundOwner, &["l", "o"])));
    check_route("POST", "/v2/tournament/t", Ok((Operation::WriteTournamentRecord, &["t"])));
    check_route("GET", "/v2/user/me/group", Ok((Operation::ListUserGroups, &["me"])));
}

#[test]
fn wrong_methods_and_paths() {
    check_route("PATCH", "/v2/account", Err(RouteError::WrongMethod));
    check_route("get", "/v2/account", Err(RouteError::WrongMethod));
    check_route("DELETE", "/healthcheck", Err(RouteError::WrongMethod));
    for path in [
        "",
        "/",
        "v2/account",
        "/v2",
        "/v2/account/",
        "//v2/account",
        "/v2/account/x",
        "/V2/account",
        "/v2/leaderboard/l/owner",
    ] {
        check_route("GET", path, Err(RouteError::NotFound));
    }
}
