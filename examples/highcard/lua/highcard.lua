-- High card, for chips: each player is dealt one card that nobody else sees, and stays or folds. The highest card wins.
--
-- The table is durable: cards, chips and whose seat is whose survive a killed server, and no chip is paid twice.
local nk = require("nakama")

local SIT, STAY, FOLD, STAND = 1, 2, 3, 4 -- what players send
local TABLE, CARD, SHOWN, REFUSED = 10, 11, 12, 13 -- what they are told

local SEATS, ANTE, BET, BUY_IN_MAX = 4, 10, 20, 200
local TICKS = 10 -- a second
local PAUSE, CHOICE, AWAY, IDLE = 5, 5 * TICKS, 60 * TICKS, 10 * TICKS -- ticks

local M = { durable = true }

local function label(state)
    return nk.json_encode({ game = "highcard", open = SEATS - #state.seats })
end

local function seat_of(state, user_id)
    for index, seat in ipairs(state.seats) do
        if seat.user_id == user_id then return seat, index end
    end
end

local function is_here(state, user_id)
    for _, presence in pairs(state.here) do
        if presence.user_id == user_id then return true end
    end
    return false
end

-- All that everybody may know: no card.
local function show(state, dispatcher, to)
    local seats = {}
    for index, seat in ipairs(state.seats) do
        seats[index] = {
            user_id = seat.user_id, name = seat.name, chips = seat.chips, bet = seat.bet,
            playing = seat.card ~= nil, chosen = seat.choice ~= nil, here = is_here(state, seat.user_id),
        }
    end
    dispatcher.broadcast_message(TABLE, nk.json_encode({ hand = state.hand, phase = state.phase, seats = seats }), to)
end

-- A card is for the eyes of one player, wherever that player looks from.
local function show_card(state, dispatcher, seat)
    local eyes = {}
    for _, presence in pairs(state.here) do
        if presence.user_id == seat.user_id then table.insert(eyes, presence) end
    end
    if seat.card and #eyes > 0 then
        dispatcher.broadcast_message(CARD, nk.json_encode({ hand = state.hand, card = seat.card }), eyes)
    end
end

local function stake(seat, chips)
    seat.chips, seat.bet = seat.chips - chips, seat.bet + chips
end

-- Chips come out of a wallet and go back into it in the same step that changes the table. A wallet that has too few refuses.
local function pay(user_id, chips, why)
    return pcall(nk.wallet_update, user_id, { chips = chips }, { table = why }, true)
end

local function deal(state, dispatcher, tick)
    local deck, players = {}, {}
    for rank = 2, 14 do
        for suit = 1, 4 do table.insert(deck, { rank = rank, suit = suit }) end
    end
    for _, seat in ipairs(state.seats) do
        if seat.chips >= ANTE + BET and not seat.leaving and is_here(state, seat.user_id) then table.insert(players, seat) end
    end
    if #players < 2 then return end
    state.hand, state.phase, state.due = state.hand + 1, "choice", tick + CHOICE
    for _, seat in ipairs(players) do
        seat.card = table.remove(deck, math.random(#deck))
        stake(seat, ANTE)
        show_card(state, dispatcher, seat)
    end
    show(state, dispatcher)
end

local function stand_up(state, dispatcher, seat, index)
    if seat.chips > 0 and not pay(seat.user_id, seat.chips, "stands up") then return end
    table.remove(state.seats, index)
    dispatcher.match_label_update(label(state))
end

local function show_down(state, dispatcher, tick)
    local winner, pot, shown = nil, 0, {}
    for _, seat in ipairs(state.seats) do
        pot = pot + seat.bet
        if seat.choice == "stay" then
            table.insert(shown, { user_id = seat.user_id, card = seat.card })
            local best = winner and winner.card
            local is_higher = not best or seat.card.rank > best.rank or (seat.card.rank == best.rank and seat.card.suit > best.suit)
            if is_higher then winner = seat end
        end
    end
    for _, seat in ipairs(state.seats) do
        if not winner then seat.chips = seat.chips + seat.bet end -- nobody stayed: all take back what they staked
        seat.bet, seat.card, seat.choice = 0, nil, nil
    end
    if winner then winner.chips = winner.chips + pot end
    state.phase, state.due = "pause", tick + PAUSE
    local won = { hand = state.hand, winner = winner and winner.user_id, pot = pot, shown = shown }
    dispatcher.broadcast_message(SHOWN, nk.json_encode(won))
end

local function has_everybody_chosen(state)
    for _, seat in ipairs(state.seats) do
        if seat.card and not seat.choice then return false end
    end
    return true
end

local orders = {}

orders[SIT] = function(state, dispatcher, seat, message)
    local ok, asked = pcall(nk.json_decode, message.data)
    local chips = ok and type(asked) == "table" and asked.chips
    if seat then return "you have a seat" end
    if #state.seats >= SEATS then return "no seat is free" end
    if type(chips) ~= "number" or chips ~= math.floor(chips) or chips < ANTE + BET or chips > BUY_IN_MAX then
        return "bring more chips, or fewer"
    end
    local who = message.sender
    if not pay(who.user_id, -chips, "sits down") then return "you have too few chips" end
    table.insert(state.seats, { user_id = who.user_id, name = who.username, chips = chips, bet = 0 })
    dispatcher.match_label_update(label(state))
end

orders[STAND] = function(state, dispatcher, seat)
    if not seat then return "you have no seat" end
    seat.leaving = true
    if seat.card then seat.choice = seat.choice or "fold" end
end

local function choose(choice)
    return function(state, dispatcher, seat)
        if not seat or not seat.card or seat.choice then return "there is nothing to choose" end
        if choice == "stay" then stake(seat, BET) end
        seat.choice = choice
    end
end

orders[STAY], orders[FOLD] = choose("stay"), choose("fold")

function M.match_init(context, params)
    local state = { seats = {}, here = {}, hand = 0, phase = "pause", due = 0, idle = 0 }
    return state, TICKS, label(state)
end

function M.match_join_attempt(context, dispatcher, tick, state, presence, metadata)
    return state, true -- whoever wants may watch
end

function M.match_join(context, dispatcher, tick, state, presences)
    for _, presence in ipairs(presences) do
        state.here[presence.session_id] = presence
        local seat = seat_of(state, presence.user_id)
        if seat then
            seat.away_since = nil
            show_card(state, dispatcher, seat)
        end
    end
    show(state, dispatcher)
    return state
end

-- A seat is kept for a minute: also for those whose server died.
function M.match_leave(context, dispatcher, tick, state, presences)
    for _, presence in ipairs(presences) do
        state.here[presence.session_id] = nil
        local seat = seat_of(state, presence.user_id)
        if seat and not is_here(state, presence.user_id) then seat.away_since = tick end
    end
    show(state, dispatcher)
    return state
end

function M.match_loop(context, dispatcher, tick, state, messages)
    local has_changed = #messages > 0
    for _, message in ipairs(messages) do
        local order = orders[message.op_code]
        local refused = order and order(state, dispatcher, seat_of(state, message.sender.user_id), message)
        if refused then dispatcher.broadcast_message(REFUSED, refused, { message.sender }) end
    end
    for _, seat in ipairs(state.seats) do
        if seat.away_since and tick - seat.away_since > AWAY then seat.leaving = true end
    end
    if state.phase == "choice" and (tick >= state.due or has_everybody_chosen(state)) then
        show_down(state, dispatcher, tick)
        has_changed = true
    end
    for index = #state.seats, 1, -1 do
        local seat = state.seats[index]
        if seat.leaving and not seat.card then
            stand_up(state, dispatcher, seat, index)
            has_changed = true
        end
    end
    if has_changed then show(state, dispatcher) end
    if state.phase == "pause" and tick >= state.due then deal(state, dispatcher, tick) end
    local is_empty = #state.seats == 0 and next(state.here) == nil
    state.idle = is_empty and state.idle + 1 or 0
    if state.idle > IDLE then return nil end -- ends the match
    return state
end

-- How many chips lie here, for who checks that none is lost.
function M.match_signal(context, dispatcher, tick, state, data)
    local chips = 0
    for _, seat in ipairs(state.seats) do chips = chips + seat.chips + seat.bet end
    return state, nk.json_encode({ chips = chips, hand = state.hand, seats = #state.seats, node = context.node })
end

function M.match_terminate(context, dispatcher, tick, state, grace_seconds)
    return state
end

return M
