//! Tests of game code in a server: its requests to other servers, and its traces in logs and metrics.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support;

use serde_json::{Value, json};
use support::http;
use support::server::{Server, Setup};

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
