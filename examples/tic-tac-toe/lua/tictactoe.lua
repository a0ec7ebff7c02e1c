-- Tic-tac-toe, decided by the server: two players, one board, a wallet that counts what they won.
local nk = require("nakama")

local BOARD, MOVE, REFUSED = 1, 2, 3 -- op codes
local CONNECTION_LOST = 4 -- the reason of a presence that did not leave on purpose
local GRACE_TICKS = 300 -- for half a minute the seat of a player without a connection is kept
local LINES = { { 1, 2, 3 }, { 4, 5, 6 }, { 7, 8, 9 }, { 1, 4, 7 }, { 2, 5, 8 }, { 3, 6, 9 }, { 1, 5, 9 }, { 3, 5, 7 } }

local function label(state)
    return nk.json_encode({ game = "tic-tac-toe", open = #state.players < 2 and 1 or 0 })
end

local function winner(board)
    for _, line in ipairs(LINES) do
        local mark = board[line[1]]
        if mark ~= 0 and mark == board[line[2]] and mark == board[line[3]] then return mark end
    end
end

-- What a player sent may be anything: only a cell that is free counts.
local function cell_of(state, message)
    local ok, move = pcall(nk.json_decode, message.data)
    local cell = ok and type(move) == "table" and type(move.cell) == "number" and move.cell + 1
    return state.board[cell] == 0 and cell or nil
end

local function show(state, dispatcher)
    local names = {}
    for index, player in ipairs(state.players) do names[index] = player.username end
    dispatcher.broadcast_message(BOARD, nk.json_encode({
        board = state.board, players = names, turn = state.turn, winner = state.winner, over = state.over,
    }))
end

local function seat_of(state, user_id)
    for index, player in ipairs(state.players) do
        if player.user_id == user_id then return index, player end
    end
end

local function give_up(state, index)
    state.over, state.winner = true, #state.players == 2 and 3 - index or 0
end

local M = {}

function M.match_init(context, params)
    local state = { board = { 0, 0, 0, 0, 0, 0, 0, 0, 0 }, players = {}, turn = 1, moves = 0, winner = 0, over = false }
    return state, 10, label(state)
end

function M.match_join_attempt(context, dispatcher, tick, state, presence, metadata)
    local is_back = seat_of(state, presence.user_id) ~= nil
    if #state.players >= 2 and not is_back then return state, false, "two are playing already" end
    return state, true
end

function M.match_join(context, dispatcher, tick, state, presences)
    for _, presence in ipairs(presences) do
        -- A player who comes back has the same user id, and another session id.
        local index = seat_of(state, presence.user_id) or #state.players + 1
        state.players[index] = {
            user_id = presence.user_id, username = presence.username, session_id = presence.session_id,
        }
    end
    dispatcher.match_label_update(label(state))
    show(state, dispatcher)
    return state
end

function M.match_leave(context, dispatcher, tick, state, presences)
    for _, presence in ipairs(presences) do
        local index, player = seat_of(state, presence.user_id)
        -- The session of a player who is back already may be seen to go later.
        if player and player.session_id == presence.session_id and not state.over then
            if presence.reason == CONNECTION_LOST then player.lost_at = tick else give_up(state, index) end
        end
    end
    show(state, dispatcher)
    return state
end

function M.match_loop(context, dispatcher, tick, state, messages)
    for _, message in ipairs(messages) do
        local cell = message.op_code == MOVE and cell_of(state, message)
        local player = state.players[state.turn]
        if state.over or #state.players < 2 or player.user_id ~= message.sender.user_id then
            dispatcher.broadcast_message(REFUSED, "it is not your turn", { message.sender })
        elseif not cell then
            dispatcher.broadcast_message(REFUSED, "that cell is not free", { message.sender })
        else
            state.board[cell], state.moves = state.turn, state.moves + 1
            state.winner = winner(state.board) or 0
            state.over = state.winner ~= 0 or state.moves == 9
            if state.winner ~= 0 then nk.wallet_update(player.user_id, { wins = 1 }, {}, true) end
            state.turn = 3 - state.turn
            show(state, dispatcher)
        end
    end
    for index, player in ipairs(state.players) do
        if player.lost_at and tick - player.lost_at > GRACE_TICKS and not state.over then
            give_up(state, index)
            show(state, dispatcher)
        end
    end
    if state.over then return nil end -- ends the match
    return state
end

function M.match_signal(context, dispatcher, tick, state, data)
    return state, data
end

function M.match_terminate(context, dispatcher, tick, state, grace_seconds)
    return state
end

return M
