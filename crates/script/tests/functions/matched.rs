//! The function that says where players go whom the matchmaker has matched.

use std::collections::BTreeMap;
use std::sync::Arc;

use muster_api::game::{Failure, GameFunctions as _, MatchedPlayer};
use muster_script::LuaFunctions;
use muster_wire::code::Code;

use crate::matches::presence;
use crate::world::{block_on, module};

fn player(number: u32, party_id: Option<&str>) -> MatchedPlayer {
    MatchedPlayer {
        presence: presence(number),
        party_id: party_id.map(Arc::from),
        string_properties: BTreeMap::from([("region".to_owned(), "north".to_owned())]),
        numeric_properties: BTreeMap::from([("rank".to_owned(), 4.5)]),
    }
}

fn answer(functions: &LuaFunctions) -> Result<Option<String>, Failure> {
    block_on(functions.matched(vec![player(1, None), player(2, Some("a party"))]))
}

#[test]
fn it_is_told_who_they_are_and_what_their_tickets_offered() {
    let functions = module(
        "local nk = require('nakama')
        nk.register_matchmaker_matched(function(context, players)
            return context.execution_mode .. ' ' .. nk.json_encode(players)
        end)",
    );
    assert!(functions.has_matched_function());
    let told = answer(&functions).unwrap().unwrap();
    let (mode, players) = told.split_once(' ').unwrap();
    let properties = serde_json::json!({ "region": "north", "rank": 4.5 });
    let of = |number: u32| {
        let presence = presence(number);
        serde_json::json!({
            "user_id": presence.user_id.to_string(),
            "session_id": presence.session_id.to_string(),
            "username": format!("user-{number}"),
            "node": "muster",
        })
    };
    let expected = serde_json::json!([
        { "presence": of(1), "properties": properties },
        { "presence": of(2), "properties": properties, "party_id": "a party" },
    ]);
    assert_eq!((mode, serde_json::from_str(players).ok()), ("matchmaker", Some(expected)));
}

#[test]
fn it_may_have_nothing_to_say_or_fail() {
    for (body, expected) in [
        ("", Ok(None)),
        ("return 'an id'", Ok(Some("an id".to_owned()))),
        ("error({ 'not today', 9 })", Err(Failure::new(Code::FailedPrecondition, "not today"))),
        (
            "return 7",
            Err(Failure::new(Code::Internal, "The function returned a number; it may return a string or nothing.")),
        ),
    ] {
        let text = format!("require('nakama').register_matchmaker_matched(function(context, players) {body} end)");
        let told = answer(&module(&text)).map_err(|failure| Failure { trace: None, ..failure });
        assert_eq!(told, expected, "{body}");
    }
}

#[test]
fn without_such_a_function_nobody_is_asked() {
    assert!(!module("").has_matched_function());
}
