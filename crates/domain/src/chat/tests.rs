//! Channels, their ids, and what may be said.

use uuid::Uuid;

use super::*;
use crate::ids::GroupId;

const ANN: UserId = UserId(Uuid::from_u128(0xa));
const BOB: UserId = UserId(Uuid::from_u128(0xb));
const A: &str = "00000000-0000-0000-0000-00000000000a";
const B: &str = "00000000-0000-0000-0000-00000000000b";

fn check(id: &str, expect: Option<Channel>) {
    let parsed = Channel::parse(id).ok();
    assert_eq!(parsed, expect, "{id:?}");
    if let Some(channel) = parsed {
        assert_eq!(channel.to_string(), id);
    }
}

#[test]
fn ids_lead_to_channels_and_back() {
    check("2...lobby", Some(Channel::Room("lobby".into())));
    check("2...a.b..c", Some(Channel::Room("a.b..c".into())));
    check("2...Zoë 😀", Some(Channel::Room("Zoë 😀".into())));
    check(&format!("2...{}", "x".repeat(64)), Some(Channel::Room("x".repeat(64))));
    check(&format!("3.{A}.."), Some(Channel::Group(GroupId(ANN.0))));
    check(&format!("4.{A}.{B}."), Some(Channel::Direct(ANN, BOB)));
}

#[test]
fn other_texts_are_no_channels() {
    let nil = Uuid::nil();
    for id in [
        "",
        "2",
        "2..",
        "2...",
        "1...lobby",
        "5...lobby",
        "02...lobby",
        "lobby",
        "2..x.lobby",
        "2.x..lobby",
        "2...a\nb",
        "2...a\0",
        "2...a\u{7f}",
        "3...",
        "3.x..",
        "4...",
        "4.x.y.",
    ] {
        check(id, None);
    }
    check(&format!("2...{}", "x".repeat(65)), None);
    check(&format!("3.{A}.{B}."), None);
    check(&format!("3.{A}..label"), None);
    check(&format!("3.{}..", A.replace('-', "")), None);
    check(&format!("4.{B}.{A}."), None);
    check(&format!("4.{A}.{A}."), None);
    check(&format!("4.{nil}.{A}."), None);
    check(&format!("4.{A}.{B}.label"), None);
    check(&format!("4.{A}.."), None);
}

#[test]
fn two_users_have_one_channel() {
    let channel = Channel::direct(BOB, ANN).unwrap();
    assert_eq!(channel, Channel::direct(ANN, BOB).unwrap());
    assert_eq!((channel.partner(ANN), channel.partner(BOB)), (Some(BOB), Some(ANN)));
    assert_eq!(channel.partner(UserId::SYSTEM), None);
    assert!(Channel::direct(ANN, ANN).is_err() && Channel::direct(ANN, UserId::SYSTEM).is_err());
    let parts = ChannelParts { mode: 4, subject: ANN.0, subcontext: BOB.0, label: "" };
    assert_eq!(channel.parts(), parts);
    let room = Channel::room("lobby").unwrap();
    assert_eq!(room.parts(), ChannelParts { mode: 2, subject: Uuid::nil(), subcontext: Uuid::nil(), label: "lobby" });
    assert_eq!(room.partner(ANN), None);
}

#[test]
fn content_is_a_bounded_json_object() {
    let sized = |len: usize| format!(r#"{{"a":"{}"}}"#, "x".repeat(len - 8));
    for content in ["{}", r#" {"a": [1]}"#, &sized(MESSAGE_CONTENT_BYTES_MAX)] {
        assert!(check_content(content).is_ok(), "{content:.20}");
    }
    for content in ["", "[]", "\"x\"", "{", "{}x", r#"{"a":"\u0000"}"#, &sized(MESSAGE_CONTENT_BYTES_MAX + 1)] {
        assert!(check_content(content).is_err(), "{content:.20}");
    }
}
