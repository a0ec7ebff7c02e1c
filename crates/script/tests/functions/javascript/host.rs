//! The host table from JavaScript.

use std::collections::BTreeSet;

use muster_script::host::{functions, pending};
use muster_wire::code::Code;
use serde_json::{Value, json};

use super::{answer, host, load_over};
use crate::world::{NOW_SEC, block_on, call, player, store};
use muster_script::Limits;

fn check(expression: &str, expect: &str) {
    assert_eq!(answer(&format!("return String({expression});"), ""), Ok(expect.to_owned()), "{expression}");
}

/// Message and code of the error that a function throws.
fn thrown(statement: &str) -> String {
    answer(&format!("try {{ {statement} }} catch (e) {{ return e.code + ' ' + e.message; }}"), "").unwrap()
}

/// The methods of `nk` in the original, as its server lists them.
const ORIGINAL: &str = include_str!("original.txt");

#[test]
fn every_function_of_the_host_and_of_the_original_is_there() {
    let body = "return JSON.stringify(Object.keys(nk).filter((name) => typeof nk[name] === 'function'));";
    let there: BTreeSet<String> = serde_json::from_str(&answer(body, "").unwrap()).unwrap();
    let missing: Vec<_> = ORIGINAL.split_whitespace().filter(|name| !there.contains(*name)).collect();
    assert!(missing.is_empty(), "{missing:?}");
    let in_lua = functions().chain(pending()).map(|function| function.name);
    let in_lua = in_lua.filter(|name| !name.starts_with("register_")).count();
    // Besides, `nk` has a second name for one function, and two functions for bytes.
    assert_eq!(there.len(), in_lua + 3);
    assert_eq!(thrown("nk.groupsList('x')"), "12 nk.groupsList is not available on this server yet.");
}

/// The names of the methods of an interface in the declarations, where several blocks may make up one interface.
fn declared(interface: &str) -> BTreeSet<String> {
    let all = muster_script::typings::typescript();
    let start = format!("interface {interface} ");
    let blocks = all.split(&start).skip(1).map(|from| from.split_once("\n  }\n").unwrap().0);
    let methods = blocks.flat_map(str::lines).filter_map(|line| line.trim().split_once(['(', '<']));
    let names: BTreeSet<_> = methods
        .map(|(name, _)| name)
        .filter(|name| name.chars().all(char::is_alphanumeric))
        .map(str::to_owned)
        .collect();
    assert!(!names.is_empty(), "{interface} is declared");
    names
}

/// Methods that may be called, although nothing calls yet what they register.
const IN_VAIN: [&str; 9] = [
    "registerLeaderboardReset",
    "registerPurchaseNotificationApple",
    "registerPurchaseNotificationGoogle",
    "registerStorageIndex",
    "registerStorageIndexFilter",
    "registerSubscriptionNotificationApple",
    "registerSubscriptionNotificationGoogle",
    "registerTournamentEnd",
    "registerTournamentReset",
];

#[test]
fn what_is_declared_is_what_there_is() {
    let text = "function InitModule(ctx, logger, nk, initializer) {
            const is_built = (holder) => (name) => {
                try { holder[name](); } catch (e) { return e.code !== 12; }
                return true;
            };
            const built = (holder) => Object.keys(holder).filter((name) => typeof holder[name] === 'function').filter(is_built(holder));
            const list = { nk: built(nk), logger: Object.keys(logger).filter((name) => typeof logger[name] === 'function'), initializer: built(initializer) };
            initializer.registerRpc('f', () => JSON.stringify(list));
        }";
    let there: serde_json::Map<String, Value> =
        serde_json::from_str(&block_on(call(&super::script(text), "f", "")).unwrap()).unwrap();
    let there = |of: &str| serde_json::from_value::<BTreeSet<String>>(there[of].clone()).unwrap();
    assert_eq!(declared("Nakama"), there("nk"));
    assert_eq!(declared("Logger"), there("logger"));
    let initializer: BTreeSet<_> = declared("Initializer").union(&declared("HookRegistrations")).cloned().collect();
    let missing: Vec<_> = initializer.difference(&there("initializer")).cloned().collect();
    assert!(missing.is_empty(), "{missing:?}");
    let undeclared: Vec<_> = there("initializer").difference(&initializer).cloned().collect();
    assert_eq!(undeclared, IN_VAIN);
}

