-- A match for lua-matches.test.mjs: each text that a player says is sent to everybody with a number.
local nk = require("nakama")

local M = {}

local OP_SAY, OP_SAID, OP_KICK, OP_OVER, OP_ENDING = 1, 2, 3, 4, 5

function M.match_init(context, params)
    local state = { said = 0, greeting = params.greeting or context.node, secret = params.secret }
    return state, 20, nk.json_encode({ mode = params.mode, open = 1 })
end

function M.match_join_attempt(context, dispatcher, tick, state, presence, metadata)
    if state.secret and metadata.secret ~= state.secret then
        return state, false, "the secret is wrong"
    end
    return state, true
end

function M.match_join(context, dispatcher, tick, state, presences)
    for _, presence in ipairs(presences) do
        dispatcher.broadcast_message(OP_SAID, state.greeting .. " " .. presence.username, { presence })
    end
    return state
end

function M.match_leave(context, dispatcher, tick, state, presences)
    for _, presence in ipairs(presences) do
        dispatcher.broadcast_message(OP_SAID, "bye " .. presence.username)
    end
    return state
end

function M.match_loop(context, dispatcher, tick, state, messages)
    for _, message in ipairs(messages) do
        if message.op_code == OP_SAY then
            state.said = state.said + 1
            dispatcher.broadcast_message(OP_SAID, state.said .. " " .. message.data, nil, message.sender)
        elseif message.op_code == OP_KICK then
            dispatcher.match_kick({ message.sender })
        elseif message.op_code == OP_OVER then
            return nil
        end
    end
    return state
end

function M.match_terminate(context, dispatcher, tick, state, grace_seconds)
    dispatcher.broadcast_message(OP_ENDING, tostring(grace_seconds))
    return nil
end

function M.match_signal(context, dispatcher, tick, state, data)
    dispatcher.match_label_update(nk.json_encode({ mode = data, open = 0 }))
    return state, tostring(state.said)
end

return M
