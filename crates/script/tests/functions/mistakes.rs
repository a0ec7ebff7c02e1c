//! Mistakes in game code, and the remedies that its author is told: in the error, and in the log.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use muster_script::value::Value;
use muster_script::{Bundle, EngineSettings, JsFunctions, Limits, Programs, ScriptMetrics};
use muster_wire::code::Code;

use crate::javascript;
use crate::logs::warnings;
use crate::matches::{Hall, run};
use crate::world::{answer, block_on, call, host_over, load, load_in, store, write_all};

/// The error of a function with this body in Lua.
fn lua(body: &str) -> String {
    answer(body, "").unwrap_err().1
}

/// The error of a function with this body in JavaScript.
fn js(body: &str) -> String {
    javascript::answer(body, "").unwrap_err().1
}

/// The error and the warnings of files of Lua that are loaded.
fn loaded(files: &[(&str, &str)]) -> (Option<String>, Vec<String>) {
    warnings(|| load(files, Limits::default()).err().map(|error| error.to_string()))
}

/// The error and the warnings of a script whose `InitModule` has this body.
fn script(body: &str) -> (Option<String>, Vec<String>) {
    let text = format!("function f() {{}}\nfunction InitModule(ctx, logger, nk, initializer) {{\n{body}\n}}");
    let load = || javascript::load(&[("index.js", &text)], Limits::default());
    warnings(|| load().err().map(|error| error.to_string()))
}

#[track_caller]
fn check(lines: &[String], expect: &[&str]) {
    let found = expect.len() == lines.len() && expect.iter().zip(lines).all(|(part, line)| line.contains(part));
    assert!(found, "{lines:#?}\nexpected: {expect:#?}");
}

#[test]
fn a_misspelt_function_of_the_server_is_told_with_the_one_that_was_meant() {
    let told = "attempt to call a nil value (nk.storage_reed: did you mean nk.storage_read?)";
    assert_eq!(lua("nk.storage_reed({})"), told);
    assert_eq!(
        lua("local x = 1\nreturn nk.storageRead({})"),
        told.replace("reed", "Read").replace("storage_R", "storageR")
    );
    assert_eq!(lua("nk.frob()"), "attempt to call a nil value (nk.frob: the server has no such function)");
    let own = "local own = {} own.f()";
    assert_eq!(lua(own), "attempt to call a nil value", "that is none of the server's");
    let text = "local nk = require('nakama')\nnk.acount_get_id('x')";
    let (error, _) = loaded(&[("game.lua", text)]);
    let told = "game.lua:2: attempt to call a nil value (nk.acount_get_id: did you mean nk.account_get_id?)";
    assert_eq!(error.as_deref(), Some(told));

    let told = "TypeError: not a function (nk.storageReed: did you mean nk.storageRead?)";
    assert_eq!(js("nk.storageReed([]);"), told);
    assert_eq!(js("nk.storage_read([]);"), told.replace("Reed", "_read"));
    assert_eq!(js("const own = {}; own.f();"), "TypeError: not a function");
    assert_eq!(js("if (nk.mine) { return; }\nconst own = {};\nown.f();"), "TypeError: not a function");
    let (error, _) = script("initializer.registerRcp('f', f);");
    let told = "TypeError: not a function (initializer.registerRcp: did you mean initializer.registerRpc?)";
    assert!(error.as_ref().is_some_and(|error| error.ends_with(told)), "{error:?}");
}

#[test]
fn a_misspelt_function_is_a_warning_before_it_is_called() {
    let text = "local nk = require('nakama')\nlocal function f()\n    nk.storage_reed({})\nend";
    let (error, lines) = loaded(&[("game.lua", text)]);
    assert_eq!(error, None);
    check(&lines, &["game.lua:3: nk.storage_reed: did you mean nk.storage_read?"]);
}

#[test]
fn functions_that_modules_add_are_no_slips() {
    let text = "local nk = require('nakama')\nfunction nk.own() return 'own' end\nnk.register_rpc(function() return nk.own() end, 'own')";
    let (functions, lines) = warnings(|| load(&[("game.lua", text)], Limits::default()).unwrap());
    check(&lines, &[]);
    assert_eq!(block_on(call(&functions, "own", "")), Ok("own".to_owned()));
}

