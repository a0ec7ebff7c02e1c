//! Functions and hooks: their arguments, and the meaning of their results and errors.

use muster_api::game::{Client, ExecutionMode, Failure, GameFunctions as _, Invocation};
use muster_api::hooks::{HookSubject, Hooks as _, Payload};
use muster_script::JsFunctions;
use muster_wire::api::{Account, DeleteNotificationsRequest};
use muster_wire::code::Code;
use serde_json::{Value, json};

use super::{answer, refused, script};
use crate::world::{block_on, call};

fn subject(name: &str) -> HookSubject {
    HookSubject::operations().chain(HookSubject::messages()).find(|subject| subject.name() == name).unwrap()
}

fn with_init(functions: &str, init: &str) -> String {
    format!("{functions}\nfunction InitModule(ctx, logger, nk, initializer) {{\n{init}\n}}")
}

/// The answer of a hook before an operation to a message; `null` if it returned nothing.
fn before(functions: &JsFunctions, name: &str, input: Option<&dyn Payload>) -> Result<Value, Failure> {
    let invocation = Invocation { mode: ExecutionMode::Before, ..Invocation::default() };
    let answer = block_on(functions.before(subject(name), invocation, input))?;
    Ok(answer.map_or(Value::Null, |json| serde_json::from_slice(&json).unwrap()))
}

#[test]
fn the_context_says_who_asks() {
    let text = with_init(
        "function tell(ctx, logger, nk, payload) { return JSON.stringify([ctx, payload]); }",
        "initializer.registerRpc('Context', tell);",
    );
    let functions = script(&text);
    assert!(functions.has("context"), "ids are known by their lower case");
    let query = vec![("a".to_owned(), vec!["1".to_owned(), "2".to_owned()])];
    let headers = vec![("User-Agent".to_owned(), vec!["test".to_owned()])];
    let client = Client { address: Some("10.0.0.1".parse().unwrap()), port: Some(7), lang: Some("de".to_owned()) };
    let session_id = Some("s".to_owned());
    let (mode, payload) = (ExecutionMode::Rpc, "{}".to_owned());
    let invocation = Invocation { mode, payload, query, headers, session_id, client, ..Invocation::default() };
    let context = block_on(functions.call("context", invocation)).unwrap().unwrap();
    let expect = json!([{
        "executionMode": "rpc", "node": "muster", "version": "1.2.3", "env": { "NAME": "value" },
        "sessionId": "s", "clientIp": "10.0.0.1", "clientPort": "7", "lang": "de",
    }, "{}"]);
    assert_eq!(serde_json::from_str::<Value>(&context).unwrap(), expect);
}

