//! Matches in JavaScript.

use std::time::Duration;

use muster_script::Limits;
use muster_script::value::Value;

use crate::matches::admission::four_are_let_in;
use crate::matches::{Hall, run};

/// A script with a match handler `game` of these functions. Functions that are left out do nothing.
pub fn script(functions: &str) -> String {
    format!(
        "function matchInit(ctx, logger, nk, params) {{ return {{ state: {{ params }}, tickRate: 10, label: '' }}; }}
        function matchJoinAttempt(ctx, logger, nk, dispatcher, tick, state, presence, metadata) {{ return {{ state, accept: true }}; }}
        function matchJoin(ctx, logger, nk, dispatcher, tick, state, presences) {{ return {{ state }}; }}
        function matchLeave(ctx, logger, nk, dispatcher, tick, state, presences) {{ return {{ state }}; }}
        function matchLoop(ctx, logger, nk, dispatcher, tick, state, messages) {{ return {{ state }}; }}
        function matchTerminate(ctx, logger, nk, dispatcher, tick, state, graceSeconds) {{ return {{ state }}; }}
        function matchSignal(ctx, logger, nk, dispatcher, tick, state, data) {{ return {{ state, data }}; }}
        function InitModule(ctx, logger, nk, initializer) {{
            initializer.registerMatch('game', {{ matchInit, matchJoinAttempt, matchJoin, matchLeave, matchLoop, matchTerminate, matchSignal }});
        }}
        {functions}"
    )
}

pub fn hall(functions: &str, limits: Limits) -> Hall {
    Hall::of(&[("index.js", &script(functions))], limits)
}

#[test]
fn a_match_lives_from_its_creation_to_its_end() {
    let hall = hall(
        "function matchInit(ctx, logger, nk, params) {
            const state = { params, told: [], class: new (class { twice(n) { return 2 * n; } })() };
            state.told.push([ctx.executionMode, ctx.matchId, ctx.matchNode, ctx.matchTickRate]);
            return { state, tickRate: 10, label: '{\"open\":true}' };
        }
        function matchJoinAttempt(ctx, logger, nk, dispatcher, tick, state, presence, metadata) {
            if (presence.username === 'user-3') return { state, accept: false, rejectMessage: 'not you' };
            state.told.push(['attempt', presence.username, metadata.team, ctx.matchTickRate, presence.reason === undefined,
                ctx.userId === presence.userId, ctx.sessionId === presence.sessionId, ctx.username, ctx.clientIp, ctx.clientPort,
                ctx.userSessionExp, ctx.vars.a]);
            return { state, accept: true };
        }
        function matchJoin(ctx, logger, nk, dispatcher, tick, state, presences) {
            state.told.push(['join', presences[0].userId, presences[0].node, presences[0].reason, ctx.userId === undefined]);
            dispatcher.matchLabelUpdate('{\"open\":false}');
            return { state };
        }
        function matchLeave(ctx, logger, nk, dispatcher, tick, state, presences) {
            state.told.push(['leave', presences[0].username, presences[0].reason]);
            return { state };
        }
        function matchLoop(ctx, logger, nk, dispatcher, tick, state, messages) {
            for (const message of messages) {
                const text = nk.binaryToString(message.data);
                state.told.push(['message', message.opCode, text, message.sender.username, message.reliable, message.receiveTimeMs]);
                dispatcher.broadcastMessage(state.class.twice(message.opCode), text + '!', null, null, true);
                dispatcher.broadcastMessage(3, message.data, [message.sender], message.sender);
                dispatcher.broadcastMessageDeferred(4, 'later');
                if (text === 'kick me') dispatcher.matchKick([message.sender]);
                if (text === 'end') return null;
            }
            return { state };
        }
        function matchTerminate(ctx, logger, nk, dispatcher, tick, state, graceSeconds) {
            state.told.push(['terminate', graceSeconds]);
            return { state };
        }
        function matchSignal(ctx, logger, nk, dispatcher, tick, state, data) {
            return { state, data: JSON.stringify({ data, tick, label: ctx.matchLabel, told: state.told, params: state.params }) };
        }",
        Limits::default(),
    );
    run(async {
        hall.create(1, Value::Map(vec![("stake_size".to_owned(), Value::Number(5.0))])).await.unwrap();
        assert_eq!(hall.enter(1, 3).await.unwrap_err(), "not you");
        hall.enter(1, 1).await.unwrap();
        hall.enter(1, 2).await.unwrap();
        hall.send(1, 1, 7, "hello").await;
        hall.pass(100).await;
        let told = hall.take_told();
        assert_eq!(
            told,
            [(14, "hello!".to_owned(), None), (3, "hello".to_owned(), Some(1)), (4, "later".to_owned(), None)]
        );
        hall.send(1, 2, 7, "kick me").await;
        hall.pass(100).await;
        hall.terminate(3).await;
        let seen: serde_json::Value = serde_json::from_str(&hall.signal(1, "s").await.unwrap()).unwrap();
        assert_eq!((&seen["data"], &seen["params"]), (&"s".into(), &serde_json::json!({ "stake_size": 5 })));
        assert_eq!(seen["label"], "{\"open\":false}");
        let id = "00000000-0000-0000-0000-000000000001";
        let expect = serde_json::json!([
            ["match", format!("{id}.muster"), "muster", null],
            [
                "attempt",
                "user-1",
                "red",
                10,
                true,
                true,
                true,
                "user-1",
                "10.0.0.1",
                "5000",
                crate::world::NOW_SEC + 60,
                "b"
            ],
            ["join", id, "muster", 0, true],
            [
                "attempt",
                "user-2",
                "red",
                10,
                true,
                true,
                true,
                "user-2",
                "10.0.0.1",
                "5000",
                crate::world::NOW_SEC + 60,
                "b"
            ],
            ["join", "00000000-0000-0000-0000-000000000002", "muster", 0, true],
            ["message", 7, "hello", "user-1", true, crate::world::NOW_SEC * 1000],
            ["message", 7, "kick me", "user-2", true, crate::world::NOW_SEC * 1000],
            ["leave", "user-2", 3],
            ["terminate", 3],
        ]);
        assert_eq!(seen["told"], expect);
        hall.send(1, 1, 1, "end").await;
        hall.pass(100).await;
        assert!(hall.list().is_empty());
    });
}

