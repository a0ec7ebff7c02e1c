-- A match for lua-matches.test.mjs with four seats. As most games do it counts its players when they have joined.
local M = {}

local SEATS = 4

function M.match_init()
    return { count = 0 }, 20, ""
end

function M.match_join_attempt(context, dispatcher, tick, state, presence, metadata)
    if state.count >= SEATS then
        return state, false, "full"
    end
    return state, true
end

function M.match_join(context, dispatcher, tick, state, presences)
    state.count = state.count + #presences
    return state
end

function M.match_leave(context, dispatcher, tick, state, presences)
    state.count = state.count - #presences
    return state
end

function M.match_loop(context, dispatcher, tick, state, messages)
    return state
end

function M.match_terminate(context, dispatcher, tick, state, grace_seconds)
    return nil
end

function M.match_signal(context, dispatcher, tick, state, data)
    return state, tostring(state.count)
end

return M
