//! Tests of game code that changes while a server runs.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support;

use std::path::Path;

use rustix::process::Signal;
use serde_json::{Value, json};
use support::http;
use support::server::{Server, Setup};

fn says(text: &str) -> String {
    format!("local nk = require('nakama')\nnk.register_rpc(function() return '{text}' end, 'ask')")
}

/// The answer of the function `ask`, or its status if the call fails.
fn ask(server: &Server) -> Value {
    let token = server.sign_in("reload-device").session;
    let response = server.call("POST", "/v2/rpc/ask", &http::bearer(&token), &json!(""));
    if response.status == 200 { response.json()["payload"].clone() } else { json!(response.status) }
}

fn write(folder: &Path, file: &str, text: &str) {
    std::fs::create_dir_all(folder).unwrap();
    std::fs::write(folder.join(file), text).unwrap();
}

fn runs(server: &Server, generation: u64) {
    server.wait_for_log(&format!("\"message\":\"the new game code runs\",\"generation\":{generation}"));
}

#[test]
fn in_development_what_changes_is_loaded_at_once() {
    let setup = Setup::dev().flag("live.shards", 2).flag("logger.format", "json");
    let modules = setup.folder().join("modules");
    let server = setup.start();
    assert_eq!(ask(&server), 404, "there is no folder of modules yet");
    write(&modules, "game.lua", &says("first"));
    runs(&server, 2);
    let line = server.wait_for_log("game code is loaded");
    assert!(line.contains("\"files\":\"game.lua\"") && line.contains("\"functions\":1"), "{line}");
    assert_eq!(ask(&server), "first");
    write(&modules, "game.lua", &says("second, and longer"));
    runs(&server, 3);
    assert_eq!(ask(&server), "second, and longer");
    write(&modules, "broken.lua", "local x =\n= 1");
    let line = server.wait_for_log("what runs goes on");
    assert!(line.contains("broken.lua:2:"), "{line}");
    assert_eq!(ask(&server), "second, and longer");
    let page = server.metrics();
    assert_eq!(["script_generation", "script_reload_failed_count"].map(|name| page.value(name)), [3.0, 1.0]);
    std::fs::remove_file(modules.join("broken.lua")).unwrap();
    // The code is as before, and is loaded again: the next attempt starts from there.
    runs(&server, 4);
    std::fs::remove_file(modules.join("game.lua")).unwrap();
    runs(&server, 5);
    assert_eq!(ask(&server), 404);
    server.stop();
}

#[test]
fn in_production_it_is_loaded_when_an_operator_says_so() {
    let setup = Setup::serve().flag("logger.format", "json");
    let modules = setup.folder().join("modules");
    write(&modules, "game.lua", &says("first"));
    let server = setup.flag("runtime.path", modules.display()).start();
    write(&modules, "game.lua", "broken");
    server.signal(Signal::HUP);
    server.wait_for_log("what runs goes on");
    write(&modules, "game.lua", &says("second"));
    server.signal(Signal::HUP);
    runs(&server, 2);
    let page = server.metrics();
    assert_eq!(["script_generation", "script_reload_failed_count"].map(|name| page.value(name)), [2.0, 1.0]);
    server.stop();
}
