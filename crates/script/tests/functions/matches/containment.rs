//! A faulty match harms only itself.

use std::time::Duration;

use muster_script::Limits;
use muster_script::value::Value;

use super::{Hall, module, run};

/// A match goes wrong when it is told to; another, of the same machine, ticks on.
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
