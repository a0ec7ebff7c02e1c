//! Each match has its own variables: those of the file, of what it requires, and globals.

use muster_script::Limits;
use muster_script::value::Value;

use super::{Hall, module, run};

const MATCHES: u128 = 1_000;

#[test]
fn a_thousand_matches_count_only_their_own() {
    let counting = module(
        "local counter = require('lib.counter')
        local of_file = { count = 0 }
        of_nobody = { count = 0 }
        local function count(table) table.count = table.count + 1 end
        function M.match_loop(context, dispatcher, tick, state, messages)
            count(of_file) count(of_nobody) counter.add() _G.direct = (_G.direct or 0) + 1
            return state
        end
        function M.match_signal(context, dispatcher, tick, state, data)
            return state, table.concat({ of_file.count, of_nobody.count, counter.get(), direct }, ' ')
        end",
    );
    let library = "local count = 0
        return { add = function() count = count + 1 end, get = function() return count end }";
    let hall = Hall::of(&[("game.lua", &counting), ("lib/counter.lua", library)], Limits::default());
    run(async {
        for number in 1..=MATCHES {
            hall.create(number, Value::Nil).await.unwrap();
            if number % 100 == 0 {
                hall.pass(100).await;
            }
        }
        for number in 1..=MATCHES {
            let ticks = (MATCHES - number) / 100 + 1;
            let expected = format!("{ticks} {ticks} {ticks} {ticks}");
            assert_eq!(hall.signal(number, "").await.unwrap(), expected, "match {number}");
        }
    });
}

#[test]
fn what_a_match_registers_and_changes_in_libraries_is_nobody_elses() {
    let hall = Hall::with(
        "local function mine() return leak end
        nk.register_rpc(function() end, 'again')
        function M.match_signal(context, dispatcher, tick, state, data)
            local told = {}
            for _, change in ipairs({
                function() string.format = nil end,
                function() math.pi = 3 end,
                function() nk.time = nil end,
                function() getmetatable('').__index = nil end,
                function() dispatcher.mine = 1 end,
                function() getmetatable(_G).__index.leak = state end,
                function() getmetatable(_G).mine = state end,
                function() getfenv(0).leak = state end,
                function() getfenv(tostring).leak = state end,
                function() getfenv(table.move).leak = state end,
                function() setfenv(table.move, {}) end,
                function() setfenv(require, {}) end,
                function() setfenv(0, {}) end,
                function() setfenv('0', {}) end,
                function() setfenv(0.5, {}) end,
                function() for level = 1, 9 do setfenv(level, setmetatable({}, { __index = getfenv(1) })) end end,
            }) do
                local done = pcall(change)
                told[#told + 1] = tostring(done)
            end
            return state, table.concat(told, ' ') .. tostring(leak) .. tostring(setfenv(mine, { leak = 'own' })())
        end",
    );
    run(async {
        hall.create(1, Value::Nil).await.unwrap();
        hall.create(2, Value::Nil).await.unwrap();
        for id in [1, 2, 1] {
            // Libraries and the host's module may be changed: each match has its own.
            let told = ["true ".repeat(3), "false ".repeat(13)].concat().trim_end().to_owned() + "nilown";
            assert_eq!(hall.signal(id, "").await.unwrap(), told);
        }
    });
}
