-- Twin of javascript/relay.js: what a player says, the others hear, with the code that it had and 100.
local M = {}

function M.match_init(context, params)
    return { count = 0 }, params.rate or 20, ""
end

function M.match_join_attempt(context, dispatcher, tick, state, presence, metadata)
    return state, true
end

function M.match_join(context, dispatcher, tick, state, presences)
    state.count = state.count + #presences
    return state
end

function M.match_leave(context, dispatcher, tick, state, presences)
    state.count = state.count - #presences
    dispatcher.broadcast_message(2, "left: " .. state.count)
    return state
end

function M.match_loop(context, dispatcher, tick, state, messages)
    for _, message in ipairs(messages) do
        state.seen = state.seen or {}
        state.seen[message.sender.session_id] = message.sender
        local others = {}
        for id, presence in pairs(state.seen) do
            if id ~= message.sender.session_id then
                table.insert(others, presence)
            end
        end
        dispatcher.broadcast_message(message.op_code + 100, message.data, others, message.sender, true)
    end
    return state
end

function M.match_terminate(context, dispatcher, tick, state, grace_seconds)
    return state
end

function M.match_signal(context, dispatcher, tick, state, data)
    return state, tostring(state.count)
end

return M
