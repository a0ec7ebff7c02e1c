//! Events, and the functions that listen to them.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use muster_api::game::{ExecutionMode, GameFunctions as _, Invocation, Occasion};
use muster_script::{Limits, LuaFunctions, Program, ScriptMetrics};
use muster_wire::Timestamp;
use muster_wire::api::Event;

use crate::world::{NOW_SEC, block_on, call, host_over, store};

/// Listeners that keep the events, and a function that answers them.
const MODULE: &str = "local nk = require('nakama')
    local function hear(name)
        return function(context, event)
            local heard = nk.localcache_get('heard') or {}
            table.insert(heard, name .. ' ' .. context.execution_mode .. ' ' .. nk.json_encode(event))
            nk.localcache_put('heard', heard)
        end
    end
    nk.register_event(hear('first'))
    nk.register_event(hear('second'))
    nk.register_event_session_start(hear('start'))
    nk.register_event_session_end(hear('end'))
    nk.register_rpc(function() return nk.json_encode(nk.localcache_get('heard') or {}) end, 'heard')
    nk.register_rpc(function(_, payload)
        nk.event(payload, { depth = '3', deep = 'yes' }, 1600000000, true)
        nk.event('plain')
    end, 'report')";

fn event(name: &str) -> Event {
    Event { name: name.to_owned(), ..Event::default() }
}

fn tell(functions: &LuaFunctions, occasion: Occasion, event: Event) {
    functions.tell(occasion, Invocation { mode: ExecutionMode::Event, ..Invocation::default() }, event);
}

/// Functions of one module with these limits, and their counters.
async fn load(text: &str, limits: Limits) -> (LuaFunctions, Arc<ScriptMetrics>) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("game.lua"), text).unwrap();
    let host = Rc::new(host_over(store(), folder.path()));
    let program = Arc::new(Program::load(folder.path(), &host, &limits).await.unwrap());
    let metrics = Arc::new(ScriptMetrics::default());
    (LuaFunctions::new(program, host, limits, metrics.clone()), metrics)
}

async fn heard(functions: &LuaFunctions) -> Vec<String> {
    functions.settled().await;
    serde_json::from_str(&call(functions, "heard", "").await.unwrap()).unwrap()
}

#[test]
fn all_functions_of_an_occasion_hear_of_it() {
    block_on(async {
        let (functions, metrics) = load(MODULE, Limits::default()).await;
        assert!(Occasion::ALL.iter().all(|occasion| functions.hears_of(*occasion)));
        let properties = BTreeMap::from([("level".to_owned(), "7".to_owned())]);
        let timestamp = Some(Timestamp::from_unix_us(NOW_SEC * 1_000_000));
        tell(&functions, Occasion::Reported, Event { properties, timestamp, external: true, ..event("won") });
        let told =
            r#"event {"name":"won","properties":{"level":"7"},"timestamp":"2023-11-14T22:13:20Z","external":true}"#;
        let expected = ["first", "second"].map(|who| {
            let (mode, json) = told.split_once(' ').unwrap();
            (format!("{who} {mode}"), serde_json::from_str::<serde_json::Value>(json).unwrap())
        });
        let told = heard(&functions).await;
        let split = |line: &String| {
            let (head, json) = line.split_at(line.find('{').unwrap());
            (head.trim_end().to_owned(), serde_json::from_str::<serde_json::Value>(json).unwrap())
        };
        assert_eq!(told.iter().map(split).collect::<Vec<_>>(), expected);
        tell(&functions, Occasion::SessionStart, event("session_start"));
        tell(&functions, Occasion::SessionEnd, event("session_end"));
        let told = heard(&functions).await;
        // Listeners are told of several events at once, so an event whose listener waits may be noted after the next
        // event.
        let begins = |who: &str| told[2..].iter().any(|line| line.starts_with(who));
        assert!(told.len() == 4 && begins("start event") && begins("end event"), "{told:?}");
        assert_eq!(metrics.events.load(Ordering::Relaxed), 3);
        assert_eq!(metrics.events_waiting.load(Ordering::Relaxed), 0);
    });
}

#[test]
fn game_code_reports_events_itself() {
    block_on(async {
        let (functions, _) = load(MODULE, Limits::default()).await;
        call(&functions, "report", "dug").await.unwrap();
        let told = heard(&functions).await;
        assert_eq!(told.len(), 4, "{told:?}");
        let dug = &told[0];
        for part in ["\"name\":\"dug\"", "\"depth\":\"3\"", "2020-09-13T12:26:40Z", "\"external\":true"] {
            assert!(dug.contains(part), "{part} in {dug}");
        }
        assert!(told[2].contains("\"plain\"") && told[2].contains("2023-11-14T22:13:20Z"), "{told:?}");
        let (_, refused) = call(&functions, "report", "").await.unwrap_err();
        assert!(refused.ends_with("An event needs a name."), "{refused}");
    });
}

#[test]
fn what_finds_the_queue_full_is_dropped_and_counted() {
    block_on(async {
        let limits = Limits { events_max: 3, event_workers: 1, ..Limits::default() };
        let (functions, metrics) = load(MODULE, limits).await;
        for _ in 0..5 {
            tell(&functions, Occasion::SessionEnd, event("session_end"));
        }
        assert_eq!(heard(&functions).await.len(), 3);
        assert_eq!(metrics.events_dropped.load(Ordering::Relaxed), 2);
        tell(&functions, Occasion::SessionEnd, event("session_end"));
        assert_eq!(heard(&functions).await.len(), 4, "there is room again");
    });
}

#[test]
fn one_that_fails_keeps_nobody_else_from_hearing() {
    block_on(async {
        let text = format!("require('nakama').register_event(function() error('not today') end)\n{MODULE}");
        let (functions, metrics) = load(&text, Limits::default()).await;
        tell(&functions, Occasion::Reported, event("won"));
        assert_eq!(heard(&functions).await.len(), 2);
        assert_eq!(metrics.failed.load(Ordering::Relaxed), 1);
    });
}

#[test]
fn without_functions_nothing_is_kept() {
    block_on(async {
        let (functions, metrics) = load("", Limits::default()).await;
        assert!(!Occasion::ALL.iter().any(|occasion| functions.hears_of(*occasion)));
        tell(&functions, Occasion::Reported, event("won"));
        functions.settled().await;
        assert_eq!(metrics.events.load(Ordering::Relaxed), 0);
    });
}
