//! The life of a match: the arguments of its callbacks, and the consequences of their results.

use std::sync::atomic::Ordering;

use muster_script::value::Value;

use super::{Hall, presence, run};
use crate::logs::warnings;

/// A handler that keeps a line for each call in its state, and answers these lines to a signal.
const DIARY: &str = r#"
    local function note(state, line) table.insert(state, line) return state end
    local function names(presences)
        local found = {}
        for _, presence in ipairs(presences) do table.insert(found, presence.username .. '/' .. tostring(presence.reason)) end
        return table.concat(found, ',')
    end
    function M.match_init(context, params)
        return { 'init ' .. params.stake .. ' ' .. context.execution_mode .. ' ' .. context.match_id }, 10, '{"open":true}'
    end
    function M.match_join_attempt(context, dispatcher, tick, state, presence, metadata)
        if presence.username == 'user-9' then return state, false, 'not user-9' end
        assert(context.user_id == presence.user_id and context.session_id == presence.session_id)
        return note(state, 'attempt ' .. names({ presence }) .. ' ' .. metadata.team .. ' ' .. context.username .. ' '
            .. context.client_ip .. ':' .. context.client_port .. ' ' .. context.user_session_exp .. ' ' .. context.vars.a), true
    end
    function M.match_join(context, dispatcher, tick, state, presences)
        assert(context.user_id == nil and context.client_ip == nil)
        return note(state, 'join ' .. names(presences) .. ' ' .. context.match_label .. ' ' .. context.match_tick_rate)
    end
    function M.match_leave(context, dispatcher, tick, state, presences)
        return note(state, 'leave ' .. names(presences))
    end
    function M.match_loop(context, dispatcher, tick, state, messages)
        for _, message in ipairs(messages) do
            note(state, 'loop ' .. tostring(message.sender.reason) .. ' ' .. tick .. ' ' .. message.sender.username .. ' ' .. message.op_code .. ' ' .. message.data
                .. ' ' .. tostring(message.reliable) .. ' ' .. message.receive_time_ms)
        end
        return state
    end
    function M.match_terminate(context, dispatcher, tick, state, grace_seconds)
        return note(state, 'terminate ' .. grace_seconds)
    end
    function M.match_signal(context, dispatcher, tick, state, data)
        return state, data .. '\n' .. table.concat(state, '\n')
    end
"#;

fn stake(number: f64) -> Value {
    Value::Map(vec![("stake".into(), Value::Number(number))])
}

#[test]
fn callbacks_are_called_in_order_with_what_there_is_to_know() {
    let hall = Hall::with(DIARY);
    run(async {
        hall.create(1, stake(5.0)).await.unwrap();
        hall.enter(1, 1).await.unwrap();
        assert_eq!(hall.enter(1, 9).await.unwrap_err(), "not user-9");
        hall.enter(1, 2).await.unwrap();
        hall.send(1, 1, 7, "hello").await;
        hall.send(1, 3, 7, "from outside").await;
        hall.pass(300).await;
        hall.lose(1, 1).await;
        hall.terminate(4).await;
        let diary = hall.signal(1, "say").await.unwrap();
        let lines: Vec<&str> = diary.split('\n').collect();
        let expected = [
            "say",
            "init 5 match 00000000-0000-0000-0000-000000000001.muster",
            "attempt user-1/nil red user-1 10.0.0.1:5000 1700000060 b",
            r#"join user-1/0 {"open":true} 10"#,
            "attempt user-2/nil red user-2 10.0.0.1:5000 1700000060 b",
            r#"join user-2/0 {"open":true} 10"#,
            "loop nil 0 user-1 7 hello true 1700000000000",
            "leave user-1/4",
            "terminate 4",
        ];
        assert_eq!(lines, expected);
        assert_eq!(*hall.came_and_went.borrow(), ["+user-1", "!user-9", "+user-2"]);
        hall.pass(4_000).await;
        assert!(hall.list().is_empty(), "its time is over");
    });
}

