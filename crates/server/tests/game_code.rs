//! Tests of game code in a server: its requests to other servers, and its traces in logs and metrics.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support;

use muster_wire::envelope::Format;
use serde_json::{Value, json};
use support::http;
use support::server::{SERVER_KEY, Server, Setup};
use support::socket::Socket;

const MODULE: &str = "local nk = require('nakama')
    nk.run_once(function()
        nk.localcache_put('runs', (nk.localcache_get('runs') or 0) + 1)
        nk.sql_exec('CREATE TABLE score (name TEXT, points BIGINT)')
    end)
    nk.register_rpc(function(_, payload)
        nk.metrics_counter_add('asked', { mode = 'test' }, 2)
        nk.sql_exec('INSERT INTO score (name, points) VALUES ($1, $2)', { 'ann', 5 })
        local sum = nk.sql_query('SELECT sum(points)::bigint AS sum FROM score')[1].sum
        local ok, code, _, body = pcall(nk.http_request, nk.json_decode(payload).url, 'GET')
        return nk.json_encode({ ok = ok, code = code, body = body, sum = sum,
            runs = nk.localcache_get('runs'), name = nk.get_config().name, text = nk.file_read('notes.txt') })
    end, 'ask')";

fn ask(server: &Server, url: &str) -> Value {
    let token = server.sign_in("game-code-device").session;
    let body = json!(json!({ "url": url }).to_string());
    let response = server.call("POST", "/v2/rpc/ask", &http::bearer(&token), &body);
    serde_json::from_str(response.json()["payload"].as_str().unwrap()).unwrap()
}

#[test]
fn modules_ask_other_servers_count_and_keep() {
    let setup = Setup::dev().flag("live.shards", 2).flag("name", "highcard");
    let modules = setup.folder().join("modules");
    std::fs::create_dir_all(&modules).unwrap();
    std::fs::write(modules.join("game.lua"), MODULE).unwrap();
    std::fs::write(modules.join("notes.txt"), "notes").unwrap();
    let setup = setup.flag("runtime.path", modules.display());
    let server = setup.start();
    let url = format!("http://{}/healthcheck", server.address);
    let answer = ask(&server, &url);
    let expect =
        json!({ "ok": true, "code": 200, "body": "{}", "sum": 5, "runs": 1, "name": "highcard", "text": "notes" });
    assert_eq!(answer, expect);
    let refused = ask(&server, "http://169.254.169.254/latest/meta-data");
    let told = "requests to 169.254.169.254 are refused: it is at 169.254.169.254, which game code may not reach";
    assert_eq!((refused["ok"].as_bool(), refused["code"].as_str()), (Some(false), Some(told)));
    let page = server.metrics();
    assert_eq!(page.custom("asked{mode=\"test\"}"), 4.0);
    let counts = ["script_http_count", "script_http_failed_count", "script_custom_series", "script_cache_entries"];
    assert_eq!(counts.map(|name| page.value(name)), [2.0, 1.0, 1.0, 1.0]);
    server.stop();

    std::fs::write(modules.join("game.lua"), MODULE.replace("CREATE TABLE", "CREATE TABLE IF NOT EXISTS")).unwrap();
    let strict = setup.flag("script.http_strict", true).start();
    let refused = ask(&strict, &format!("http://{}/healthcheck", strict.address));
    assert!(refused["code"].as_str().unwrap().contains("are refused"), "{refused}");
    assert_eq!(refused["sum"], 15, "what was written before is there");
    strict.stop();
}

const BROKEN_LUA: &str = "local nk = require('nakama')
    local function fail() error('boom') end
    nk.register_rpc(function() fail() end, 'lua_fails')
    nk.register_rpc(function() return { 1 } end, 'lua_returns_a_table')
    nk.register_rpc(function() error({ 'not now', 9 }) end, 'lua_refuses')
    nk.register_rpc(function() return nk.match_create('failing', {}) end, 'make')
    nk.register_rpc(function() return nk.match_create('failng', {}) end, 'misspell')
    nk.register_rpc(function() nk.storage_write({ { collection = 'c', key = 'k', user_id = nil } }) end, 'misuse')
    nk.register_req_before(function() fail() end, 'ListMatches')";

const BROKEN_JAVASCRIPT: &str = "function InitModule(ctx, logger, nk, initializer) {
    initializer.registerRpc('js_fails', fails);
    initializer.registerRpc('js_parses', parses);
    initializer.registerRpc('js_returns_an_object', returns);
}
function fails() { throw new Error('boom'); }
function parses() { return JSON.parse('{'); }
function returns() { return { a: 1 }; }";

const FAILING: &str = "return {
        match_init = function() return {}, 10, '' end,
        match_join_attempt = function(context, dispatcher, tick, state) return state, true end,
        match_join = function(context, dispatcher, tick, state) return state end,
        match_leave = function(context, dispatcher, tick, state) return state end,
        match_loop = function(context, dispatcher, tick, state, messages)
            if #messages > 0 then error('boom') end
            return state
        end,
        match_terminate = function(context, dispatcher, tick, state) return state end,
        match_signal = function(context, dispatcher, tick, state) return state, '' end,
    }";

