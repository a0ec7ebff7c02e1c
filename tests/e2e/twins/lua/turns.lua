-- Twin of javascript/turns.js: players move in turn. What a tick puts off is heard behind all else of the tick.
local nk = require("nakama")

local M = {}

local OP_MOVE, OP_TURN, OP_MOVED, OP_WRONG = 1, 2, 3, 4

function M.match_init(context, params)
    return { players = {}, turn = 1, moves = {} }, 20, "turns"
end

function M.match_join_attempt(context, dispatcher, tick, state, presence, metadata)
    return state, #state.players < 2
end

function M.match_join(context, dispatcher, tick, state, presences)
    for _, presence in ipairs(presences) do
        table.insert(state.players, presence)
    end
    if #state.players == 2 then
        dispatcher.broadcast_message(OP_TURN, state.players[1].username)
    end
    return state
end

function M.match_leave(context, dispatcher, tick, state, presences)
    return nil
end

function M.match_loop(context, dispatcher, tick, state, messages)
    for _, message in ipairs(messages) do
        local mover = state.players[state.turn]
        if message.op_code == OP_MOVE and mover and mover.session_id == message.sender.session_id then
            table.insert(state.moves, nk.json_decode(message.data).to)
            state.turn = 3 - state.turn
            dispatcher.broadcast_message_deferred(OP_TURN, state.players[state.turn].username)
            dispatcher.broadcast_message(OP_MOVED, nk.json_encode({ moves = state.moves }), nil, message.sender)
        else
            dispatcher.broadcast_message(OP_WRONG, "not your turn", { message.sender })
        end
    end
    return state
end

function M.match_terminate(context, dispatcher, tick, state, grace_seconds)
    return nil
end

function M.match_signal(context, dispatcher, tick, state, data)
    return state, nk.json_encode({ moves = #state.moves, turn = state.turn })
end

return M
