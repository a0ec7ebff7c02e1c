-- Twin of javascript/ticker.js: it counts its 60 ticks a second, and says whether any was left out.
local M = {}

function M.match_init(context, params)
    return { count = 0, is_whole = true }, 60, ""
end

function M.match_join_attempt(context, dispatcher, tick, state, presence, metadata)
    return state, true
end

function M.match_join(context, dispatcher, tick, state, presences)
    state.from = state.count
    return state
end

function M.match_leave(context, dispatcher, tick, state, presences)
    return state
end

function M.match_loop(context, dispatcher, tick, state, messages)
    state.is_whole = state.is_whole and tick == state.count
    state.count = state.count + 1
    if state.from then
        local so_far = state.count - state.from
        if so_far % 30 == 0 and so_far <= 90 then
            local whole = state.is_whole and "whole" or "torn"
            dispatcher.broadcast_message(so_far, whole .. " at " .. context.match_tick_rate)
        end
    end
    return state
end

function M.match_terminate(context, dispatcher, tick, state, grace_seconds)
    return nil
end

function M.match_signal(context, dispatcher, tick, state, data)
    return state, ""
end

return M