#[test]
fn undefined_in_values_is_null() {
    for (value, expect) in [
        ("{ a: undefined, b: { c: undefined }, d: [undefined, 1] }", r#"{"a":null,"b":{"c":null},"d":[null,1]}"#),
        ("{ f() {} }", "{}"),
        ("{}", "{}"),
    ] {
        let body = format!(
            "const id = {{ collection: 'c', key: 'k' }};
            nk.storageWrite([{{ ...id, userId: undefined, version: null, value: {value} }}]);
            return JSON.stringify(nk.storageRead([id])[0].value);"
        );
        assert_eq!(answer(&body, ""), Ok(expect.to_owned()), "{value}");
    }
    check("(nk.localcachePut('k', { a: undefined }, 60), Object.keys(nk.localcacheGet('k')).length)", "0");
}

#[test]
fn members_that_are_null_or_undefined_are_refused_as_in_the_original() {
    let id = "00000000-0000-4000-8000-000000000001";
    for (call, member) in [
        ("storageRead([{ collection: 'c', key: 'k', userId: NONE }])", "userId must be a string"),
        ("storageDelete([{ collection: 'c', key: 'k', userId: NONE }])", "userId must be a string"),
        ("storageDelete([{ collection: 'c', key: 'k', version: NONE }])", "version must be a string"),
        ("storageWrite([{ collection: 'c', key: 'k', value: NONE }])", "value must be an object"),
        (
            "storageWrite([{ collection: 'c', key: 'k', value: {}, permissionRead: NONE }])",
            "permissionRead must be a number",
        ),
        ("multiUpdate([], [{ collection: 'c', key: 'k', userId: NONE, value: {} }])", "userId must be a string"),
        ("walletsUpdate([{ userId: 'ID', changeset: {}, metadata: NONE }])", "metadata must be an object"),
        ("notificationsSend([{ userId: 'ID', subject: 's', content: {}, code: 1, senderId: NONE }])", "a string"),
        ("streamSend({ mode: 3, label: NONE }, 'x')", "label must be a string"),
        ("walletUpdate('ID', { coins: NONE })", "whole numbers"),
        ("event('e', { a: NONE })", "properties to be strings"),
        ("metricsCounterAdd('c', { a: NONE }, 1)", "tags to be strings"),
    ] {
        for none in ["null", "undefined"] {
            let statement = format!("nk.{}", call.replace("NONE", none).replace("ID", id));
            let told = thrown(&format!("{statement};"));
            assert!(told.starts_with("3 ") && told.contains(member), "{statement}: {told}");
        }
    }
    for call in [
        "storageRead([{ collection: 'c', key: 'k', userId: '' }])",
        "storageWrite([{ collection: 'c', key: 'k', userId: '', value: {} }])",
        "storageWrite([{ collection: 'c', key: 'k', version: '', value: {} }])",
        "storageDelete([{ collection: 'c', key: 'k', userId: '' }])",
    ] {
        let told = thrown(&format!("nk.{call};"));
        assert!(told.starts_with("3 ") && told.ends_with("must be given, and not empty"), "{call}: {told}");
    }
    check(
        "nk.streamSend({ mode: 123 }, 'x', [{ sessionId: '00000000-0000-4000-8000-000000000001', status: null }])",
        "undefined",
    );
}

#[test]
fn encodings_and_digests() {
    check("nk.base16Encode('a')", "61");
    check("nk.base16Encode(new Uint8Array([255, 97]))", "ff61");
    check("nk.base16Encode(nk.base16Decode('FF61'))", "ff61");
    check("nk.base64Encode('hi')", "aGk=");
    check("nk.base64Encode('hi', false)", "aGk");
    check("nk.binaryToString(nk.base64Decode('aGk='))", "hi");
    check("nk.base64UrlEncode(new Uint8Array([255, 254]).buffer)", "__4=");
    check("nk.base64UrlDecode('__4=') instanceof ArrayBuffer", "true");
    check("nk.md5Hash('a')", "0cc175b9c0f1b6a831c399e269772661");
    check("nk.binaryToString(nk.stringToBinary('über'))", "über");
    check("nk.stringToBinary('ü').byteLength", "2");
    check(
        "nk.base16Encode(nk.hmacSha256Hash('a', 'k'))",
        "78da91511e675587f5b9df78bedebaf5560da2abb88162ee875dcdf744951d9e",
    );
    // The results are base 64, as in the original.
    check("nk.aes128Decrypt(nk.aes128Encrypt('hello', 'goldenbridge_key'), 'goldenbridge_key')", "hello");
    check("/^[A-Za-z0-9+\\/]+=*$/.test(nk.aes128Encrypt('hello', 'goldenbridge_key'))", "true");
    check("nk.secureRandomBytes(5).byteLength", "5");
    check("nk.cronNext('0 0 * * *', 0)", "86400");
    check("nk.uuidv4().length", "36");
    check("nk.time()", &(NOW_SEC * 1000).to_string());
}

#[test]
fn arguments_that_do_not_fit_are_named() {
    for (statement, told) in [
        ("nk.md5Hash()", "md5Hash: argument 1 (input) is missing"),
        ("nk.md5Hash({})", "md5Hash: argument 1 (input) must be of type string, not object"),
        ("nk.base64Encode('a', 1)", "base64Encode: argument 2 (padding) must be of type boolean, not number"),
        ("nk.storageRead(5)", "storageRead: argument 1 (objectIds) must be of type array or object, not number"),
        (
            "nk.localcachePut('k', () => 1)",
            "localcachePut: argument 2 (value): a function or a symbol cannot be used here",
        ),
        (
            "let o = {}; o.o = o; nk.localcachePut('k', o)",
            "localcachePut: argument 2 (value): the value is nested too deeply",
        ),
        ("nk.localcachePut('k', new Array(2 ** 31))", "localcachePut: argument 2 (value): more than 250000 values"),
        (
            "nk.accountUpdateId('a', null, 5, null, null, null, null, 'x')",
            "accountUpdateId: argument 8 (metadata) must be of type array or object, not string",
        ),
        ("nk.aes128Decrypt('?', 'k')", "aes128Decrypt: argument 1 (input) is not base 64"),
        ("nk.binaryToString('x')", "expects an ArrayBuffer"),
    ] {
        assert_eq!(thrown(statement), format!("3 {told}"), "{statement}");
    }
}

#[test]
fn values_cross_as_they_are() {
    for (value, expect) in [
        (
            "{ a: [1, 2.5, 'x', true, null], snake_case: { camelCase: {} } }",
            json!({ "a": [1, 2.5, "x", true, null], "snake_case": { "camelCase": {} } }),
        ),
        ("[undefined, [], {}]", json!([null, [], {}])),
        ("{ a: undefined, f() {}, b: new Date(0) }", json!({ "b": "1970-01-01T00:00:00.000Z" })),
        ("{ n: 123n, big: 9007199254740991 }", json!({ "n": 123, "big": 9_007_199_254_740_991_u64 })),
        ("'half \\ud800'", json!("half \u{fffd}")),
        ("{ __proto__: { inherited: 1 }, ['__proto__']: { own: 1 } }", json!({ "__proto__": { "own": 1 } })),
        ("new (class { constructor() { this.x = 1; } m() {} })()", json!({ "x": 1 })),
    ] {
        let body = format!("nk.localcachePut('k', {value}); return JSON.stringify(nk.localcacheGet('k'));");
        let back = answer(&body, "").unwrap_or_else(|(_, told)| panic!("{value}: {told}"));
        assert_eq!(serde_json::from_str::<Value>(&back).unwrap(), expect, "{value}");
    }
    check("nk.localcacheGet('nothing')", "undefined");
}

#[test]
fn records_are_in_camel_case_and_what_a_studio_named_is_not() {
    let store = store();
    let ann = block_on(player(&store, 1, "ann")).to_string();
    let text = "function f(ctx, logger, nk, payload) { return JSON.stringify(eval(payload)); }
        function InitModule(ctx, logger, nk, initializer) { initializer.registerRpc('f', f); }";
    let functions = load_over(&[("index.js", text)], &host(&store), Limits::default()).unwrap();
    let run = |code: &str| {
        let code = code.replace("ANN", &format!("'{ann}'"));
        let answer = block_on(call(&functions, "f", &code)).unwrap_or_else(|(_, told)| panic!("{code}: {told}"));
        serde_json::from_str::<Value>(if answer.is_empty() { "null" } else { &answer }).unwrap()
    };
    let acks = run(
        "nk.storageWrite([{ collection: 'decks', key: 'first', userId: ANN, value: { my_cards: { aB: 1 } }, permissionRead: 2 }])",
    );
    assert_eq!(acks[0]["userId"], ann.as_str(), "{acks}");
    let read = run("nk.storageRead([{ collection: 'decks', key: 'first', userId: ANN }])");
    assert_eq!(read[0]["value"], json!({ "my_cards": { "aB": 1 } }));
    assert_eq!((&read[0]["permissionRead"], &read[0]["permissionWrite"]), (&json!(2), &json!(1)));
    assert!(read[0]["createTime"].is_u64() && read[0]["user_id"].is_null(), "{read}");
    let listed = run("nk.storageList(ANN, 'decks', 10)");
    assert_eq!((listed["objects"].as_array().unwrap().len(), &listed["cursor"]), (1, &Value::Null));
    let changed = run("nk.walletUpdate(ANN, { gold_coins: 5 }, { why_not: 1 }, true)");
    assert_eq!(changed, json!({ "userId": ann, "updated": { "gold_coins": 5 }, "previous": {} }));
    let ledger = run("nk.walletLedgerList(ANN)");
    assert_eq!(ledger["items"][0]["metadata"], json!({ "why_not": 1 }));
    assert_eq!(ledger["items"][0]["userId"], ann.as_str());
    run("nk.accountUpdateId(ANN, null, 'Ann B.', null, null, null, null, { shoe_size: 40 })");
    let account = run("nk.accountGetId(ANN)");
    assert_eq!(account["user"]["displayName"], "Ann B.", "{account}");
    assert_eq!(account["user"]["metadata"], json!({ "shoe_size": 40 }));
    let both = run(
        "nk.multiUpdate(null, [{ collection: 'c', key: 'k', userId: ANN, value: {} }], null, [{ userId: ANN, changeset: { gold_coins: 1 } }])",
    );
    assert_eq!(both["walletUpdateAcks"][0]["updated"], json!({ "gold_coins": 6 }));
    assert_eq!(both["storageWriteAcks"][0]["collection"], "c");
    let login = run("nk.authenticateDevice('device-of-ann')");
    assert_eq!((&login["username"], &login["created"]), (&json!("ann"), &json!(false)));
    let token = run("nk.authenticateTokenGenerate(ANN, 'ann')");
    assert!(token["token"].is_string() && token["exp"].is_u64(), "{token}");
    assert_eq!(run("nk.streamUserGet(ANN, ANN, { mode: 5, subject: ANN })"), Value::Null);
    let rows = run("nk.sqlQuery('SELECT username AS user_name FROM users WHERE username = $1', ['ann'])");
    assert_eq!(rows, json!([{ "user_name": "ann" }]));
    assert!(
        run("nk.sqlExec('UPDATE users SET location = $1 WHERE username = $2', ['here', 'ann'])")["rowsAffected"] == 1
    );
}

#[test]
fn refusals_are_errors_with_a_code_that_callers_are_not_told() {
    assert_eq!(thrown("nk.accountGetId('nobody')").split(' ').next(), Some("3"));
    check("(() => { try { nk.accountGetId('x'); } catch (e) { return e instanceof Error; } })()", "true");
    let (code, message) = answer("nk.accountGetId('nobody');", "").unwrap_err();
    assert_eq!(code, Code::Internal);
    assert!(message.starts_with("TypeError: "), "{message}");
}
