//! Timers of matches in Lua and JavaScript.

use muster_script::Limits;
use muster_script::value::Value;

use super::{Hall, module, run};

const LUA: &str = "
    function M.match_timer(context, dispatcher, tick, state, name, data)
        table.insert(state, name .. '/' .. data .. '@' .. tick)
        if name == 'again' and #state < 3 then dispatcher.set_timer('again', 100, data .. 'x') end
        if name == 'last' then return nil end
        return state
    end
    function M.match_loop(context, dispatcher, tick, state, messages)
        if tick == 0 then
            dispatcher.set_timer('again', 250, 'a')
            dispatcher.set_timer('gone', 100)
            dispatcher.cancel_timer('gone')
        end
        return state
    end
    function M.match_signal(context, dispatcher, tick, state, data)
        if data == 'last' then dispatcher.set_timer('last', 0) end
        if data == 'many' then
            local is_done, told = pcall(function()
                for number = 1, 300 do dispatcher.set_timer('again', 100) dispatcher.set_timer('t' .. number, 1000) end
            end)
            return state, told
        end
        if data == 'wrong' then
            local _, negative = pcall(dispatcher.set_timer, 'a', -1)
            local _, long = pcall(dispatcher.set_timer, string.rep('x', 129), 1)
            return state, negative .. '; ' .. long
        end
        return state, table.concat(state, ' ')
    end";

const JAVASCRIPT: &str = "
    function matchInit(ctx, logger, nk, params) { return { state: [], tickRate: 10, label: '' }; }
    function matchJoinAttempt(ctx, logger, nk, dispatcher, tick, state) { return { state, accept: true }; }
    function matchJoin(ctx, logger, nk, dispatcher, tick, state) { return { state }; }
    function matchLeave(ctx, logger, nk, dispatcher, tick, state) { return { state }; }
    function matchTerminate(ctx, logger, nk, dispatcher, tick, state) { return { state }; }
    function matchTimer(ctx, logger, nk, dispatcher, tick, state, name, data) {
        state.push(`${name}/${data}@${tick}`);
        if (name === 'again' && state.length < 3) dispatcher.setTimer('again', 100, data + 'x');
        return name === 'last' ? null : { state };
    }
    function matchLoop(ctx, logger, nk, dispatcher, tick, state, messages) {
        if (tick === 0) {
            dispatcher.setTimer('again', 250, 'a');
            dispatcher.setTimer('gone', 100);
            dispatcher.cancelTimer('gone');
        }
        return { state };
    }
    function matchSignal(ctx, logger, nk, dispatcher, tick, state, data) {
        if (data === 'last') dispatcher.setTimer('last', 0);
        if (data === 'many') {
            try {
                for (let number = 1; number <= 300; number++) {
                    dispatcher.setTimer('again', 100);
                    dispatcher.setTimer('t' + number, 1000);
                }
            } catch (error) { return { state, data: error.message }; }
        }
        if (data === 'wrong') {
            const told = [];
            for (const given of [['a', -1], ['x'.repeat(129), 1]]) {
                try { dispatcher.setTimer(...given); } catch (error) { told.push(error.message); }
            }
            return { state, data: told.join('; ') };
        }
        return { state, data: state.join(' ') };
    }
    function InitModule(ctx, logger, nk, initializer) {
        initializer.registerMatch('game', {
            matchInit, matchJoinAttempt, matchJoin, matchLeave, matchLoop, matchTerminate, matchSignal, matchTimer });
    }";

fn halls() -> [Hall; 2] {
    [Hall::with(LUA), Hall::of(&[("index.js", JAVASCRIPT)], Limits::default())]
}

#[test]
fn a_timer_calls_its_match_at_the_first_tick_that_is_late_enough() {
    for hall in halls() {
        run(async {
            hall.create(1, Value::Nil).await.unwrap();
            hall.pass(1_000).await;
            let told = hall.signal(1, "").await.unwrap();
            assert_eq!(told, "again/a@3 again/ax@4 again/axx@5");
            hall.signal(1, "last").await.unwrap();
            hall.pass(200).await;
            assert!(hall.list().is_empty(), "a timer may end the match");
        });
    }
}

#[test]
fn timers_that_cannot_be_set_are_refused() {
    for hall in halls() {
        run(async {
            hall.create(1, Value::Nil).await.unwrap();
            hall.pass(100).await;
            let told = hall.signal(1, "many").await.unwrap();
            assert!(told.contains("at most 256 timers"), "{told}");
            let told = hall.signal(1, "wrong").await.unwrap();
            assert!(told.contains("milliseconds") && told.contains("1 to 128 bytes"), "{told}");
        });
    }
}

#[test]
fn a_match_without_a_function_for_them_is_told_so() {
    let sets = "function M.match_signal(context, dispatcher, tick, state, data)
            local _, told = pcall(dispatcher.set_timer, 'a', 1)
            return state, told
        end";
    let hall = Hall::of(&[("game.lua", &module(sets))], Limits::default());
    run(async {
        hall.create(1, Value::Nil).await.unwrap();
        let told = hall.signal(1, "").await.unwrap();
        assert!(told.contains("no function for timers"), "{told}");
    });
}