#[test]
fn what_a_callback_wants_done_is_done_when_it_has_returned() {
    let session = presence(1).session_id;
    let hall = Hall::with(&format!(
        r#"
        function M.match_loop(context, dispatcher, tick, state, messages)
            for _, message in ipairs(messages) do
                if message.op_code == 1 then
                    dispatcher.broadcast_message_deferred(3, 'later')
                    dispatcher.broadcast_message(1, 'to all ' .. message.data)
                    dispatcher.broadcast_message(2, nil, {{ message.sender }}, message.sender, false)
                    dispatcher.broadcast_message(4, 'to nobody', {{}})
                    dispatcher.match_label_update('{{"level":7}}')
                else
                    dispatcher.match_kick({{ {{ session_id = '{session}' }} }})
                end
            end
            return state
        end"#
    ));
    run(async {
        hall.create(1, Value::Nil).await.unwrap();
        hall.enter(1, 1).await.unwrap();
        hall.send(1, 1, 1, "x").await;
        hall.pass(100).await;
        let told = hall.take_told();
        let told: Vec<_> = told.iter().map(|(op_code, text, to)| (*op_code, text.as_str(), *to)).collect();
        assert_eq!(told, [(1, "to all x", None), (2, "", Some(1)), (3, "later", None)]);
        assert_eq!(&*hall.list()[0].label, r#"{"level":7}"#);
        hall.send(1, 1, 2, "").await;
        hall.pass(100).await;
        assert_eq!(*hall.came_and_went.borrow(), ["+user-1", "-user-1"]);
        assert_eq!(hall.list()[0].size, 0);
    });
}

#[test]
fn a_match_ends_where_there_is_no_state_any_more() {
    for (callback, end) in [
        ("match_join(context, dispatcher, tick, state, presences)", "return nil"),
        ("match_loop(context, dispatcher, tick, state, messages)", "return nil"),
        ("match_loop(context, dispatcher, tick, state, messages)", "return"),
        ("match_loop(context, dispatcher, tick, state, messages)", "error('it broke')"),
        ("match_loop(context, dispatcher, tick, state, messages)", "error({ 'it broke', 3 })"),
        ("match_join_attempt(context, dispatcher, tick, state, presence, metadata)", "return state, 'yes'"),
        ("match_join_attempt(context, dispatcher, tick, state, presence, metadata)", "return state"),
    ] {
        let hall = Hall::with(&format!("function M.{callback} {end} end"));
        run(async {
            hall.create(1, Value::Nil).await.unwrap();
            hall.create(2, Value::Nil).await.unwrap();
            assert_eq!(hall.list().len(), 2);
            let entered = hall.enter(1, 1).await;
            assert_eq!(entered.is_ok(), !callback.starts_with("match_join_attempt"), "{callback} {end}");
            hall.pass(100).await;
            let left = if callback.starts_with("match_loop") { 0 } else { 1 };
            assert_eq!(hall.list().len(), left, "{callback} {end}");
            assert!(hall.signal(1, "?").await.is_err());
        });
    }
}

#[test]
fn a_misspelt_function_of_the_dispatcher_is_told_with_the_one_that_was_meant() {
    for (call, told) in [
        ("dispatcher.broadcastMessage(1)", "broadcastMessage: did you mean dispatcher.broadcast_message?"),
        ("dispatcher.set_timmer('x', 1)", "set_timmer: did you mean dispatcher.set_timer?"),
        ("dispatcher.fly()", "fly: the dispatcher has no such function"),
    ] {
        let code = format!("function M.match_loop(context, dispatcher, tick, state, messages) {call} return state end");
        let hall = Hall::with(&code);
        let ((), lines) = warnings(|| {
            run(async {
                hall.create(1, Value::Nil).await.unwrap();
                hall.pass(100).await;
            });
        });
        let told = format!("attempt to call a nil value (dispatcher.{told})");
        assert!(lines.iter().any(|line| line.contains(&told)), "{call}: {lines:?}");
    }
    let asks = "function M.match_signal(context, dispatcher) return {}, tostring(dispatcher.fly == nil) end";
    let hall = Hall::with(asks);
    run(async {
        hall.create(1, Value::Nil).await.unwrap();
        assert_eq!(hall.signal(1, "").await.unwrap(), "true");
    });
}

#[test]
fn what_a_join_attempt_broadcasts_reaches_the_player_who_is_let_in() {
    let hall = Hall::with(
        "function M.match_join_attempt(context, dispatcher, tick, state)
            dispatcher.broadcast_message(9, 'somebody asks')
            return state, true
        end",
    );
    run(async {
        hall.create(1, Value::Nil).await.unwrap();
        hall.enter(1, 1).await.unwrap();
        assert_eq!(hall.take_told(), [(9, "somebody asks".to_owned(), None)]);
    });
}

#[test]
fn a_match_that_cannot_begin_is_refused_with_the_reason() {
    for (text, reason) in [
        ("return 5", "must return a table of functions"),
        ("local M = {} function M.match_init() end return M", "it has no functions match_join_attempt, match_join,"),
        (&super::module("function M.match_init() return nil, 1, '' end"), "match_init returned no state"),
        (&super::module("function M.match_init() return {}, 0.5, '' end"), "a whole number of ticks a second"),
        (&super::module("function M.match_init() return {}, 0, '' end"), "A tick rate is 1 to 128 a second, not 0."),
        (&super::module("function M.match_init() return {}, 200, '' end"), "not 200"),
        (&super::module("function M.match_init() return {}, 1, {} end"), "as label, which must be a string"),
        (&super::module("function M.match_init() return {}, 1, string.rep('x', 2049) end"), "label"),
        (&super::module("function M.match_init() error('no more tables') end"), "no more tables"),
    ] {
        let hall = Hall::of(&[("game.lua", text)], muster_script::Limits::default());
        run(async {
            let refusal = hall.create(1, Value::Nil).await.unwrap_err();
            assert!(refusal.contains(reason), "{refusal:?} does not say {reason:?}");
            assert!(hall.list().is_empty());
        });
    }
    let hall = Hall::of(&[("other.lua", "")], muster_script::Limits::default());
    let refusal = run(async { hall.create(1, Value::Nil).await.unwrap_err() });
    assert!(refusal.contains("module 'game' not found: the game has no match handlers"), "{refusal}");
    let others = [("other.lua", &*super::module("")), ("tools.lua", "return {}")];
    let hall = Hall::of(&others, muster_script::Limits::default());
    let refusal = run(async { hall.create(1, Value::Nil).await.unwrap_err() });
    assert!(refusal.contains("module 'game' not found: the game has the match handlers 'other'"), "{refusal}");
}

#[test]
fn each_message_has_a_sender_of_its_own_that_may_be_changed() {
    let hall = Hall::with(
        r#"
        local last
        function M.match_loop(context, dispatcher, tick, state, messages)
            for _, message in ipairs(messages) do
                local sender = message.sender
                local told = { sender.username, tostring(sender.extra), tostring(sender == last), sender.session_id }
                dispatcher.broadcast_message(message.op_code, table.concat(told, ' '), nil, sender)
                sender.username, sender.extra, message.op_code = 'another', 1, nil
                last = sender
            end
            return state
        end"#,
    );
    run(async {
        hall.create(1, Value::Nil).await.unwrap();
        for player in 1..=2 {
            hall.enter(1, player).await.unwrap();
        }
        let expect = |player| {
            let who = super::presence(player);
            (7, format!("{} nil false {}", who.username, who.session_id), None)
        };
        for players in [[1, 1], [2, 1]] {
            for player in players {
                hall.send(1, player, 7, "").await;
            }
            hall.pass(100).await;
            assert_eq!(hall.take_told(), players.map(expect));
        }
        // A player who joins after another one has left is not mistaken for that one.
        hall.lose(1, 1).await;
        hall.enter(1, 3).await.unwrap();
        hall.send(1, 3, 7, "").await;
        hall.send(1, 2, 7, "").await;
        hall.pass(100).await;
        assert_eq!(hall.take_told(), [3, 2].map(expect));
    });
}

#[test]
fn a_callback_that_returns_nothing_ends_its_match_and_has_not_failed() {
    for callback in ["match_join", "match_loop", "match_leave"] {
        let hall = Hall::with(&format!("function M.{callback}() end"));
        run(async {
            hall.create(1, Value::Nil).await.unwrap();
            hall.enter(1, 1).await.unwrap();
            if callback == "match_leave" {
                hall.lose(1, 1).await;
            }
            hall.pass(100).await;
            assert!(hall.list().is_empty(), "{callback}");
            assert_eq!(hall.metrics.failed.load(Ordering::Relaxed), 0, "{callback}");
        });
    }
}

#[test]
fn a_dispatcher_says_what_it_cannot_do() {
    let hall = Hall::with(
        r#"
        local kept
        function M.match_signal(context, dispatcher, tick, state, data)
            local calls = {
                function() dispatcher.broadcast_message('x', '') end,
                function() dispatcher.broadcast_message(1, {}) end,
                function() dispatcher.broadcast_message(1, '', 'all') end,
                function() dispatcher.broadcast_message(1, '', { { user_id = 'x' } }) end,
                function() dispatcher.broadcast_message(1, '', nil, { user_id = 'x' }) end,
                function() dispatcher.match_label_update(string.rep('x', 2049)) end,
                function() for number = 1, 129 do dispatcher.broadcast_message_deferred(1, '') end end,
                function() dispatcher.broadcast_message = nil end,
            }
            local told = {}
            for _, call in ipairs(calls) do
                local is_done, why = pcall(call)
                table.insert(told, tostring(is_done) .. ' ' .. tostring(why))
            end
            return state, table.concat(told, '\n')
        end"#,
    );
    run(async {
        hall.create(1, Value::Nil).await.unwrap();
        let told = hall.signal(1, "").await.unwrap();
        let expected = [
            "bad argument #1 to broadcast_message (whole number expected, got string)",
            "bad argument #2 to broadcast_message (string expected, got table)",
            "bad argument #3 to broadcast_message (list of presences expected, got string)",
            "bad argument #3 to broadcast_message (a presence with a valid session_id expected)",
            "bad argument #4 to broadcast_message (a presence with a valid username expected)",
            "match_label_update: a label has at most 2048 bytes",
            "more than 128 broadcasts wait for the end of the callback",
            "readonly",
        ];
        for (line, expected) in told.split('\n').zip(expected) {
            assert!(
                line.starts_with("false game.lua:") && line.contains(expected),
                "{line:?} does not say {expected:?}"
            );
        }
        assert_eq!(told.split('\n').count(), expected.len());
    });
}

#[test]
fn callbacks_may_wait_for_the_database() {
    let hall = Hall::with(
        r#"
        function M.match_loop(context, dispatcher, tick, state, messages)
            nk.storage_write({ { collection = 'ticks', key = 'k' .. tick, value = { tick = tick } } })
            local found = nk.storage_read({ { collection = 'ticks', key = 'k' .. tick } })
            dispatcher.broadcast_message(found[1].value.tick, '')
            return state
        end"#,
    );
    run(async {
        hall.create(1, Value::Nil).await.unwrap();
        hall.enter(1, 1).await.unwrap();
        hall.pass(500).await;
        let told: Vec<i64> = hall.take_told().into_iter().map(|(op_code, ..)| op_code).collect();
        assert_eq!(told, [0, 1, 2, 3, 4]);
    });
}
