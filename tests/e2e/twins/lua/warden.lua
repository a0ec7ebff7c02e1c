-- Twin of javascript/warden.js: it kicks who is rude, ends when it is told, and counts down when the server stops.
local M = {}

local OP_SAY, OP_HEARD, OP_CLOSE, OP_END = 1, 2, 3, 4

function M.match_init(context, params)
    return { left = nil }, 20, "warden"
end

function M.match_join_attempt(context, dispatcher, tick, state, presence, metadata)
    return state, true
end

function M.match_join(context, dispatcher, tick, state, presences)
    return state
end

function M.match_leave(context, dispatcher, tick, state, presences)
    for _, presence in ipairs(presences) do
        dispatcher.broadcast_message(OP_HEARD, "gone: " .. presence.username)
    end
    return state
end

function M.match_loop(context, dispatcher, tick, state, messages)
    for _, message in ipairs(messages) do
        if message.op_code == OP_CLOSE then
            return nil
        elseif message.data == "rude" then
            dispatcher.match_kick({ message.sender })
        else
            dispatcher.broadcast_message(OP_HEARD, message.data)
        end
    end
    if state.left then
        state.left = state.left - 1
        dispatcher.broadcast_message(OP_END, tostring(state.left))
        if state.left == 0 then
            return nil
        end
    end
    return state
end

function M.match_terminate(context, dispatcher, tick, state, grace_seconds)
    dispatcher.broadcast_message(OP_END, "within " .. grace_seconds)
    state.left = 3
    return state
end

function M.match_signal(context, dispatcher, tick, state, data)
    return state, data
end

return M