#[test]
fn four_seats_take_four_players() {
    let hall = hall(
        "function matchInit() { return { state: { count: 0 }, tickRate: 10, label: '' }; }
        function matchJoinAttempt(ctx, logger, nk, dispatcher, tick, state) {
            return { state, accept: state.count < 4, rejectMessage: 'full' };
        }
        function matchJoin(ctx, logger, nk, dispatcher, tick, state, presences) {
            state.count += presences.length;
            return { state };
        }
        function matchLeave(ctx, logger, nk, dispatcher, tick, state, presences) {
            state.count -= presences.length;
            return { state };
        }
        function matchSignal(ctx, logger, nk, dispatcher, tick, state) { return { state, data: String(state.count) }; }",
        Limits::default(),
    );
    run(four_are_let_in(hall));
}

/// Count of matches. It is not higher, because each match has a machine of half a megabyte.
const MATCHES: u128 = 200;

#[test]
fn hundreds_of_matches_count_only_their_own() {
    let hall = hall(
        "const ofFile = { count: 0 };
        let bare = 0;
        const counter = (() => { let count = 0; return { add: () => { count += 1; }, get: () => count }; })();
        class Shared { static count = 0; }
        function matchLoop(ctx, logger, nk, dispatcher, tick, state, messages) {
            ofFile.count += 1; bare += 1; counter.add(); Shared.count += 1;
            return { state };
        }
        function matchSignal(ctx, logger, nk, dispatcher, tick, state, data) {
            return { state, data: [ofFile.count, bare, counter.get(), Shared.count].join(' ') };
        }",
        Limits::default(),
    );
    run(async {
        for number in 1..=MATCHES {
            hall.create(number, Value::Nil).await.unwrap();
            if number % 50 == 0 {
                hall.pass(100).await;
            }
        }
        for number in 1..=MATCHES {
            let ticks = (MATCHES - number) / 50 + 1;
            let expected = format!("{ticks} {ticks} {ticks} {ticks}");
            assert_eq!(hall.signal(number, "").await.unwrap(), expected, "match {number}");
        }
    });
}

#[test]
fn each_match_has_its_own_variables_and_globals() {
    let hall = hall(
        "let inner = 0;
        var outer = { count: 0 };
        function matchLoop(ctx, logger, nk, dispatcher, tick, state, messages) {
            inner += 1; state.own = (state.own || 0) + 1;
            return { state };
        }
        function matchSignal(ctx, logger, nk, dispatcher, tick, state, data) {
            return { state, data: inner + ' ' + state.own + ' ' + (outer === globalThis.outer) };
        }",
        Limits::default(),
    );
    run(async {
        const MATCHES: u128 = 100;
        for number in 1..=MATCHES {
            hall.create(number, Value::Nil).await.unwrap();
            if number % 10 == 0 {
                hall.pass(100).await;
            }
        }
        for number in 1..=MATCHES {
            let ticks = (MATCHES - number) / 10 + 1;
            assert_eq!(hall.signal(number, "").await.unwrap(), format!("{ticks} {ticks} true"), "match {number}");
        }
    });
}

