-- Twin of javascript/signals.js: a match that does what other code tells it.
local nk = require("nakama")

local M = {}

function M.match_init(context, params)
    if params.fails then
        error("it does not begin")
    end
    return { heard = {}, name = params.name }, 5, params.name
end

function M.match_join_attempt(context, dispatcher, tick, state, presence, metadata)
    return state, true
end

function M.match_join(context, dispatcher, tick, state, presences)
    return state
end

function M.match_leave(context, dispatcher, tick, state, presences)
    return state
end

function M.match_loop(context, dispatcher, tick, state, messages)
    return state
end

function M.match_terminate(context, dispatcher, tick, state, grace_seconds)
    return nil
end

function M.match_signal(context, dispatcher, tick, state, data)
    local told = nk.json_decode(data)
    table.insert(state.heard, told.what)
    if told.what == "say" then
        dispatcher.broadcast_message(told.code, told.text)
    elseif told.what == "ask" then
        local ids = context.match_id ~= nil and context.match_node ~= nil
        return state, nk.json_encode({ heard = state.heard, label = context.match_label, ids = ids })
    elseif told.what == "keep" then
        nk.storage_write({ { collection = "signals", key = state.name, value = { heard = #state.heard } } })
        return state, "kept"
    elseif told.what == "end" then
        return nil, "ended"
    end
    return state, "done"
end

return M
