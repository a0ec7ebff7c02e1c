-- A match that `muster-bench ticks --bombs` has made: none of its ticks ends.
local M = {}

function M.match_init()
    return {}, 10, ""
end

function M.match_join_attempt(_, _, _, state)
    return state, false, "nobody plays here"
end

function M.match_join(_, _, _, state)
    return state
end

function M.match_leave(_, _, _, state)
    return state
end

function M.match_loop()
    while true do
    end
end

function M.match_signal(_, _, _, state, data)
    return state, data
end

function M.match_terminate(_, _, _, state)
    return state
end

return M