#[test]
fn what_modules_give_all_objects_is_no_part_of_the_context() {
    let text = "Object.prototype.extend = function () {};
        Object.defineProperty(Object.prototype, 'told', { enumerable: true, get() { return 1; } });
        function tell(ctx) { return JSON.stringify(ctx); }";
    let functions = script(&with_init(text, "initializer.registerRpc('tell', tell);"));
    let context = block_on(call(&functions, "tell", "")).unwrap();
    assert!(context.starts_with(r#"{"env":{"NAME":"value"},"#), "{context}");
}

#[test]
fn a_function_says_with_which_code_it_fails() {
    let check = |body: &str, code: Code, message: &str| {
        assert_eq!(answer(body, ""), Err((code, message.to_owned())), "{body}");
    };
    check("throw { message: 'no chips', code: 9 };", Code::FailedPrecondition, "no chips");
    check("throw { message: 'no chips', code: nkruntime.Codes.NOT_FOUND };", Code::NotFound, "no chips");
    check("throw { message: 'a code that there is not', code: 99 };", Code::Internal, "a code that there is not");
    check("throw { message: 'no code' };", Code::Internal, "no code");
    check("const e = new Error('mine'); e.code = 7; throw e;", Code::PermissionDenied, "Error: mine");
    check("throw new Error('broken');", Code::Internal, "Error: broken");
    check("throw new (class Bad extends Error {})('broken');", Code::Internal, "Error: broken");
    check("throw 'text';", Code::Internal, "text");
    check("throw { other: 1 };", Code::Internal, "{\"other\":1}");
    check("throw undefined;", Code::Internal, "undefined");
    check("null.x;", Code::Internal, "TypeError: cannot read property 'x' of null");
    check("undeclared = 1;", Code::Internal, "ReferenceError: undeclared is not defined");
}

#[test]
fn a_result_is_a_text_or_nothing() {
    assert_eq!(answer("return payload + '!';", "hello"), Ok("hello!".to_owned()));
    assert_eq!(answer("return null;", ""), Ok(String::new()));
    assert_eq!(answer("", ""), Ok(String::new()));
    assert_eq!(answer("return 'a\\u0000b';", ""), Ok("a\0b".to_owned()));
    for (value, kind) in [("{ a: 1 }", "object"), ("5", "number"), ("[1]", "array"), ("() => 1", "function")] {
        let told = format!("The function returned a value of type {kind}; it may return a string or nothing.");
        assert_eq!(answer(&format!("return {value};"), ""), Err((Code::Internal, told)));
    }
}

#[test]
fn promises_are_waited_for_as_far_as_they_need_nothing_from_outside() {
    assert_eq!(answer("return (async () => { await null; return 'late'; })();", ""), Ok("late".to_owned()));
    let told = Err((Code::FailedPrecondition, "no".to_owned()));
    assert_eq!(answer("return (async () => { throw { message: 'no', code: 9 }; })();", ""), told);
    let told = "The function returned a promise that nothing fulfils: there is nothing here to wait for.";
    assert_eq!(answer("return new Promise(() => {});", ""), Err((Code::Internal, told.to_owned())));
}

#[test]
fn every_operation_and_message_takes_hooks() {
    let mut init = String::new();
    for name in HookSubject::operations().map(HookSubject::name) {
        init.push_str(&format!("initializer.registerBefore{name}(f); initializer.registerAfter{name}(f);\n"));
    }
    for name in HookSubject::messages().map(|subject| subject.name().to_ascii_lowercase()) {
        init.push_str(&format!(
            "initializer.registerRtBefore('{name}', f); initializer.registerRtAfter('{name}', f);\n"
        ));
    }
    let functions = script(&with_init("function f(ctx, logger, nk, message) { return message; }", &init));
    for subject in HookSubject::operations().chain(HookSubject::messages()) {
        assert!(functions.has_before(subject) && functions.has_after(subject), "{}", subject.name());
    }
}

#[test]
fn a_hook_changes_switches_off_or_refuses() {
    let functions = script(&with_init(
        "function change(ctx, logger, nk, m) { m.ids = ['b']; return m; }
        function nothing() {}
        function refuse() { throw { message: 'not today', code: 10 }; }
        function wrong() { return 5; }
        function see(ctx, logger, nk, m) { if (m !== null) throw 'a message'; }",
        "initializer.registerBeforeDeleteNotifications(change);
        initializer.registerBeforeGetUsers(nothing);
        initializer.registerBeforeUpdateAccount(refuse);
        initializer.registerBeforeLinkEmail(wrong);
        initializer.registerBeforeGetAccount(() => 5);",
    ));
    let ids = DeleteNotificationsRequest { ids: vec!["a".to_owned()] };
    let without_trace = |failure| Failure { trace: None, ..failure };
    let check = |name, expect| {
        assert_eq!(before(&functions, name, Some(&ids)).map_err(without_trace), expect, "{name}");
    };
    check("DeleteNotifications", Ok(json!({ "ids": ["b"] })));
    check("GetUsers", Ok(Value::Null));
    check("UpdateAccount", Err(Failure::new(Code::Aborted, "not today")));
    let told = "The hook returned no message: number instead of an object.";
    check("LinkEmail", Err(Failure::new(Code::Internal, told)));
    assert_eq!(before(&functions, "GetAccount", None), Ok(Value::Null));
}

#[test]
fn what_comes_after_gets_output_and_input_with_all_defaults() {
    let functions = script(&with_init(
        "let seen;
        function after(ctx, logger, nk, output, input) { seen = [ctx.executionMode, output, input]; return 'whatever'; }
        function tell() { return JSON.stringify(seen); }",
        "initializer.registerAfterGetUsers(after); initializer.registerRpc('seen', tell);",
    ));
    let output = Account { custom_id: "a".to_owned(), ..Account::default() };
    let input = DeleteNotificationsRequest { ids: vec!["b".to_owned()] };
    let seen = |output: Option<&dyn Payload>| {
        let invocation = Invocation { mode: ExecutionMode::After, ..Invocation::default() };
        block_on(functions.after(subject("GetUsers"), invocation, output, Some(&input))).unwrap();
        serde_json::from_str::<Value>(&block_on(call(&functions, "seen", "")).unwrap()).unwrap()
    };
    let with = seen(Some(&output));
    assert_eq!((&with[0], &with[1]["customId"], &with[1]["email"]), (&json!("after"), &json!("a"), &json!("")));
    assert_eq!((&with[1]["devices"], &with[2]), (&json!([]), &json!({ "ids": ["b"] })));
    assert_eq!(seen(None), json!(["after", null, { "ids": ["b"] }]));
}

#[test]
fn game_code_hears_that_the_server_stops() {
    let functions = script(&with_init(
        "let seen = 'nothing';
        function stop(ctx) { seen = ctx.executionMode; }",
        "initializer.registerShutdown(stop); initializer.registerRpc('seen', () => seen);",
    ));
    block_on(functions.farewell(10)).unwrap();
    assert_eq!(block_on(call(&functions, "seen", "")), Ok("shutdown".to_owned()));
}

#[test]
fn game_code_says_where_matched_players_go() {
    let functions = script(&with_init(
        "",
        "initializer.registerMatchmakerMatched((ctx, logger, nk, players) => JSON.stringify([ctx.executionMode, players]));",
    ));
    assert!(functions.has_matched_function() && !script(&with_init("", "")).has_matched_function());
    let player = muster_api::game::MatchedPlayer {
        presence: muster_live::stream::Presence {
            session_id: muster_domain::ids::SessionId(muster_domain::ids::Uuid::from_u128(1)),
            ..crate::matches::presence(7)
        },
        party_id: Some("p".into()),
        string_properties: [("game_mode".to_owned(), "ranked".to_owned())].into(),
        numeric_properties: [("skill_level".to_owned(), 5.0)].into(),
    };
    let answer = block_on(functions.matched(vec![player])).unwrap().unwrap();
    let expect = json!(["matchmaker", [{
        "presence": {
            "userId": "00000000-0000-0000-0000-000000000007", "sessionId": "00000000-0000-0000-0000-000000000001",
            "username": "user-7", "node": "muster",
        },
        "properties": { "game_mode": "ranked", "skill_level": 5 },
        "partyId": "p",
    }]]);
    assert_eq!(serde_json::from_str::<Value>(&answer).unwrap(), expect);
}

#[test]
fn what_cannot_be_registered_is_refused_with_its_place() {
    for (line, told) in [
        ("initializer.registerRpc('f', missing.f);", "TypeError: cannot read property 'f' of undefined"),
        (
            "initializer.registerRpc('f', missing);",
            "TypeError: registerRpc expects a function, got undefined: is it defined where it is used?",
        ),
        (
            "initializer.registerRpc(missing, f);",
            "TypeError: registerRpc expects a string as its first argument, got undefined",
        ),
        ("initializer.registerRpc('', f);", "TypeError: registerRpc expects an id that is not empty"),
        ("initializer.registerRpc('muster.x', f);", "TypeError: registerRpc: ids that begin with muster. are built in"),
        (
            "initializer.registerRtBefore('GetAccount', f);",
            "TypeError: registerRtBefore: GetAccount is an operation: registerBeforeGetAccount takes it",
        ),
        (
            "initializer.registerRtAfter('StatusUpdat', f);",
            "TypeError: registerRtAfter: there is no message 'StatusUpdat' that takes hooks; did you mean StatusUpdate?",
        ),
        (
            "initializer.registerMatch('m', { matchInit: f });",
            "TypeError: registerMatch: the match 'm' needs functions matchJoinAttempt, got undefined; matchJoin, got undefined; matchLeave, got undefined; matchLoop, got undefined; matchTerminate, got undefined; matchSignal, got undefined",
        ),
        (
            "initializer.registerMatch('m', 5);",
            "TypeError: registerMatch expects an object of functions as its second argument",
        ),
        (
            "initializer.registerBeforeGetAcount(f);",
            "TypeError: not a function (initializer.registerBeforeGetAcount: did you mean initializer.registerBeforeGetAccount?)",
        ),
    ] {
        let text = format!(
            "var missing;\nfunction f() {{}}\nfunction InitModule(ctx, logger, nk, initializer) {{\n{line}\n}}"
        );
        let error = refused(&text);
        let (place, said) = error.split_once(": ").unwrap();
        assert_eq!(said, told);
        assert!(place.contains("index.js:4"), "{error}");
    }
}

#[test]
fn loggers_take_formats_and_fields() {
    let body = "const mine = logger.withField('table', 'blue').withFields({ seat: 3 });
        mine.info('%s sits', 'ann'); mine.debug('x', {}, new Error('y')); mine.warn('z'); mine.error('%d', 1);
        return JSON.stringify([mine.getFields(), logger.getFields()]);";
    assert_eq!(answer(body, ""), Ok(r#"[{"table":"blue","seat":"3"},{}]"#.to_owned()));
}
