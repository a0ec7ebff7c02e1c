//! A faulty match harms only itself.

use std::time::Duration;

use muster_script::Limits;
use muster_script::value::Value;

use super::{Hall, module, run};

/// Has one match go wrong by the code `harm`, and checks that another match of the same machine goes on.
fn end_one_of_two(harm: &str, limits: Limits) {
    let text = module(&format!(
        "local ticks = 0
        function M.match_loop(context, dispatcher, tick, state, messages)
            ticks = ticks + 1
            if #messages > 0 then {harm} end
            return state
        end
        function M.match_signal(context, dispatcher, tick, state, data) return state, tostring(ticks) end"
    ));
    let hall = Hall::of(&[("game.lua", &text)], limits);
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
fn a_callback_that_does_not_end_is_ended_and_its_match_with_it() {
    let limits = Limits { tick_time_max: Duration::from_millis(50), ..Limits::default() };
    end_one_of_two("while true do end", limits);
    end_one_of_two("while true do pcall(error) end", limits);
    end_one_of_two("string.rep('a', 40):find(string.rep('a?', 40) .. string.rep('a', 40))", limits);
}

#[test]
fn errors_and_recursion_end_the_match_alone() {
    end_one_of_two("error('broken')", Limits::default());
    end_one_of_two("local function deeper() return 1 + deeper() end deeper()", Limits::default());
    end_one_of_two("local nothing nothing.field = 1", Limits::default());
}

#[test]
fn a_match_that_is_too_slow_three_times_in_a_row_ends() {
    let limits = Limits { tick_time: Duration::from_nanos(1), ..Limits::default() };
    let hall = Hall::of(&[("game.lua", &module(""))], limits);
    run(async {
        hall.create(1, Value::Nil).await.unwrap();
        hall.pass(200).await;
        assert_eq!(hall.list().len(), 1);
        hall.pass(100).await;
        assert!(hall.list().is_empty());
    });
}

#[test]
fn a_match_that_keeps_too_much_ends_alone() {
    let limits = Limits { match_bytes: 1 << 20, ..Limits::default() };
    end_one_of_two("state.kept = table.create(200000, 1)", limits);
    end_one_of_two("of_nobody = {} for index = 1, 100000 do of_nobody[index] = tostring(index) end", limits);
}

#[test]
fn what_modules_keep_is_not_the_matches() {
    let constants = "kept = table.create(400000, 1)\n";
    let text = constants.to_owned()
        + &module(
            "function M.match_signal(context, dispatcher, tick, state, data)
                state.kept = table.create(tonumber(data), 1)
                return state, 'kept'
            end",
        );
    let hall = Hall::of(&[("game.lua", &text)], Limits { match_bytes: 1 << 20, ..Limits::default() });
    run(async {
        hall.create(1, Value::Nil).await.unwrap();
        hall.signal(1, "50000").await.unwrap();
        hall.pass(200).await;
        assert_eq!(hall.list().len(), 1, "the constants take 6 MB");
        assert!(hall.signal(1, "100000").await.is_err(), "the match itself keeps 1.6 MB");
    });
}

#[test]
fn rubbish_is_nobodys_fault() {
    let text = module(
        "function M.match_loop(context, dispatcher, tick, state, messages)
            for index = 1, 300 do state.last = string.rep('x', 10000) .. index end
            return state
        end",
    );
    let hall = Hall::of(&[("game.lua", &text)], Limits { match_bytes: 256 << 10, ..Limits::default() });
    run(async {
        hall.create(1, Value::Nil).await.unwrap();
        hall.pass(2_000).await;
        assert_eq!(hall.list().len(), 1);
    });
}

#[test]
fn when_a_machine_is_nearly_full_who_keeps_most_ends() {
    let text = module(
        "function M.match_signal(context, dispatcher, tick, state, data)
            state.kept = table.create(tonumber(data), 1)
            return state, 'kept'
        end",
    );
    let limits = Limits { machine_bytes: 14 << 20, match_bytes: 8 << 20, ..Limits::default() };
    let hall = Hall::of(&[("game.lua", &text)], limits);
    run(async {
        for (number, places) in [(1, 150_000), (2, 250_000), (3, 150_000), (4, 150_000)] {
            hall.create(number, Value::Nil).await.unwrap();
            hall.signal(number, &places.to_string()).await.unwrap();
        }
        hall.pass(200).await;
        assert_eq!(hall.list().len(), 3);
        assert!(hall.signal(2, "1").await.is_err(), "the match that keeps 4 MB has ended");
    });
}

#[test]
fn what_a_callback_sends_has_an_end() {
    let text = "local text = string.rep('x', 2 ^ 20)
        for _ = 1, 20 do dispatcher.broadcast_message(1, text) end";
    end_one_of_two(text, Limits::default());
    end_one_of_two("while true do dispatcher.broadcast_message(1, '') end", Limits::default());
    // A presence is only its session id here, and a list of presences counts among the bytes that are sent.
    let list = "local list = table.create(10000, { session_id = '00000000-0000-4000-8000-000000000000' })";
    for harm in [
        "for _ = 1, 200 do dispatcher.broadcast_message(1, '', list) end",
        "list[10001] = list[1] dispatcher.broadcast_message(1, '', list)",
        "list[10001] = list[1] dispatcher.match_kick(list)",
    ] {
        end_one_of_two(&format!("{list} {harm}"), Limits::default());
    }
}
