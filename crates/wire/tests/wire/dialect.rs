//! JSON texts that the reader accepts, and texts that it refuses.

use std::fmt::Debug;

use muster_wire::api;
use muster_wire::json::{JsonMessage, JsonProblem, Mode, NESTING_DEPTH_MAX, from_json};
use muster_wire::realtime::{Envelope, MatchDataSend, MatchJoin, MatchmakerAdd};

fn accept<M: JsonMessage + PartialEq + Debug>(text: &str, expected: M) {
    assert_eq!(from_json::<M>(text.as_bytes(), Mode::Strict).unwrap(), expected, "{text}");
}

fn refuse<M: JsonMessage + Debug>(text: impl AsRef<[u8]>, expected: &str) {
    let error = from_json::<M>(text.as_ref(), Mode::Strict).unwrap_err();
    assert_eq!(error.to_string(), expected);
}

/// Checks that all texts are refused, with any error.
fn refuse_all<M: JsonMessage + Debug>(texts: &[&str]) {
    for text in texts {
        for mode in [Mode::Strict, Mode::Tolerant] {
            assert!(from_json::<M>(text.as_bytes(), mode).is_err(), "{text}");
        }
    }
}

#[test]
fn both_name_cases() {
    let expected = api::GetUsersRequest { facebook_ids: vec!["f".into()], ..Default::default() };
    accept(r#"{"facebook_ids":["f"]}"#, expected.clone());
    accept(r#" { "facebookIds" : [ "f" ] } "#, expected);
    refuse::<api::GetUsersRequest>(
        r#"{"facebook_ids":[],"facebookIds":[]}"#,
        r#"invalid JSON at byte 33, field "facebookIds": field is given twice"#,
    );
}

#[test]
fn unknown_members_are_refused_or_ignored() {
    let text = r#"{"token":"t","extra":{"a":[1,-2.5e3,"x",null,true,{}],"b":{}},"refresh_token":"r"}"#;
    refuse::<api::SessionLogoutRequest>(text, r#"invalid JSON at byte 21, field "extra": unknown field "extra""#);
    let read = from_json::<api::SessionLogoutRequest>(text.as_bytes(), Mode::Tolerant).unwrap();
    assert_eq!(read, api::SessionLogoutRequest { token: "t".into(), refresh_token: "r".into() });
}

#[test]
fn null_is_the_default() {
    accept(r#"{"user":null,"wallet":null,"devices":null,"verify_time":null}"#, api::Account::default());
    accept(r#"{"open":null}"#, api::Group::default());
    accept(r#"{"ping":null,"cid":"1"}"#, Envelope::acknowledgement("1"));
    refuse_all::<api::AddFriendsRequest>(&[r#"{"ids":[null]}"#, "null"]);
    refuse_all::<api::SessionRefreshRequest>(&[r#"{"vars":{"k":null}}"#]);
}

#[test]
fn integers() {
    for text in ["5", "\"5\"", "5.0", "50e-1", "0.5E1", "\"5.00\""] {
        accept(&format!(r#"{{"limit":{text}}}"#), api::ListFriendsRequest { limit: Some(5), ..Default::default() });
        accept(&format!(r#"{{"score":{text}}}"#), api::LeaderboardRecord { score: 5, ..Default::default() });
        accept(
            &format!(r#"{{"max_num_score":{text}}}"#),
            api::LeaderboardRecord { max_num_score: 5, ..Default::default() },
        );
    }
    accept(r#"{"score":"-9223372036854775808"}"#, api::LeaderboardRecord { score: i64::MIN, ..Default::default() });
    accept(r#"{"score":-0}"#, api::LeaderboardRecord::default());
    accept(r#"{"score":1e18}"#, api::LeaderboardRecord { score: 1_000_000_000_000_000_000, ..Default::default() });
    refuse::<api::ListFriendsRequest>(
        r#"{"limit":"ten"}"#,
        r#"invalid JSON at byte 14, field "limit": expected a 32-bit integer"#,
    );
    let bad = [
        "2147483648",
        "5.5",
        "1e99",
        "1e999999999999",
        "\" 5\"",
        "\"5 \"",
        "\"\"",
        "05",
        "+5",
        "\"+5\"",
        "true",
        "[]",
        "0x5",
        "5.",
        ".5",
        "-",
    ];
    for text in bad {
        refuse_all::<api::ListFriendsRequest>(&[&format!(r#"{{"limit":{text}}}"#)]);
    }
    refuse_all::<api::LeaderboardRecord>(&[r#"{"score":9223372036854775808}"#, r#"{"max_num_score":-1}"#]);
}

#[test]
fn enums() {
    let expected = api::ValidatedPurchase { store: 1, ..Default::default() };
    accept(r#"{"store":1}"#, expected.clone());
    accept(r#"{"store":"GOOGLE_PLAY_STORE"}"#, expected);
    accept(r#"{"store":99}"#, api::ValidatedPurchase { store: 99, ..Default::default() });
    refuse::<api::ValidatedPurchase>(
        r#"{"store":"CORNER_SHOP"}"#,
        r#"invalid JSON at byte 22, field "store": expected a value of the enum"#,
    );
    let tolerant = from_json::<api::ValidatedPurchase>(br#"{"store":"CORNER_SHOP"}"#, Mode::Tolerant).unwrap();
    assert_eq!(tolerant, api::ValidatedPurchase::default());
}

#[test]
fn doubles() {
    let read = |text: &str| {
        let text = format!(r#"{{"numeric_properties":{{"x":{text}}}}}"#);
        from_json::<MatchmakerAdd>(text.as_bytes(), Mode::Strict).map(|add| add.numeric_properties["x"])
    };
    assert_eq!(read("1.5"), Ok(1.5));
    assert_eq!(read("\"1.5\""), Ok(1.5));
    assert_eq!(read("\"-Infinity\""), Ok(f64::NEG_INFINITY));
    assert!(read("\"NaN\"").unwrap().is_nan());
    for text in ["1e400", "\"inf\"", "\"nan\"", "NaN", "Infinity", "\"\""] {
        assert!(read(text).is_err(), "{text}");
    }
}

#[test]
fn base64_of_either_alphabet() {
    for text in ["+//+AA==", "-__-AA==", "-__-AA", "+//+AA"] {
        let expected = MatchDataSend { data: vec![0xfb, 0xff, 0xfe, 0].into(), ..Default::default() };
        accept(&format!(r#"{{"data":"{text}"}}"#), expected);
    }
    refuse_all::<MatchDataSend>(&[
        r#"{"data":"a"}"#,
        r#"{"data":"!!!!"}"#,
        r#"{"data":[1]}"#,
        r#"{"data":"+_AA"}"#,
        r#"{"data":"AA="}"#,
        r#"{"data":"AA==="}"#,
    ]);
}

#[test]
fn strings() {
    let read = |text: &[u8]| {
        let text = [b"{\"token\":\"", text, b"\"}"].concat();
        from_json::<api::Session>(&text, Mode::Strict).map(|session| session.token)
    };
    assert_eq!(read(br#"a\"\\\/\b\f\n\r\t\u00e4\uD83C\uDFB2z"#).unwrap(), "a\"\\/\u{8}\u{c}\n\r\tä🎲z");
    assert_eq!(read("東".as_bytes()).unwrap(), "東");
    let bad: [&[u8]; 9] =
        [b"\xff", b"\xed\xa0\x80", b"\n", b"\\x", b"\\ud83c", b"\\ud83cz", b"\\ud83c\\u0041", b"\\udfb2", b"\\u12"];
    for text in bad {
        assert!(read(text).is_err(), "{text:?}");
    }
}

#[test]
fn one_alternative_only() {
    accept(
        r#"{"match_id":null,"token":"t"}"#,
        MatchJoin { id: Some(muster_wire::realtime::match_join::Id::Token("t".into())), ..Default::default() },
    );
    refuse::<MatchJoin>(
        r#"{"match_id":"m","token":"t"}"#,
        r#"invalid JSON at byte 24, field "token": only one of its alternatives may be given"#,
    );
    refuse_all::<Envelope>(&[r#"{"ping":{},"pong":{}}"#]);
}

#[test]
fn syntax() {
    refuse_all::<api::Session>(&[
        "",
        " ",
        "{",
        "}",
        "[]",
        "{,}",
        r#"{"token"}"#,
        r#"{"token":}"#,
        r#"{"token":"t",}"#,
        r#"{"token":"t" "created":true}"#,
        r#"{"token":"t"}}"#,
        r#"{"token":"t"} {}"#,
        r#"{token:"t"}"#,
        "{'token':'t'}",
        r#"{"created":tru}"#,
        r#"{"created":"true"}"#,
        r#"{"created":1}"#,
        "{}x",
        "\u{feff}{}",
        r#"{"x":}"#,
        r#"{"x":[1,]}"#,
        r#"{"x":[,1]}"#,
        r#"{"x":01}"#,
        r#"{"x":1.}"#,
        r#"{"x":"#,
    ]);
    let long_name = "n".repeat(1000);
    let error = from_json::<api::Session>(format!("{{\"{long_name}\":1}}").as_bytes(), Mode::Strict).unwrap_err();
    assert!(error.to_string().len() < 250, "errors do not echo long names");
}

#[test]
fn nesting_has_a_limit_in_what_is_skipped_too() {
    let nested = |depth: u32| {
        let depth = usize::try_from(depth).unwrap();
        format!("{{\"x\":{}{}}}", "[".repeat(depth), "]".repeat(depth))
    };
    let read = |text: String| from_json::<api::Session>(text.as_bytes(), Mode::Tolerant);
    assert!(read(nested(NESTING_DEPTH_MAX - 1)).is_ok());
    let error = read(nested(NESTING_DEPTH_MAX)).unwrap_err();
    assert_eq!(error.problem(), &JsonProblem::TooDeep);
    assert!(read("{\"x\":".to_owned() + &"[{\"y\":".repeat(100_000)).is_err());
}

#[test]
fn errors_name_the_member_inside() {
    refuse::<api::WriteStorageObjectsRequest>(
        r#"{"objects":[{"key":"k"},{"permission_read":"x"}]}"#,
        r#"invalid JSON at byte 46, field "objects.permission_read": expected a 32-bit integer"#,
    );
}
