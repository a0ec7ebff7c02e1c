//! Hooks, and other functions that no client calls by their names.

use std::time::Duration;

use muster_api::game::{Client, ExecutionMode, Failure, GameFunctions as _, Invocation};
use muster_api::hooks::{HookSubject, Hooks as _, Payload};
use muster_script::{Limits, LuaFunctions};
use muster_wire::Code;
use muster_wire::api::{Account, DeleteNotificationsRequest};
use serde_json::{Value, json};

use crate::world::{block_on, call, load, module};

fn subject(name: &str) -> HookSubject {
    HookSubject::operations().chain(HookSubject::messages()).find(|subject| subject.name() == name).unwrap()
}

/// The answer of a hook before an operation to a message; `null` if it returned nothing.
fn before(functions: &LuaFunctions, name: &str, input: Option<&dyn Payload>) -> Result<Value, Failure> {
    let invocation = Invocation { mode: ExecutionMode::Before, ..Invocation::default() };
    let answer = block_on(functions.before(subject(name), invocation, input))?;
    Ok(answer.map_or(Value::Null, |json| serde_json::from_slice(&json).unwrap()))
}

fn refused(line: &str) -> String {
    let text = format!("local nk = require('nakama')\n{line}");
    load(&[("game.lua", &text)], Limits::default()).err().unwrap().to_string()
}

#[test]
fn every_operation_and_message_takes_hooks_in_any_case() {
    let mut text = "local nk = require('nakama')\nlocal function f(_, m) return m end\n".to_owned();
    for (table, subjects) in
        [("req", HookSubject::operations().collect::<Vec<_>>()), ("rt", HookSubject::messages().collect::<Vec<_>>())]
    {
        for name in subjects.iter().map(|subject| subject.name().to_ascii_lowercase()) {
            text.push_str(&format!("nk.register_{table}_before(f, '{name}') nk.register_{table}_after(f, '{name}')\n"));
        }
    }
    let functions = module(&text);
    assert_eq!((HookSubject::operations().count(), HookSubject::messages().count()), (83, 28));
    for subject in HookSubject::operations().chain(HookSubject::messages()) {
        assert!(functions.has_before(subject) && functions.has_after(subject), "{}", subject.name());
    }
}

#[test]
fn only_what_is_registered_is_called() {
    let functions = module("require('nakama').register_rt_after(function() end, 'StatusUpdate')");
    for subject in HookSubject::operations().chain(HookSubject::messages()) {
        assert!(!functions.has_before(subject), "{}", subject.name());
        assert_eq!(functions.has_after(subject), subject.name() == "StatusUpdate", "{}", subject.name());
    }
}

#[test]
fn unknown_names_are_refused_with_near_ones() {
    for (line, told) in [
        (
            "nk.register_req_before(function() end, 'AuthenticateDevise')",
            "register_req_before: there is no operation 'AuthenticateDevise' that takes hooks; did you mean AuthenticateDevice",
        ),
        (
            "nk.register_rt_after(function() end, 'channel_join')",
            "register_rt_after: there is no message 'channel_join' that takes hooks; did you mean ChannelJoin?",
        ),
        (
            "nk.register_req_before(function() end, 'ChannelJoin')",
            "register_req_before: ChannelJoin is none of these, but register_rt_before takes it",
        ),
        (
            "nk.register_rt_before(function() end, 'Rpc')",
            "register_rt_before: there is no message 'Rpc' that takes hooks",
        ),
        (
            "nk.register_req_after(nil, 'GetAccount')",
            "register_req_after expects a function as its first argument, got nil: is it defined above this line?",
        ),
        ("nk.register_shutdown(5)", "register_shutdown expects a function as its first argument, got number"),
    ] {
        let error = refused(line);
        assert!(error.starts_with(&format!("game.lua:2: {told}")), "{error}");
    }
}

#[test]
fn a_hook_changes_switches_off_or_refuses() {
    let functions = module(
        "local nk = require('nakama')
        nk.register_req_before(function(_, m) m.ids = { 'b' } return m end, 'DeleteNotifications')
        nk.register_req_before(function() end, 'GetUsers')
        nk.register_req_before(function() error({ 'not today', 10 }) end, 'UpdateAccount')
        nk.register_req_before(function() error('broken') end, 'LinkDevice')
        nk.register_req_before(function() end, 'LinkEmail')
        nk.register_req_before(function() return 5 end, 'LinkEmail')",
    );
    let ids = DeleteNotificationsRequest { ids: vec!["a".to_owned()] };
    let without_trace = |failure| Failure { trace: None, ..failure };
    let check = |name, expect| {
        assert_eq!(before(&functions, name, Some(&ids)).map_err(without_trace), expect, "{name}");
    };
    check("DeleteNotifications", Ok(json!({ "ids": ["b"] })));
    check("GetUsers", Ok(Value::Null));
    check("UpdateAccount", Err(Failure::new(Code::Aborted, "not today")));
    check("LinkDevice", Err(Failure::new(Code::Internal, "broken")));
    let told = "The hook returned no message: a number instead of a table.";
    check("LinkEmail", Err(Failure::new(Code::Internal, told)));
}