#[test]
fn a_colon_before_a_function_of_the_server_is_named() {
    let told = "base64_encode is called with a colon: write nk.base64_encode(…), not nk:base64_encode(…)";
    assert_eq!(lua("nk:base64_encode('x')"), told);
    assert_eq!(lua("nk:json_encode({ 1 })"), told.replace("base64", "json"));
    assert_eq!(answer("return type(nk:uuid_v4())", ""), Ok("string".to_owned()), "it takes no arguments");
    let (error, _) = loaded(&[("game.lua", "local nk = require('nakama')\nnk:register_rpc(print, 'f')")]);
    let told = "game.lua:2: register_rpc is called with a colon: write nk.register_rpc(…), not nk:register_rpc(…)";
    assert_eq!(error.as_deref(), Some(told));
}

#[test]
fn too_much_time_is_told_with_the_setting_that_allows_more() {
    let limits =
        Limits { call_time: Duration::from_millis(20), load_time: Duration::from_millis(20), ..Limits::default() };
    let told = "the modules use more time to load than they may (script.load_cpu_ms)";
    let error = load(&[("game.lua", "while true do end")], limits).err().map(|error| error.to_string());
    assert_eq!(error.as_deref(), Some(told));
    let text = "function InitModule() { while (true) {} }";
    let error = javascript::load(&[("index.js", text)], limits).err().map(|error| error.to_string());
    assert_eq!(error.as_deref(), Some(told));

    let told = Err((Code::Internal, "the function used more time than it may (script.call_cpu_ms)".to_owned()));
    let text = "require('nakama').register_rpc(function() while true do end end, 'f')";
    let limits = Limits { load_time: Limits::default().load_time, ..limits };
    let functions = load(&[("game.lua", text)], limits).unwrap();
    let (answer, lines) = warnings(|| block_on(call(&functions, "f", "")));
    assert_eq!(answer, told);
    check(&lines, &["limit=script.call_cpu_ms"]);
    let text = "function f() { while (true) {} }\nfunction InitModule(c, l, n, initializer) { initializer.registerRpc('f', f); }";
    let functions = javascript::load(&[("index.js", text)], limits).unwrap();
    assert_eq!(block_on(call(&functions, "f", "")), told);
}

#[test]
fn developers_see_the_line_of_source_at_which_code_failed() {
    let folder = tempfile::tempdir().unwrap();
    let host = |is_dev| {
        let mut host = host_over(store(), folder.path());
        Arc::get_mut(&mut host.process).unwrap().is_dev = is_dev;
        host
    };
    let lua = "require('nakama').register_rpc(function()\n    local t = nil\n    return t.x -- here\nend, 'f')";
    let js = "function f() {\n    const t = null;\n    return t.x; // there\n}\nfunction InitModule(c, l, n, initializer) { initializer.registerRpc('f', f); }";
    write_all(folder.path(), &[("game.lua", lua), ("index.js", js)]);
    for (is_dev, in_lua, in_js) in [(true, "source=return t.x -- here", "source=return t.x; // there"), (false, "", "")]
    {
        let functions = load_in(folder.path(), host(is_dev), Limits::default()).unwrap();
        let (_, lines) = warnings(|| block_on(call(&functions, "f", "")));
        check(&lines, &[in_lua]);
        assert!(lines[0].contains("game.lua:3") && lines[0].contains("source=") == is_dev, "{lines:?}");
        let host = Rc::new(host(is_dev));
        let bundle = Arc::new(block_on(Bundle::load(folder.path(), None, &host, &Limits::default())).unwrap());
        let functions = JsFunctions::new(bundle, host, Limits::default(), Arc::new(ScriptMetrics::default()));
        let (_, lines) = warnings(|| block_on(call(&functions, "f", "")));
        check(&lines, &[in_js]);
        assert!(lines[0].contains("index.js:3") && lines[0].contains("source=") == is_dev, "{lines:?}");
    }
}

