//! Scripts: their runs, the number of runs of `InitModule`, and scripts that are refused.

use std::path::Path;

use muster_api::game::{ExecutionMode, GameFunctions as _, Invocation, Occasion};
use muster_script::{Bundle, EngineSettings, Limits, Programs};
use muster_wire::api::Event;

use super::{host, load_over, refused, script};
use crate::world::{block_on, call, store, write_all};

#[test]
fn a_script_that_does_not_run_is_refused_with_its_place() {
    let error = refused("function f() {\n  return 1 +;\n}");
    assert!(error.starts_with("index.js:2:13: SyntaxError: "), "{error}");
    let error = refused("\nthrow new Error('no');");
    assert!(error.contains("index.js:2") && error.ends_with("Error: no"), "{error}");
    assert_eq!(refused("var x = 1;"), "index.js: there is no function InitModule at the top level");
    assert_eq!(refused("const InitModule = 5;"), "index.js: there is no function InitModule at the top level");
    assert!(refused("for (;;) {}").contains("more time to load than they may"));
}

#[test]
fn without_a_script_there_is_none_unless_one_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let host = host(&store());
    let load = |entrypoint| block_on(Bundle::load(folder.path(), entrypoint, &host, &Limits::default()));
    assert!(load(None).unwrap().is_empty());
    assert!(load(Some(Path::new("build/game.js"))).is_err());
    write_all(
        folder.path(),
        &[("build/game.js", "const InitModule = (ctx, logger, nk, i) => i.registerRpc('A', () => 'x');")],
    );
    let bundle = load(Some(Path::new("build/game.js"))).unwrap();
    assert_eq!(bundle.functions().iter().collect::<Vec<_>>(), ["a"]);
}

#[test]
fn code_that_is_loaded_is_told_and_so_are_scripts_that_are_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let host = host(&store());
    let loaded = || {
        let settings = EngineSettings {
            limits: Limits::default(),
            shards: 1,
            lua_machines_max: 1,
            js_machines_max: 1,
            js_machines_min: 1,
            js_read_only_globals: true,
            js_entrypoint: None,
            go_bytes: 64 << 20,
        };
        let programs = block_on(Programs::load(folder.path(), &host, &settings, 1)).unwrap();
        programs
            .code()
            .iter()
            .map(ToString::to_string)
            .chain(programs.code().into_iter().filter_map(|it| it.left_out))
            .collect::<Vec<_>>()
    };
    assert_eq!(loaded(), [""; 0]);
    let lua = "local nk = require('nakama') nk.register_rpc(function() end, 'a')
        nk.register_req_before(function(_, payload) return payload end, 'GetAccount')";
    let script = "export const InitModule = (ctx, logger, nk, initializer) => initializer.registerRpc('b', () => 'x');";
    write_all(folder.path(), &[("a.lua", lua), ("b/c.lua", ""), ("main.ts", script), ("types.d.ts", "")]);
    let in_lua = "Lua: 2 files (a.lua, b/c.lua): 1 function, 1 hook, 0 match handlers";
    let told = loaded();
    assert_eq!((told.len(), told[0].as_str()), (3, in_lua));
    assert!(told[2].contains("runtime.js_entrypoint") && told[2].ends_with("there are main.ts"), "{told:?}");
    write_all(folder.path(), &[("index.ts", "export { InitModule } from './main';")]);
    assert_eq!(loaded(), [in_lua, "JavaScript: 2 files (index.ts, main.ts): 1 function, 0 hooks, 0 match handlers"]);
}