#[test]
fn where_there_is_no_message_a_hook_gets_none_and_may_answer_anything() {
    let functions = module(
        "local nk = require('nakama')
        nk.register_req_before(function(_, m) assert(m == nil) return 5 end, 'GetAccount')
        nk.register_req_before(function() error({ 'no', 7 }) end, 'DeleteAccount')",
    );
    assert_eq!(before(&functions, "GetAccount", None), Ok(Value::Null));
    assert_eq!(before(&functions, "DeleteAccount", None), Err(Failure::new(Code::PermissionDenied, "no")));
}

#[test]
fn what_comes_after_gets_output_and_input() {
    let functions = module(
        "local nk = require('nakama')
        local seen
        nk.register_req_after(function(context, output, input)
            seen = { context.execution_mode, output, input }
            return 'whatever'
        end, 'GetUsers')
        nk.register_req_after(function(context, output, input)
            seen = { context.execution_mode, next(output) == nil, input }
            error({ 'too late', 9 })
        end, 'DeleteNotifications')
        nk.register_rpc(function() return nk.json_encode(seen) end, 'seen')",
    );
    let (output, input) = (
        Account { custom_id: "a".to_owned(), ..Account::default() },
        DeleteNotificationsRequest { ids: vec!["b".to_owned()] },
    );
    let after = |name, output| {
        let invocation = Invocation { mode: ExecutionMode::After, ..Invocation::default() };
        block_on(functions.after(subject(name), invocation, output, Some(&input)))
    };
    let seen = || serde_json::from_str::<Value>(&block_on(call(&functions, "seen", "")).unwrap()).unwrap();
    assert_eq!(after("GetUsers", Some(&output)), Ok(()));
    assert_eq!(seen(), json!(["after", { "custom_id": "a" }, { "ids": ["b"] }]));
    assert_eq!(after("DeleteNotifications", None), Err(Failure::new(Code::FailedPrecondition, "too late")));
    assert_eq!(seen(), json!(["after", true, { "ids": ["b"] }]));
}

#[test]
fn hooks_are_bound_by_the_limits_of_functions() {
    let limits = Limits { call_time: Duration::from_millis(20), machines_max: 1, ..Limits::default() };
    let text = "local nk = require('nakama')
        nk.register_req_before(function() while true do end end, 'GetUsers')
        nk.register_req_before(function(_, m) return m end, 'DeleteNotifications')";
    let functions = load(&[("game.lua", text)], limits).unwrap();
    let input = DeleteNotificationsRequest::default();
    let told = "the function used more time than it may (script.call_cpu_ms)";
    assert_eq!(before(&functions, "GetUsers", Some(&input)), Err(Failure::new(Code::Internal, told)));
    assert_eq!(before(&functions, "DeleteNotifications", Some(&input)), Ok(json!({})));
}

#[test]
fn the_context_of_the_call_under_way_is_at_hand() {
    let functions = module(
        "local nk = require('nakama')
        local at_load = nk.get_context()
        nk.register_rpc(function(context)
            local now = nk.get_context()
            now.env.NAME = 'changed'
            return nk.json_encode({ at_load.execution_mode, at_load.env.NAME, now.execution_mode, now.session_id, now.lang,
                now.client_ip, now.client_port, context.env.NAME })
        end, 'f')",
    );
    let client = Client { address: Some("10.0.0.1".parse().unwrap()), port: Some(7), lang: Some("de".to_owned()) };
    let invocation =
        Invocation { mode: ExecutionMode::Rpc, session_id: Some("s".to_owned()), client, ..Invocation::default() };
    let seen = block_on(functions.call("f", invocation)).unwrap().unwrap();
    // Both contexts of the call are the same table. The context that modules got while they ran is another one.
    let expect = json!(["run_once", "value", "rpc", "s", "de", "10.0.0.1", "7", "changed"]);
    assert_eq!(serde_json::from_str::<Value>(&seen).unwrap(), expect);
}

#[test]
fn game_code_hears_that_the_server_stops() {
    let functions = module(
        "local nk = require('nakama')
        local seen = 'nothing'
        nk.register_shutdown(function(context, grace) seen = context.execution_mode .. ' ' .. grace end)
        nk.register_rpc(function() return seen end, 'seen')",
    );
    block_on(functions.farewell(10)).unwrap();
    assert_eq!(block_on(call(&functions, "seen", "")), Ok("shutdown 10".to_owned()));
    assert_eq!(block_on(module("").farewell(10)), Ok(()));
}
