//! Request messages built from the parts of an HTTP request.

use std::fmt::Debug;

use muster_wire::api;
use muster_wire::operations::{TypedOperation, decode_http, route, typed};

/// Decodes `METHOD /path?query` with a body, as operation `T`.
fn decode<T: TypedOperation>(line: &str, body: &str) -> Result<T::Request, String> {
    let (method, target) = line.split_once(' ').unwrap();
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let found = route(method, path).unwrap();
    assert_eq!(found.operation, T::OPERATION);
    decode_http(&found, query, body.as_bytes()).map_err(|error| error.to_string())
}

fn check<T: TypedOperation<Request: PartialEq + Debug>>(line: &str, body: &str, expected: T::Request) {
    assert_eq!(decode::<T>(line, body).as_ref(), Ok(&expected), "{line}");
}

fn refuse<T: TypedOperation<Request: Debug>>(line: &str, body: &str, expected: &str) {
    assert_eq!(decode::<T>(line, body).unwrap_err(), expected, "{line}");
}

#[test]
fn a_body_field_and_the_query() {
    let expected = api::AuthenticateDeviceRequest {
        account: Some(api::AccountDevice { id: "device-0001".into(), vars: [("k".into(), "v".into())].into() }),
        create: Some(false),
        username: "a b".into(),
    };
    check::<typed::AuthenticateDevice>(
        "POST /v2/account/authenticate/device?create=false&username=a+b&unknown=1&account.id=other",
        r#"{"id":"device-0001","vars":{"k":"v"},"later":[1]}"#,
        expected,
    );
    check::<typed::AuthenticateDevice>("POST /v2/account/authenticate/device", "", Default::default());
    check::<typed::AuthenticateDevice>("POST /v2/account/authenticate/device", "null", Default::default());
    refuse::<typed::AuthenticateDevice>(
        "POST /v2/account/authenticate/device",
        r#"{"id":7}"#,
        r#"invalid JSON at byte 6, field "account.id": expected a string"#,
    );
    check::<typed::RpcFunc>(
        "POST /v2/rpc/f?http_key=k&payload=ignored",
        r#""{\"a\":1}""#,
        api::Rpc { id: "f".into(), payload: r#"{"a":1}"#.into(), http_key: "k".into() },
    );
}

#[test]
fn a_whole_body_leaves_no_room_for_the_query() {
    check::<typed::SessionLogout>(
        "POST /v2/session/logout?refresh_token=r",
        r#" {"token":"t"} "#,
        api::SessionLogoutRequest { token: "t".into(), ..Default::default() },
    );
    check::<typed::SessionLogout>("POST /v2/session/logout", " \n", Default::default());
    check::<typed::UpdateGroup>(
        "PUT /v2/group/g1",
        r#"{"group_id":"other","open":true}"#,
        api::UpdateGroupRequest { group_id: "g1".into(), open: Some(true), ..Default::default() },
    );
    refuse::<typed::SessionLogout>(
        "POST /v2/session/logout",
        "{}{}",
        "invalid JSON at byte 2: unexpected text after the value",
    );
}

#[test]
fn queries() {
    let expected = api::GetUsersRequest {
        ids: vec!["a".into(), "b&c".into()],
        usernames: vec!["ö".into()],
        facebook_ids: vec!["".into()],
    };
    check::<typed::GetUsers>("GET /v2/user?ids=a&ids=b%26c&usernames=%C3%B6&facebookIds", "", expected);
    check::<typed::ListFriends>(
        "GET /v2/friend?limit=10&&state=0&cursor=x%3D",
        "not looked at",
        api::ListFriendsRequest { limit: Some(10), state: Some(0), cursor: "x=".into() },
    );
    // Names with dots set fields of inner messages. Names with brackets set a key of a map.
    check::<typed::WriteLeaderboardRecord>(
        "POST /v2/leaderboard/a%2Fb+c?leaderboardId=other&record.score=1",
        r#"{"score":"5","operator":"BEST"}"#,
        api::WriteLeaderboardRecordRequest {
            leaderboard_id: "a/b+c".into(),
            record: Some(api::write_leaderboard_record_request::LeaderboardRecordWrite {
                score: 5,
                operator: 1,
                ..Default::default()
            }),
        },
    );
}

#[test]
fn the_path_wins() {
    check::<typed::ListStorageObjects>(
        "GET /v2/storage/saves/u1?user_id=u2&collection=other&limit=1",
        "",
        api::ListStorageObjectsRequest {
            user_id: "u1".into(),
            collection: "saves".into(),
            limit: Some(1),
            ..Default::default()
        },
    );
    check::<typed::ListStorageObjects>(
        "GET /v2/storage/saves?user_id=u2",
        "",
        api::ListStorageObjectsRequest { user_id: "u2".into(), collection: "saves".into(), ..Default::default() },
    );
}

#[test]
fn refused_parameters_are_named() {
    refuse::<typed::ListFriends>("GET /v2/friend?limit=ten", "", r#"parameter "limit": expected a 32-bit integer"#);
    refuse::<typed::ListFriends>("GET /v2/friend?limit=", "", r#"parameter "limit": expected a 32-bit integer"#);
    refuse::<typed::ListFriends>(
        "GET /v2/friend?limit.x=1",
        "",
        r#"parameter "limit.x": expected no further name after this field"#,
    );
    refuse::<typed::ListGroups>("GET /v2/group?open=maybe", "", r#"parameter "open": expected true or false"#);
    refuse::<typed::ListFriends>(
        "GET /v2/friend?cursor=%f",
        "",
        r#"parameter "cursor": expected percent-encoded UTF-8"#,
    );
    refuse::<typed::ListFriends>(
        "GET /v2/friend?cursor=%ff",
        "",
        r#"parameter "cursor": expected percent-encoded UTF-8"#,
    );
    refuse::<typed::JoinGroup>(
        "POST /v2/group/%zz/join",
        "",
        r#"parameter "group_id": expected percent-encoded UTF-8"#,
    );
    refuse::<typed::ImportSteamFriends>(
        "POST /v2/friend/steam?reset[x]=1",
        "",
        r#"parameter "reset[x]": expected no further name after this field"#,
    );
}