#[test]
fn what_init_module_asks_happens_once_however_many_machines_there_are() {
    let store = store();
    let text = "let drawn;
        function f() { return drawn; }
        function InitModule(ctx, logger, nk, initializer) {
            drawn = nk.uuidv4();
            const known = nk.storageRead([{ collection: 'c', key: 'k' }]).length;
            nk.storageWrite([{ collection: 'c', key: 'k' + known, value: { drawn } }]);
            if (ctx.executionMode !== 'run_once') throw new Error(ctx.executionMode);
            initializer.registerRpc('f', f);
        }";
    let (first, second) = {
        let functions = load_over(&[("index.js", text)], &host(&store), Limits::default()).unwrap();
        // The machine of a call is not the one in which the script was loaded.
        let first = block_on(call(&functions, "f", "")).unwrap();
        (first, block_on(call(&functions, "f", "")).unwrap())
    };
    assert_eq!((first.len(), &first), (36, &second));
    let count = "function f(ctx, logger, nk) { return String(nk.storageList(null, 'c', 10).objects.length); }
        function InitModule(ctx, logger, nk, initializer) { initializer.registerRpc('f', f); }";
    let functions = load_over(&[("index.js", count)], &host(&store), Limits::default()).unwrap();
    assert_eq!(block_on(call(&functions, "f", "")), Ok("1".to_owned()));
}

#[test]
fn functions_need_no_global_names() {
    let functions = script(
        "(function () {
            class Game { constructor(name) { this.name = name; } hello() { return 'hello ' + this.name; } }
            const game = new Game('ann');
            globalThis.InitModule = (ctx, logger, nk, initializer) => {
                initializer.registerRpc('a', () => game.hello());
                initializer.registerRpc('b', game.hello.bind(game));
            };
        })();",
    );
    for id in ["a", "b"] {
        assert_eq!(block_on(call(&functions, id, "")), Ok("hello ann".to_owned()));
    }
}

#[test]
fn scripts_of_the_originals_template_run() {
    // The output of the TypeScript compiler: version 5 of the language, one file, a last line against dead code
    // removal.
    let functions = script(
        "\"use strict\";
        var __assign = (this && this.__assign) || function () { return Object.assign.apply(Object, arguments); };
        var rpcIdRewards = 'rewards_js';
        function rpcReward(context, logger, nk, payload) {
            var _a;
            if (!context.userId) { throw Error('No user ID in context'); }
            return JSON.stringify(__assign({}, (_a = {}, _a.a = 1, _a)));
        }
        function healthcheck(ctx, logger, nk, payload) { logger.info('healthcheck rpc called'); return JSON.stringify({ success: true }); }
        var InitModule = function (ctx, logger, nk, initializer) {
            initializer.registerRpc('healthcheck', healthcheck);
            initializer.registerRpc(rpcIdRewards, rpcReward);
            logger.info('JavaScript logic loaded.');
        };
        !InitModule && InitModule.bind(null);",
    );
    assert_eq!(block_on(call(&functions, "healthcheck", "")), Ok("{\"success\":true}".to_owned()));
    let told = block_on(call(&functions, "rewards_js", "")).unwrap_err().1;
    assert_eq!(told, "Error: No user ID in context");
}

/// The outcome of a piece of code in a function, in a script that has declared some names.
fn tried(code: &str, limits: Limits) -> String {
    let text = format!(
        "var declared = {{ count: 0 }}; var replaced = 0; let inner = 0; var bytes = new Uint8Array(2);
        function helper() {{ return 1; }}
        function Old() {{}}
        Old.prototype.name = 'old';
        async function f(ctx, logger, nk) {{ try {{ {code} }} catch (e) {{ return e.name; }} }}
        function InitModule(ctx, logger, nk, initializer) {{ initializer.registerRpc('f', f); }}"
    );
    let functions = super::load(&[("index.js", &text)], limits).unwrap();
    block_on(call(&functions, "f", "")).unwrap()
}