fn broken(setup: Setup) -> Setup {
    let modules = setup.folder().join("modules");
    std::fs::create_dir_all(&modules).unwrap();
    std::fs::write(modules.join("broken.lua"), BROKEN_LUA).unwrap();
    std::fs::write(modules.join("failing.lua"), FAILING).unwrap();
    std::fs::write(modules.join("index.js"), BROKEN_JAVASCRIPT).unwrap();
    setup.flag("runtime.path", modules.display()).flag("runtime.js_entrypoint", "index.js")
}

#[test]
fn callers_are_told_what_was_raised_and_the_log_where_once() {
    let setup = broken(Setup::dev());
    let server = setup.start();
    let token = server.sign_in("a-caller-of-it").session;
    let call = |id: &str| {
        let response = server.call("POST", &format!("/v2/rpc/{id}"), &http::bearer(&token), &json!(""));
        let body = response.json();
        (response.status, body["code"].as_i64().unwrap(), body["message"].as_str().unwrap().to_owned())
    };
    for (id, told, logged) in [
        ("lua_fails", "boom", &["broken.lua:2: boom", "broken.lua:3", "local function fail() error('boom') end"][..]),
        ("lua_returns_a_table", "The function returned a table", &["broken.lua:4", "return { 1 }"]),
        ("js_fails", "Error: boom", &["fails (index.js:6:", "throw new Error('boom')"]),
        ("js_parses", "SyntaxError: ", &["parses (index.js:7:", "JSON.parse('{')"]),
        ("js_returns_an_object", "The function returned a value of type object", &[]),
    ] {
        let (status, code, message) = call(id);
        assert_eq!((status, code), (500, 13), "{id}");
        assert!(message.starts_with(told), "{id}: {message}");
        let function = format!("\"function\":\"{id}\"");
        server.wait_for_log(&function);
        let log = server.log();
        let lines: Vec<&str> = log.lines().filter(|line| line.contains(&function)).collect();
        assert_eq!(lines.len(), 1, "{id}: {lines:?}");
        assert!(lines[0].contains("stack traceback:"), "{}", lines[0]);
        for part in logged {
            assert!(lines[0].contains(part), "{id}: no {part} in {}", lines[0]);
        }
    }
    assert_eq!(call("lua_refuses"), (400, 9, "not now".to_owned()));
    assert!(!server.says("lua_refuses"), "a refusal on purpose is no error");
    let (_, _, told) = call("misspell");
    assert!(told.contains("module 'failng' not found: the game has the match handlers 'failing'"), "{told}");
    let (_, _, told) = call("misuse");
    assert!(told.starts_with("storage_write expects the value of each object to be a table"), "{told}");

    // The helper sends JSON, so this body is an object and not a text.
    let refused = server.call("POST", "/v2/rpc/lua_fails", &http::bearer(&token), &json!({}));
    assert_eq!((refused.status, refused.json()["code"].as_i64()), (400, Some(3)));
    assert!(refused.json()["message"].as_str().unwrap().contains("?unwrap"), "{}", refused.json());

    let refused = server.call("GET", "/v2/match", &http::bearer(&token), &Value::Null);
    assert_eq!(refused.json()["message"], "boom");
    server.wait_for_log("\"function\":\"before ListMatches\"");
    assert_eq!(server.log().matches("before ListMatches").count(), 1, "a hook's error is logged once, too");
    server.stop();
}

/// Has a player's match fail. Answers the player's envelopes until the match has ended.
fn envelopes_of_a_failing_match(server: &Server, server_key: &str) -> Vec<String> {
    let token = server.sign_in_with(server_key, "a-player-of-it").session;
    let made = server.call("POST", "/v2/rpc/make", &http::bearer(&token), &json!("")).json();
    let id = made["payload"].as_str().unwrap().to_owned();
    let mut socket = Socket::open(server.address, &token, Format::Json);
    let mut seen = Vec::new();
    socket.send_message(json!({ "cid": "1", "match_join": { "match_id": id } }).to_string().as_bytes());
    while !seen.iter().any(|text: &String| text.contains("\"cid\":\"1\"")) {
        seen.push(String::from_utf8(socket.read().unwrap().payload).unwrap());
    }
    socket.send_message(json!({ "match_data_send": { "match_id": id, "op_code": 1 } }).to_string().as_bytes());
    while !seen.iter().any(|text| text.contains("\"leaves\"")) {
        seen.push(String::from_utf8(socket.read().unwrap().payload).unwrap());
    }
    seen
}

#[test]
fn players_of_a_match_that_fails_are_told_why_under_dev_only() {
    for (setup, is_dev) in [(Setup::dev(), true), (Setup::serve(), false)] {
        let server = broken(setup).start();
        let server_key = if is_dev {
            SERVER_KEY.to_owned()
        } else {
            server.wait_for_log("for your client").split('"').nth(1).unwrap().to_owned()
        };
        let seen = envelopes_of_a_failing_match(&server, &server_key);
        let told = "The match has ended because its code failed: failing.lua:7: boom";
        assert_eq!(seen.iter().any(|text| text.contains(told)), is_dev, "{seen:?}");
        server.wait_for_log("a match ends because its code failed");
        let log = server.log();
        let line = log.lines().find(|line| line.contains("a match ends because its code failed")).unwrap();
        assert!(line.contains("failing.lua:7: boom") && line.contains("stack traceback:"), "{line}");
        assert_eq!(line.contains("if #messages > 0 then error('boom') end"), is_dev, "{line}");
        server.stop();
    }
}
