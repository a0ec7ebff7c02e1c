//! Examples of the JSON dialect. Texts are compared as parsed JSON, because neither order nor white space is
//! guaranteed.

use std::collections::BTreeMap;
use std::fmt::Debug;

use bytes::Bytes;
use muster_wire::json::{JsonMessage, Mode, WriteOptions, from_json, to_json, to_json_with};
use muster_wire::realtime::envelope::Message;
use muster_wire::realtime::{Envelope, MatchData, MatchmakerAdd, UserPresence};
use muster_wire::{Timestamp, api};
use serde_json::{Value, json};

fn check<M: JsonMessage + PartialEq + Debug>(message: &M, expected: Value) {
    let written: Value = serde_json::from_slice(&to_json(message)).unwrap();
    assert_eq!(written, expected);
    assert_eq!(&from_json::<M>(expected.to_string().as_bytes(), Mode::Strict).unwrap(), message);
}

#[test]
fn a_user_without_defaults() {
    let user = api::User {
        id: "4c2a".into(),
        username: "ada".into(),
        metadata: r#"{"level":3}"#.into(),
        create_time: Some(Timestamp::from_unix_sec(1_600_000_000)),
        update_time: Some(Timestamp { seconds: 1_600_000_000, nanos: 120_000_000 }),
        ..api::User::default()
    };
    check(
        &user,
        json!({
            "id": "4c2a", "username": "ada", "metadata": "{\"level\":3}",
            "create_time": "2020-09-13T12:26:40Z", "update_time": "2020-09-13T12:26:40.120Z"
        }),
    );
}

#[test]
fn an_empty_message() {
    check(&api::Account::default(), json!({}));
    check(&(), json!({}));
}

#[test]
fn zero_in_a_wrapper_is_written_and_zero_in_a_plain_field_is_not() {
    let friend = api::Friend { state: Some(0), user: Some(api::User::default()), ..api::Friend::default() };
    check(&friend, json!({"state": 0, "user": {}}));
    check(&api::Notification { code: 0, persistent: false, ..api::Notification::default() }, json!({}));
    check(&api::UpdateAccountRequest { username: Some(String::new()), ..Default::default() }, json!({"username": ""}));
    check(&api::Group { open: Some(false), ..api::Group::default() }, json!({"open": false}));
}

#[test]
fn numbers_of_64_bits_are_strings_and_enums_are_numbers() {
    let record = api::LeaderboardRecord { score: i64::MIN, rank: 1, num_score: 2, ..Default::default() };
    check(&record, json!({"score": "-9223372036854775808", "rank": "1", "num_score": 2}));
    let around =
        api::ListLeaderboardRecordsAroundOwnerRequest { expiry: Some(0), limit: Some(5), ..Default::default() };
    check(&around, json!({"expiry": "0", "limit": 5}));
    let purchase = api::ValidatedPurchase { store: 4, environment: 2, ..Default::default() };
    check(&purchase, json!({"store": 4, "environment": 2}));
}

#[test]
fn lists_and_maps() {
    let request = api::SessionRefreshRequest {
        token: "t".into(),
        vars: BTreeMap::from([("".into(), "".into()), ("k\"".into(), "v".into())]),
    };
    check(&request, json!({"token": "t", "vars": {"": "", "k\"": "v"}}));
    let friends = api::AddFriendsRequest { ids: vec!["a".into(), "".into()], ..Default::default() };
    check(&friends, json!({"ids": ["a", ""]}));
    let add = MatchmakerAdd {
        min_count: 2,
        numeric_properties: BTreeMap::from([("zero".into(), 0.0), ("skill".into(), 1.5), ("big".into(), 1e300)]),
        count_multiple: Some(2),
        ..Default::default()
    };
    let expected =
        json!({"min_count": 2, "numeric_properties": {"zero": 0.0, "skill": 1.5, "big": 1e300}, "count_multiple": 2});
    check(&add, expected);
}

#[test]
fn data_is_base64_and_operation_codes_are_strings() {
    let data = MatchData {
        match_id: "m.".into(),
        presence: Some(UserPresence { user_id: "u".into(), status: Some(String::new()), ..Default::default() }),
        op_code: 7,
        data: Bytes::from_static(&[0xfb, 0xff, 0xfe, 0]),
        reliable: true,
    };
    check(
        &data,
        json!({
            "match_id": "m.", "presence": {"user_id": "u", "status": ""}, "op_code": "7", "data": "+//+AA==",
            "reliable": true
        }),
    );
}

#[test]
fn doubles_that_json_does_not_have() {
    let write = |value: f64| {
        let properties = BTreeMap::from([("x".to_owned(), value)]);
        let text = to_json(&MatchmakerAdd { numeric_properties: properties, ..Default::default() });
        serde_json::from_slice::<Value>(&text).unwrap()["numeric_properties"]["x"].clone()
    };
    assert_eq!(write(f64::NAN), json!("NaN"));
    assert_eq!(write(f64::INFINITY), json!("Infinity"));
    assert_eq!(write(f64::NEG_INFINITY), json!("-Infinity"));
}

#[test]
fn envelopes() {
    check(&Envelope::default(), json!({}));
    check(&Envelope::acknowledgement("1"), json!({"cid": "1"}));
    check(&Envelope::reply("2", Message::Pong(Default::default())), json!({"cid": "2", "pong": {}}));
    check(&Envelope::push(Message::StatusUpdate(Default::default())), json!({"status_update": {}}));
    let rpc = api::Rpc { id: "f".into(), payload: "{}".into(), ..Default::default() };
    check(&Envelope::push(Message::Rpc(rpc)), json!({"rpc": {"id": "f", "payload": "{}"}}));
}

#[test]
fn the_style_of_consoles_and_scripts() {
    let options = WriteOptions { emit_defaults: true, camel_case: true };
    let text =
        to_json_with(&api::GroupUserList { group_users: vec![Default::default()], ..Default::default() }, options);
    let written: Value = serde_json::from_slice(&text).unwrap();
    assert_eq!(written, json!({"groupUsers": [{"user": null, "state": null}], "cursor": ""}));
}

#[test]
fn secrets_do_not_show_in_logs() {
    let account = api::AccountEmail { email: "a@b.c".into(), password: "hunter22".into(), ..Default::default() };
    let request = api::AuthenticateEmailRequest { account: Some(account), ..Default::default() };
    let session = api::Session { token: "hunter22".into(), refresh_token: "hunter22".into(), created: true };
    let rpc = api::Rpc { http_key: "hunter22".into(), ..Default::default() };
    let text = format!("{request:?} {session:?} {rpc:?}");
    assert!(!text.contains("hunter22") && text.contains("a@b.c"), "{text}");
}
