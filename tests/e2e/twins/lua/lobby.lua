-- Twin of javascript/lobby.js: a lobby with a password and so many seats, which listings find while it is open.
local nk = require("nakama")

local M = {}

local function show(dispatcher, state)
    local open = state.taken < state.seats and 1 or 0
    dispatcher.match_label_update(nk.json_encode({ mode = state.mode, open = open, taken = state.taken }))
end

function M.match_init(context, params)
    local state = { mode = params.mode, seats = params.seats, password = params.password, taken = 0 }
    return state, 10, nk.json_encode({ mode = state.mode, open = 1, taken = 0 })
end

function M.match_join_attempt(context, dispatcher, tick, state, presence, metadata)
    if state.taken >= state.seats then
        return state, false, "the lobby is full"
    end
    if metadata.password ~= state.password then
        return state, false, "the password is wrong"
    end
    return state, true
end

function M.match_join(context, dispatcher, tick, state, presences)
    state.taken = state.taken + #presences
    show(dispatcher, state)
    dispatcher.broadcast_message(1, context.match_label)
    return state
end

function M.match_leave(context, dispatcher, tick, state, presences)
    state.taken = state.taken - #presences
    show(dispatcher, state)
    return state
end

function M.match_loop(context, dispatcher, tick, state, messages)
    return state
end

function M.match_terminate(context, dispatcher, tick, state, grace_seconds)
    return nil
end

function M.match_signal(context, dispatcher, tick, state, data)
    state.seats = tonumber(data)
    show(dispatcher, state)
    return state, ""
end

return M