#[test]
fn developers_see_the_line_of_source_at_which_loading_failed() {
    let folder = tempfile::tempdir().unwrap();
    write_all(folder.path(), &[("game.lua", "local x = 1\nerror('no') -- here")]);
    let settings = EngineSettings {
        limits: Limits::default(),
        shards: 1,
        lua_machines_max: 1,
        js_machines_max: 1,
        js_machines_min: 0,
        js_read_only_globals: true,
        js_entrypoint: None,
        go_bytes: 64 << 20,
    };
    for (is_dev, told) in [(true, "game.lua:2: no, in the line `error('no') -- here`"), (false, "game.lua:2: no")] {
        let mut host = host_over(store(), folder.path());
        Arc::get_mut(&mut host.process).unwrap().is_dev = is_dev;
        let error = block_on(Programs::load(folder.path(), &Rc::new(host), &settings, 1)).err().unwrap();
        assert_eq!(error.to_string(), told);
    }
}

#[test]
fn an_id_that_is_registered_twice_is_told_with_both_places() {
    let one = "local nk = require('nakama')\nnk.register_rpc(function() return 'one' end, 'F')";
    let two = "local nk = require('nakama')\n\nnk.register_rpc(function() return 'two' end, 'f')";
    let (functions, lines) = warnings(|| load(&[("one.lua", one), ("two.lua", two)], Limits::default()).unwrap());
    check(
        &lines,
        &["register_rpc: the id 'f' is registered twice, at one.lua:2 and at two.lua:3: the last one counts"],
    );
    assert_eq!(block_on(call(&functions, "f", "")), Ok("two".to_owned()));

    let (error, lines) = script("initializer.registerRpc('f', f);\ninitializer.registerRpc('F', f);");
    assert_eq!(error, None);
    check(&lines, &["registerRpc: the id 'f' is registered twice, at index.js:3:"]);
    assert!(lines[0].contains(" and at index.js:4:"), "{lines:?}");
}

#[test]
fn registering_in_a_call_is_a_warning_that_names_the_function() {
    let told = "nothing is registered: modules register while they are loaded, not in a call";
    let text = "local nk = require('nakama')
        nk.register_rpc(function() nk.register_rpc(print, 'later') nk.register_shutdown(print) return 'on' end, 'f')";
    let functions = load(&[("game.lua", text)], Limits::default()).unwrap();
    let (answer, lines) = warnings(|| block_on(call(&functions, "f", "")));
    assert_eq!(answer, Ok("on".to_owned()));
    check(&lines, &["function=register_rpc", "function=register_shutdown"]);
    assert!(lines[0].contains(told), "{lines:?}");
    assert_eq!(block_on(call(&functions, "later", "")).unwrap_err().0, Code::NotFound);

    let text = "const kept = [];
        function f() { kept[0].registerRpc('later', f); return 'on'; }
        function InitModule(ctx, logger, nk, initializer) { kept.push(initializer); initializer.registerRpc('f', f); }";
    let functions = javascript::load(&[("index.js", text)], Limits::default()).unwrap();
    let (answer, lines) = warnings(|| block_on(call(&functions, "f", "")));
    assert_eq!(answer, Ok("on".to_owned()));
    check(&lines, &["function=registerRpc"]);
}

#[test]
fn modules_of_matches_register_again_without_a_warning() {
    let text = crate::matches::module("require('nakama').register_rpc(print, 'f')");
    let hall = Hall::of(&[("game.lua", &text)], Limits::default());
    let (created, lines) = warnings(|| run(async { hall.create(1, Value::Nil).await }));
    created.unwrap();
    check(&lines, &[]);
}

#[test]
fn a_handler_that_is_no_function_is_told_what_it_is() {
    for (line, told) in [
        (
            "nk.register_rpc(missing, 'f')",
            "register_rpc expects a function as its first argument, got nil: is it defined above this line?",
        ),
        ("nk.register_rpc('f', print)", "register_rpc expects a function as its first argument, got string"),
        ("nk.register_rpc(print)", "register_rpc expects an id behind the function, got nil"),
        ("nk.register_rt_before(print, 7)", "register_rt_before expects a name behind the function, got number"),
        ("nk.register_shutdown({})", "register_shutdown expects a function as its first argument, got table"),
        (
            "nk.register_event()",
            "register_event expects a function as its first argument, got nil: is it defined above this line?",
        ),
    ] {
        let (error, _) = loaded(&[("game.lua", &format!("local nk = require('nakama')\n{line}"))]);
        assert_eq!(error, Some(format!("game.lua:2: {told}")), "{line}");
    }
    let (error, _) = script("initializer.registerShutdown(7);");
    let told = "registerShutdown expects a function, got number: is it defined where it is used?";
    assert!(error.as_ref().is_some_and(|error| error.ends_with(told)), "{error:?}");
}

