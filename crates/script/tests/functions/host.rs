//! The host table from Lua.

use muster_api::game::{ExecutionMode, GameFunctions as _, Invocation};
use muster_script::host::{functions, pending};
use muster_wire::code::Code;

use crate::world::{NOW_SEC, answer, block_on, module};

fn check(expression: &str, expect: &str) {
    let body = format!("local nk = require('nakama') return tostring({expression})");
    assert_eq!(answer(&body, ""), Ok(expect.to_owned()), "{expression}");
}

#[test]
fn encodings_and_digests() {
    check("nk.base16_encode('\\255a')", "ff61");
    check("nk.base16_decode('FF61') == '\\255a'", "true");
    check("nk.base64_encode('hi')", "aGk=");
    check("nk.base64_encode('hi', false)", "aGk");
    check("nk.base64_decode('aGk=')", "hi");
    check("nk.base64_decode('aGk')", "hi");
    check("nk.base64url_decode('aGk')", "hi");
    check("nk.base64url_encode('\\255\\254')", "__4=");
    check("nk.base64url_decode('__4=') == '\\255\\254'", "true");
    check("nk.md5_hash('a')", "0cc175b9c0f1b6a831c399e269772661");
    check("nk.sha256_hash('a')", "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb");
    check(
        "nk.base16_encode(nk.hmac_sha256_hash('a', 'k'))",
        "78da91511e675587f5b9df78bedebaf5560da2abb88162ee875dcdf744951d9e",
    );
}

#[test]
fn ids_and_the_clock() {
    check("nk.uuid_v4()", "01010101-0101-4101-8101-010101010101");
    check(
        "nk.uuid_bytes_to_string(nk.uuid_string_to_bytes('01010101-0101-4101-8101-010101010101'))",
        "01010101-0101-4101-8101-010101010101",
    );
    check("nk.time()", &(NOW_SEC * 1000).to_string());
}

#[test]
fn json_there_and_back() {
    check("nk.json_encode({ 1, 2.5, 'x', true })", r#"[1,2.5,"x",true]"#);
    check("nk.json_encode({ a = { b = 1 } })", r#"{"a":{"b":1}}"#);
    check("nk.json_encode({})", "{}");
    check("nk.json_encode('ü')", "\"ü\"");
    check("nk.json_encode({ 1, nil, 3 })", "[1,null,3]");
    check("nk.json_encode({ [3] = 'a', x = 'b' })", r#"[null,null,"a"]"#);
    check("nk.json_encode('<&>')", r#""\u003c\u0026\u003e""#);
    check("nk.json_encode({ 1e20, 1e21 })", "[100000000000000000000,1e+21]");
    check("nk.json_decode('{\"a\":[1,{\"b\":null}]}').a[1]", "1");
    check("nk.json_decode('[]')[1]", "nil");
    check("nk.json_encode(nk.json_decode('{\"n\":1e3,\"t\":\"x\"}'))", r#"{"n":1000,"t":"x"}"#);
}

#[test]
fn arguments_that_do_not_fit_are_named() {
    let told = "bad argument #1 to md5_hash (string expected, got table)";
    assert_eq!(answer("require('nakama').md5_hash({})", ""), Err((Code::Internal, told.to_owned())));
    let told = "bad argument #2 to base64_encode (boolean expected, got number)";
    assert_eq!(answer("require('nakama').base64_encode('a', 1)", ""), Err((Code::Internal, told.to_owned())));
}

/// Functions that only make sense inside of a machine, and are not in the host table.
const IN_THE_MACHINE: [&str; 9] = [
    "get_context",
    "register_matchmaker_matched",
    "register_req_after",
    "register_req_before",
    "register_rpc",
    "register_rt_after",
    "register_rt_before",
    "register_shutdown",
    "run_once",
];

/// Further functions outside of the host table, which the original does not have in Lua.
const OURS: [&str; 4] =
    ["register_event", "register_event_session_end", "register_event_session_start", "register_schedule"];

#[test]
fn every_function_is_there_and_what_is_not_built_says_so() {
    let in_the_table = functions().chain(pending()).map(|function| function.name);
    let mut all: Vec<_> = in_the_table.chain(IN_THE_MACHINE).collect();
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), 194, "the original has as many functions in Lua");
    let built = all.len() - pending().count();
    let told = format!("Of the {} functions of `nk` {built} are there", all.len());
    assert!(include_str!("../../../../COMPAT.md").contains(&told), "COMPAT.md does not say: {told}");
    for name in all.iter().copied().chain(OURS) {
        let body = format!("return type(require('nakama').{name})");
        assert_eq!(answer(&body, ""), Ok("function".to_owned()), "{name}");
    }
    let told = "nk.groups_list is not available on this server yet.".to_owned();
    assert_eq!(answer("require('nakama').groups_list({})", ""), Err((Code::Internal, told)));
}

#[test]
fn the_context_says_who_asks() {
    let functions = module(
        "local nk = require('nakama')
        nk.register_rpc(function(context) return nk.json_encode(context) end, 'Context')",
    );
    assert!(functions.has("context"), "ids are known by their lower case");
    let query = vec![("a".to_owned(), vec!["1".to_owned(), "2".to_owned()])];
    let headers = vec![("User-Agent".to_owned(), vec!["test".to_owned()])];
    let session_id = Some("s".to_owned());
    let invocation = Invocation { mode: ExecutionMode::Rpc, query, headers, session_id, ..Invocation::default() };
    let context = block_on(functions.call("context", invocation)).unwrap().unwrap();
    let context: serde_json::Value = serde_json::from_str(&context).unwrap();
    let expect = serde_json::json!({
        "execution_mode": "rpc", "node": "muster", "version": "1.2.3", "env": { "NAME": "value" },
        "headers": { "User-Agent": ["test"] }, "query_params": { "a": ["1", "2"] }, "session_id": "s",
    });
    assert_eq!(context, expect);
}
