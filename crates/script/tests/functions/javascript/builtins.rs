//! Every builtin that JavaScript can reach, called with huge arguments: each comes to an end, and its machine takes
//! further calls. A builtin whose work has no bound holds up the test, too; `bounds.rs` shows where the bounds lie.

use std::time::Duration;

use muster_api::game::Invocation;
use muster_api::hooks::{HookSubject, Hooks as _};
use muster_script::value::Value as GameValue;
use muster_script::{JsFunctions, Limits};
use muster_wire::code::Code;
use serde_json::json;

use super::load;
use super::matches::{hall, script as with_match};
use crate::matches::run;
use crate::world::{block_on, call};

/// The budget of a call. Most calls use it up, so it is short.
const BUDGET: Duration = Duration::from_millis(8);

/// The builtins by name, the objects that they are called on, and the largest possible arguments of every kind.
const SCRIPT: &str = include_str!("builtins.js");

fn functions(call_time: Duration) -> JsFunctions {
    // The globals stay changeable, because frozen ones would refuse these calls.
    let limits = Limits { call_time, js_read_only_globals: false, ..Limits::default() };
    load(&[("index.js", SCRIPT)], limits).unwrap()
}

#[test]
fn every_builtin_ends_and_leaves_its_machine_fit_for_others() {
    let (functions, patient) = (functions(BUDGET), functions(Duration::from_secs(60)));
    block_on(async {
        let walked = call(&patient, "names", "").await.unwrap();
        let walked: Vec<(String, Vec<String>, Vec<usize>)> = serde_json::from_str(&walked).unwrap();
        let values: Vec<String> = serde_json::from_str(&call(&patient, "make", "").await.unwrap()).unwrap();
        for value in values {
            assert_eq!(call(&patient, "make", &value).await, Ok::<_, (Code, String)>(String::new()), "{value}");
        }
        assert!(walked.len() > 300, "{}", walked.len());
        for (name, selves, tries) in &walked {
            for of in selves {
                for given in tries {
                    let asked = json!({ "name": name, "of": of, "given": given }).to_string();
                    let _ = call(&functions, "run", &asked).await;
                }
            }
            assert_eq!(call(&functions, "fine", "").await, Ok::<_, (Code, String)>("fine".to_owned()), "{name}");
        }
    });
}

/// Bodies of functions that go wrong wherever they are called.
const BOMBS: &[&str] = &[
    "for (;;) {}",
    "for (;;) { try { throw new Error('x'); } catch {} }",
    "for (;;) { try { for (;;) {} } finally { for (;;) {} } }",
    "const deep = () => deep() + 1; deep();",
    "const deep = () => { try { deep(); } catch { deep(); } }; for (;;) deep();",
    "/(a+)+$/.test('a'.repeat(60) + 'b'); for (;;) {}",
    "'a'.repeat(100000).replace(/a*?a*?a*?b/g, ''); for (;;) {}",
    "[1, 2, 3].sort(() => { for (;;) {} });",
    "let text = 'a'; for (;;) text += text;",
    "const all = []; for (;;) all.push([all]);",
    "let list = []; for (let i = 0; i < 100000; i += 1) list = [list]; JSON.stringify(list); for (;;) {}",
    "JSON.parse('['.repeat(100000));",
    "const list = new Array(100000).fill(1); for (;;) { list.unshift(1); list.shift(); }",
    "const text = 'a'.repeat(2 ** 22); for (;;) text.indexOf('b');",
    "const text = 'a'.repeat(2 ** 22); for (;;) { try { text.split('b'); } catch {} }",
    "const text = 'a'.repeat(2 ** 22); for (;;) /b/.test(text);",
    "const bytes = new Uint8Array(2 ** 22); for (;;) bytes.fill(1);",
    "const list = new Array(100000).fill(1); for (;;) JSON.stringify(list);",
    "'a'.repeat(1000000).replace(/a/g, (a) => a.repeat(1000));",
    "new Proxy({}, { get: (of, key, self) => self[key + 'x'] }).x;",
    "for (const x of (function* () { for (;;) yield 1; })()) x;",
    "const next = () => Promise.resolve().then(next); for (;;) next();",
    "new Function('return ' + '1+'.repeat(2 ** 22) + '1')(); for (;;) {}",
    "({ get x() { for (;;) {} } }).x;",
];

/// A script with a bomb in a function, in a hook and in the loop of a match. Of several definitions the last one
/// counts.
fn bombed(bomb: &str) -> String {
    format!(
        "function bomb() {{ {bomb} }}
        function matchLoop(ctx, logger, nk, dispatcher, tick, state, messages) {{ bomb(); return {{ state }}; }}
        function InitModule(ctx, logger, nk, initializer) {{
            initializer.registerRpc('bomb', () => {{ bomb(); return 'survived'; }});
            initializer.registerRpc('fine', () => 'fine');
            initializer.registerBeforeGetAccount((ctx, logger, nk, input) => {{ bomb(); return input; }});
            initializer.registerMatch('game', {{ matchInit, matchJoinAttempt, matchJoin, matchLeave, matchLoop, matchTerminate, matchSignal }});
        }}"
    )
}

#[test]
fn whatever_code_does_harms_itself_alone() {
    let limits = Limits {
        call_time: BUDGET,
        load_time: BUDGET * 5,
        tick_time_max: BUDGET,
        machine_bytes: 24 << 20,
        ..Limits::default()
    };
    for bomb in BOMBS {
        let text = with_match(&bombed(bomb));
        let functions = load(&[("index.js", &text)], limits).unwrap();
        block_on(async {
            call(&functions, "bomb", "").await.expect_err(bomb);
            let hook = HookSubject::operations().find(|subject| subject.name() == "GetAccount").unwrap();
            functions.before(hook, Invocation::default(), None).await.expect_err(bomb);
            assert_eq!(call(&functions, "fine", "").await, Ok::<_, (Code, String)>("fine".to_owned()), "{bomb}");
        });
        let hall = hall(&bombed(bomb), limits);
        run(async {
            hall.create(1, GameValue::Nil).await.unwrap();
            hall.pass(150).await;
            assert!(hall.list().is_empty(), "{bomb}");
        });
        let at_load = format!("function InitModule() {{}}\n{bomb}");
        assert!(load(&[("index.js", &at_load)], limits).is_err(), "{bomb}");
    }
}