/// Has one match go wrong by the code `harm`, and checks that another match goes on.
fn end_one_of_two(harm: &str, limits: Limits) {
    let hall = hall(
        &format!(
            "let ticks = 0;
            function matchLoop(ctx, logger, nk, dispatcher, tick, state, messages) {{
                ticks += 1;
                if (messages.length > 0) {{ {harm} }}
                return {{ state }};
            }}
            function matchSignal(ctx, logger, nk, dispatcher, tick, state, data) {{ return {{ state, data: String(ticks) }}; }}"
        ),
        limits,
    );
    run(async {
        hall.create(1, Value::Nil).await.unwrap();
        hall.create(2, Value::Nil).await.unwrap();
        hall.enter(1, 1).await.unwrap();
        hall.pass(100).await;
        hall.send(1, 1, 1, "go wrong").await;
        hall.pass(200).await;
        assert_eq!(hall.signal(1, "").await.unwrap_err(), "There is no match of this ID: it may have ended.", "{harm}");
        assert_eq!(hall.signal(2, "").await.unwrap(), "3", "{harm}");
        assert_eq!(*hall.came_and_went.borrow(), ["+user-1", "-user-1"], "{harm}");
        hall.create(3, Value::Nil).await.unwrap();
    });
}

#[test]
fn a_faulty_match_harms_only_itself() {
    let limits = Limits { tick_time_max: Duration::from_millis(50), ..Limits::default() };
    end_one_of_two("for (;;) {}", limits);
    end_one_of_two("for (;;) { try { for (;;) {} } catch {} }", limits);
    end_one_of_two("const next = () => Promise.resolve().then(next); next();", limits);
    end_one_of_two("throw new Error('broken');", Limits::default());
    end_one_of_two("const deeper = () => 1 + deeper(); deeper();", Limits::default());
    end_one_of_two("return 5;", Limits::default());
    end_one_of_two("return {};", Limits::default());
    end_one_of_two("dispatcher.broadcastMessage('one');", Limits::default());
    end_one_of_two("dispatcher.broadcastMessage(1, '', new Array(2 ** 31));", Limits::default());
    end_one_of_two("for (;;) new Promise(() => { for (;;) {} });", limits);
}

#[test]
fn a_match_that_keeps_too_much_ends() {
    let hall = hall(
        "let kept = [];
        function matchLoop(ctx, logger, nk, dispatcher, tick, state, messages) {
            if (state.params.grows) { for (let i = 0; i < 2000; i += 1) kept.push({ tick, i }); }
            return { state };
        }",
        Limits { match_bytes: 1 << 20, ..Limits::default() },
    );
    run(async {
        let params = Value::Map(vec![("grows".to_owned(), Value::Flag(true))]);
        hall.create(1, params).await.unwrap();
        hall.create(2, Value::Nil).await.unwrap();
        hall.pass(64 * 100).await;
        assert_eq!(hall.list().len(), 1);
        assert!(hall.signal(2, "").await.is_ok());
    });
}

#[test]
fn what_scripts_keep_is_not_the_matches() {
    let hall = hall(
        "const constants = []; for (let i = 0; i < 100000; i += 1) constants.push({ i });
        let kept = [];
        function matchLoop(ctx, logger, nk, dispatcher, tick, state, messages) {
            if (state.params.grows) { for (let i = 0; i < 2000; i += 1) kept.push({ tick, i }); }
            return { state };
        }",
        Limits { match_bytes: 1 << 20, ..Limits::default() },
    );
    run(async {
        hall.create(1, Value::Map(vec![("grows".to_owned(), Value::Flag(true))])).await.unwrap();
        hall.create(2, Value::Nil).await.unwrap();
        hall.pass(64 * 100).await;
        assert_eq!(hall.list().len(), 1, "the constants take several MB");
        assert!(hall.signal(2, "").await.is_ok());
    });
}

#[test]
fn what_is_no_beginning_is_refused() {
    for (returned, told) in [
        ("5", "matchInit must return an object with state, tickRate and label, but returned number"),
        ("{ tickRate: 1 }", "matchInit returned no state"),
        ("{ state: {}, tickRate: 1.5 }", "matchInit must return a whole number from 1 to 128 as tickRate"),
        ("{ state: {}, tickRate: 0 }", "matchInit must return a whole number from 1 to 128 as tickRate"),
        ("{ state: {}, tickRate: 1, label: 5 }", "matchInit returned number as label, which must be a string"),
        ("JSON.parse('{')", " at matchInit ("),
        ("setTimeout(() => {}, 1)", " at matchInit ("),
    ] {
        let hall = hall(&format!("function matchInit() {{ return {returned}; }}"), Limits::default());
        run(async {
            let error = hall.create(1, Value::Nil).await.unwrap_err();
            assert!(error.contains(told), "{error}");
        });
    }
}

#[test]
fn lua_comes_first_and_both_are_in_one_folder() {
    let lua = crate::matches::module("function M.match_signal(c, d, t, state, data) return state, 'lua' end");
    let javascript = script(
        "function matchSignal(ctx, logger, nk, dispatcher, tick, state) { return { state, data: 'javascript' }; }",
    );
    for (file, expect) in [("game.lua", "lua"), ("other.lua", "javascript")] {
        let hall = Hall::of(&[(file, &lua), ("index.js", &javascript)], Limits::default());
        run(async {
            hall.create(1, Value::Nil).await.unwrap();
            assert_eq!(hall.signal(1, "").await.unwrap(), expect);
        });
    }
}