#[test]
fn what_a_script_declares_is_frozen_and_builtins_are_not() {
    let check = |code: &str, expect: &str| assert_eq!(tried(code, Limits::default()), expect, "{code}");
    for frozen in [
        "declared.count = 1;",
        "declared.more = 1;",
        "delete declared.count;",
        "helper.count = 1;",
        "Object.prototype.mine = 1;",
        "Object.prototype.toString = 1;",
        "Function.prototype.mine = 1;",
    ] {
        check(frozen, "TypeError");
    }
    check("undeclared = 1;", "ReferenceError");
    for (change, expect) in [
        ("replaced = 1; return String(replaced);", "1"),
        ("inner += 1; return String(inner);", "1"),
        ("bytes[0] = 7; return String(bytes[0]);", "7"),
        ("globalThis.mine = 7; return String(mine);", "7"),
        ("Math.mine = 7; return String(Math.mine);", "7"),
        ("JSON.parse = () => 'mine'; return JSON.parse();", "mine"),
        ("Array.prototype.last = function () { return this[this.length - 1]; }; return [1, 'mine'].last();", "mine"),
        ("String.prototype.trim = () => 'mine'; return ' x '.trim();", "mine"),
        ("Error.prototype.told = 'mine'; return new TypeError('x').told;", "mine"),
        ("nk.mine = () => 'mine'; nk.uuidv4 = nk.mine; return nk.uuidv4();", "mine"),
        ("Map = class { get(name) { return name; } }; return new Map().get('mine');", "mine"),
        ("Promise = class { static resolve() { return 'mine'; } }; await null; return Promise.resolve();", "mine"),
        ("Number = String = Object = Symbol = undefined; return [['a', 'b']].flat().join('');", "ab"),
        ("TypeError = Error = String = undefined; nk.accountGetId(nk.uuidv4());", "TypeError"),
        ("const old = new Old(); old.name = 'own'; return old.name;", "own"),
        ("declared = { count: 1 }; declared.count += 1; return String(declared.count);", "2"),
    ] {
        check(change, expect);
    }
    let limits = Limits { js_read_only_globals: false, ..Limits::default() };
    assert_eq!(tried("declared.count += 1; Object.prototype.mine = 1; return String(declared.count);", limits), "1");
}

#[test]
fn events_are_heard_and_scheduled_functions_named() {
    let functions = script(
        "let heard = [];
        function InitModule(ctx, logger, nk, initializer) {
            initializer.registerEvent((ctx, logger, nk, event) => { heard.push([ctx.executionMode, event.name, event.properties]); });
            initializer.registerEventSessionStart((ctx, logger, nk, event) => { heard.push('start'); });
            initializer.registerSchedule('0 4 * * *', (ctx, logger, nk, due) => { heard.push(due); });
            initializer.registerRpc('heard', () => JSON.stringify(heard));
        }",
    );
    let event = Event {
        name: "won".to_owned(),
        properties: [("map_name".to_owned(), "lake".to_owned())].into(),
        ..Event::default()
    };
    block_on(async {
        let invocation = || Invocation { mode: ExecutionMode::Event, ..Invocation::default() };
        assert!(functions.hears_of(Occasion::Reported) && !functions.hears_of(Occasion::SessionEnd));
        functions.tell(Occasion::Reported, invocation(), event);
        functions.tell(Occasion::SessionEnd, invocation(), Event::default());
        functions.settled().await;
        let heard = call(&functions, "heard", "").await.unwrap();
        assert_eq!(heard, r#"[["event","won",{"map_name":"lake"}]]"#);
        assert!(functions.turn_schedules(false).is_some(), "a moment is known");
    });
    let told = refused("function InitModule(c, l, nk, i) { i.registerSchedule('x', () => 1); }");
    assert!(told.contains("registerSchedule: "), "{told}");
}

#[test]
fn calls_are_of_the_newest_script() {
    let host = host(&store());
    let text =
        |answer: &str| format!("function InitModule(c, l, nk, i) {{ i.registerRpc('{answer}', () => '{answer}'); }}");
    let functions = load_over(&[("index.js", &text("old"))], &host, Limits::default()).unwrap();
    let newer = crate::world::bundle(&[("index.js", &text("new"))], &host, &Limits::default());
    block_on(async {
        assert!(functions.has("old") && !functions.has("new"));
        functions.renew(newer, 2).await;
        assert!(!functions.has("old"));
        assert_eq!(call(&functions, "new", "").await, Ok("new".to_owned()));
        functions.renew(std::sync::Arc::default(), 3).await;
        assert!(!functions.has("new"));
    });
}
