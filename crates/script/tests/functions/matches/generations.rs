//! Matches that go on in their own code while new matches have newer code.

use muster_script::value::Value;

use super::{Hall, run};

fn says(text: &str) -> String {
    format!("function M.match_signal(context, dispatcher, tick, state, data) return state, '{text}' end")
}

#[test]
fn a_match_keeps_the_code_that_it_began_with() {
    let hall = Hall::with(&says("old"));
    // The programs are loaded before the runtime runs, because loading starts a runtime itself.
    let later = [("new", 2), ("newer", 3)].map(|(text, generation)| (hall.program(&says(text)), generation));
    run(async {
        hall.create(1, Value::Nil).await.unwrap();
        for (number, (program, generation)) in (2..).zip(later) {
            hall.lua.renew(program, generation);
            hall.create(number, Value::Nil).await.unwrap();
        }
        hall.pass(1_000).await;
        for (number, text) in [(1, "old"), (2, "new"), (3, "newer")] {
            assert_eq!(hall.signal(number, "").await, Ok(text.to_owned()));
        }
    });
}

#[test]
fn machines_of_earlier_code_go_with_their_last_match() {
    let ends = "function M.match_signal() return nil end";
    let hall = Hall::with(ends);
    let program = hall.program(ends);
    run(async {
        for (number, generation) in (1..=3).zip(2..) {
            hall.create(number, Value::Nil).await.unwrap();
            hall.lua.renew(program.clone(), generation);
        }
        assert_eq!(hall.machines(), 3);
        for number in 1..=3 {
            let _ = hall.signal(number, "").await;
        }
        assert_eq!(hall.machines(), 1, "the machine that is left has the current code");
    });
}

/// A handler that counts its ticks, and answers its name and the count.
fn counting(name: &str, more: &str) -> String {
    format!(
        "function M.match_init(context, params) return {{ ticks = 0, list = {{ 1, 2 }}, came = {{}} }}, 10, 'label' end
        function M.match_join(context, dispatcher, tick, state, presences)
            for _, presence in ipairs(presences) do table.insert(state.came, presence.username) end
            return state
        end
        function M.match_loop(context, dispatcher, tick, state, messages)
            state.ticks = state.ticks + 1
            return state
        end
        function M.match_signal(context, dispatcher, tick, state, data)
            return state, '{name} ' .. state.ticks .. ' ' .. #state.list .. ' ' .. table.concat(state.came, ',')
        end
        {more}"
    )
}

const TAKES: &str = "function M.match_migrate(context, state, from_generation)
        state.list[3] = context.match_label .. from_generation .. '/' .. context.match_tick_rate
        return state
    end";

#[test]
fn a_match_goes_over_to_newer_code_that_takes_it() {
    let hall = Hall::with(&counting("old", ""));
    let says = "function M.match_timer(context, dispatcher, tick, state, name, data) return state end";
    let new = hall.program(&counting("new", &format!("{TAKES}\n{says}")));
    let newer = hall.program(&counting("newer", ""));
    let newest = hall.program(&counting("newest", TAKES));
    run(async {
        hall.create(1, Value::Nil).await.unwrap();
        hall.enter(1, 1).await.unwrap();
        hall.pass(500).await;
        assert_eq!(hall.signal(1, "").await.unwrap(), "old 5 2 user-1");
        hall.lua.renew(new, 2);
        hall.pass(500).await;
        assert_eq!(hall.signal(1, "").await.unwrap(), "new 10 3 user-1");
        assert_eq!((hall.machines(), hall.list()[0].size), (1, 1), "the old machine has gone, the player has not");
        // A handler without `match_migrate` keeps its matches, which may migrate to a later generation.
        hall.lua.renew(newer, 3);
        assert_eq!(hall.signal(1, "").await.unwrap(), "new 10 3 user-1");
        hall.lua.renew(newest, 4);
        assert_eq!(hall.signal(1, "").await.unwrap(), "newest 10 3 user-1");
    });
}

#[test]
fn a_match_that_cannot_go_over_stays_where_it_is() {
    let old = "function M.match_signal(context, dispatcher, tick, state, data)
            if data == 'closure' then state.run = function() end end
            return state, 'old'
        end";
    let takes = |how: &str| format!("{}\nfunction M.match_migrate(context, state, from) {how} end", says("new"));
    let hall = Hall::with(old);
    let later =
        ["error('boom')", "return nil", "while true do end", "return state"].map(|how| hall.program(&takes(how)));
    run(async {
        hall.create(1, Value::Nil).await.unwrap();
        hall.create(2, Value::Nil).await.unwrap();
        hall.signal(2, "closure").await.unwrap();
        for (program, generation) in later.into_iter().zip(2..) {
            assert_eq!(hall.signal(1, "").await, Ok("old".to_owned()));
            hall.lua.renew(program, generation);
        }
        assert_eq!(hall.signal(1, "").await, Ok("new".to_owned()));
        assert_eq!(hall.signal(2, "").await, Ok("old".to_owned()), "its state is no plain data");
        assert_eq!(hall.metrics.matches_migrated.load(std::sync::atomic::Ordering::Relaxed), 1);
    });
}