#[test]
fn callbacks_that_a_match_handler_lacks_are_named() {
    let text = "local M = {}
        for _, name in ipairs({ 'init', 'join_attempt', 'join', 'loop', 'terminate' }) do M['match_' .. name] = function() end end
        return M";
    let (error, lines) = loaded(&[("game.lua", text)]);
    assert_eq!(error, None);
    let told = "module 'game' is no match handler: it has no functions match_leave, match_signal";
    check(&lines, &[told]);
    let hall = Hall::of(&[("game.lua", text)], Limits::default());
    assert_eq!(run(async { hall.create(1, Value::Nil).await }), Err(format!("The match could not be made: {told}")));
    let (_, lines) = loaded(&[("game.lua", "return { match_signal = print }")]);
    check(&lines, &[]);

    let (error, _) = script(
        "initializer.registerMatch('m', { matchInit: f, matchJoin: f, matchLeave: f, matchLoop: f, matchTerminate: f });",
    );
    let told = "the match 'm' needs functions matchJoinAttempt, got undefined; matchSignal, got undefined";
    assert!(error.as_ref().is_some_and(|error| error.ends_with(told)), "{error:?}");
}

#[test]
fn a_module_that_is_not_there_is_told_with_those_that_are() {
    let deck = ("cards/deck.lua", "return {}");
    for (name, told) in [
        ("cards.dek", "module 'cards.dek' not found; did you mean cards.deck?"),
        ("cards/deck", "module 'cards/deck' not found; did you mean cards.deck?"),
        ("nakma", "module 'nakma' not found; did you mean nakama?"),
        ("zzz", "module 'zzz' not found"),
    ] {
        let (error, _) = loaded(&[deck, ("game.lua", &format!("require('{name}')"))]);
        assert_eq!(error, Some(format!("game.lua:1: {told}")));
    }
    let told = "bad argument #1 to 'require' (string expected, got nil)";
    assert_eq!(answer("local ok, told = pcall(require) return told", ""), Ok(told.to_owned()));
}

#[test]
fn registering_for_what_is_not_built_is_a_warning() {
    let lines: Vec<String> = ["leaderboard_reset", "tournament_end", "tournament_reset", "storage_index"]
        .map(|name| format!("nk.register_{name}(print)"))
        .into();
    let text = format!("local nk = require('nakama')\n{}", lines.join("\n"));
    let (error, lines) = loaded(&[("game.lua", &text)]);
    assert_eq!(error, None);
    let of = |name: &str| format!("function={name}");
    let names = [
        "register_leaderboard_reset",
        "register_storage_index",
        "register_tournament_end",
        "register_tournament_reset",
    ];
    check(&lines, &names.map(of).each_ref().map(String::as_str));

    let methods = ["registerLeaderboardReset", "registerPurchaseNotificationApple", "registerTournamentEnd"];
    let body: Vec<String> = methods.iter().map(|method| format!("initializer.{method}(f);")).collect();
    let (error, lines) = script(&body.join("\n"));
    assert_eq!(error, None);
    check(&lines, &methods.map(of).each_ref().map(String::as_str));
}

#[test]
fn a_function_that_is_not_built_raises_a_text() {
    let told = "nk.leaderboard_create is not available on this server yet.";
    let body = "local ok, told = pcall(nk.leaderboard_create, 'x')
        nk.logger_error(told)
        return type(told) .. ' ' .. tostring(told:find('not available', 1, true) ~= nil)";
    assert_eq!(answer(body, ""), Ok("string true".to_owned()));
    assert_eq!(answer("nk.leaderboard_create('x')", ""), Err((Code::Internal, told.to_owned())));
}

#[test]
fn no_function_that_is_there_counts_as_a_slip() {
    let body = "local names = {} for name in pairs(nk) do names[#names + 1] = name end return table.concat(names, ' ')";
    let names = answer(body, "").unwrap();
    let uses: Vec<String> = names.split(' ').map(|name| format!("print(nk.{name})")).collect();
    assert!(uses.len() > 190, "{names}");
    let (error, lines) = loaded(&[("game.lua", &format!("local nk = require('nakama')\n{}", uses.join("\n")))]);
    assert_eq!(error, None);
    check(&lines, &[]);
}
