-- The match of `muster-bench match`, with ten ticks a second; players find one with a free seat by a function. Messages with
-- op code 1 come back to their sender, those with op code 2 go to all.
local nk = require("nakama")

local OP_ECHO = 1

local M = {}

local function label(state)
    return nk.json_encode({ run = state.run, open = state.taken < state.seats and 1 or 0 })
end

function M.match_init(_, params)
    local state = { run = params.run, seats = params.seats, taken = 0, here = {} }
    return state, 10, label(state)
end

function M.match_join_attempt(_, dispatcher, _, state, presence)
    if state.taken >= state.seats then
        return state, false, "the match is full"
    end
    state.taken += 1
    state.here[presence.session_id] = true
    if state.taken == state.seats then
        dispatcher.match_label_update(label(state))
    end
    return state, true
end

function M.match_join(_, _, _, state)
    return state
end

function M.match_leave(_, dispatcher, _, state, presences)
    for _, presence in presences do
        if state.here[presence.session_id] then
            state.here[presence.session_id] = nil
            state.taken -= 1
        end
    end
    if state.taken == 0 then
        return nil
    end
    dispatcher.match_label_update(label(state))
    return state
end

function M.match_loop(_, dispatcher, _, state, messages)
    for _, message in messages do
        local to = if message.op_code == OP_ECHO then { message.sender } else nil
        dispatcher.broadcast_message(message.op_code, message.data, to, message.sender)
    end
    return state
end

function M.match_signal(_, _, _, state, data)
    return state, data
end

function M.match_terminate(_, _, _, state)
    return state
end

return M
