-- The functions of `muster-bench ticks --bombs`, which end only because the server ends them.
local nk = require("nakama")

local bombs = {
    loop = function()
        while true do
        end
    end,
    memory = function()
        local all = {}
        while true do
            table.insert(all, string.rep("x", 10_000) .. #all)
        end
    end,
    text = function()
        return string.rep("x", 500_000_000)
    end,
    pattern = function()
        return string.find(string.rep("a", 100_000), string.rep("a-", 100) .. "b")
    end,
    -- The only function that answers: the match that it makes never ends its first tick.
    tick = function()
        return nk.match_create("bench_bomb_match")
    end,
}

nk.register_rpc(function(_, kind)
    bombs[kind]()
    return kind
end, "bench_bomb_lua")
