-- A durable match, which outlives its process: a table at which chips are dealt by chance and paid into a wallet.

local nk = require("nakama")

local SAID, STATE = 1, 2

local M = { durable = true }

function M.match_init(context, params)
  local deck = {}
  for card = 1, 52 do deck[card] = card end
  for card = 52, 2, -1 do
    local other = math.random(card)
    deck[card], deck[other] = deck[other], deck[card]
  end
  return { deck = deck, said = {}, turns = 0, here = {} }, 20, "table"
end

function M.match_join_attempt(context, dispatcher, tick, state, presence, metadata)
  return state, true
end

function M.match_join(context, dispatcher, tick, state, presences)
  for _, presence in ipairs(presences) do state.here[presence.user_id] = tick end
  return state
end

function M.match_leave(context, dispatcher, tick, state, presences)
  for _, presence in ipairs(presences) do state.here[presence.user_id] = nil end
  return state
end

function M.match_loop(context, dispatcher, tick, state, messages)
  for _, message in ipairs(messages) do
    local who = message.sender.user_id
    state.turns = state.turns + 1
    state.said[who] = (state.said[who] or "") .. message.data
    if message.data == "p" then
      nk.wallet_update(who, { chips = state.deck[1] }, { turn = state.turns }, true)
    end
    dispatcher.broadcast_message(STATE, nk.json_encode({ turns = state.turns, by = who, said = state.said[who], node = context.node }))
  end
  return state
end

function M.match_timer(context, dispatcher, tick, state, name, data)
  dispatcher.broadcast_message(STATE, nk.json_encode({ timer = name, data = data }))
  return state
end

function M.match_terminate(context, dispatcher, tick, state, grace_seconds) return state end

function M.match_signal(context, dispatcher, tick, state, data)
  if data == "timer" then dispatcher.set_timer("bell", 4000, "rings") end
  return state, nk.json_encode({ deck = state.deck, said = state.said, turns = state.turns, here = state.here, tick = tick, node = context.node })
end

nk.register_rpc(function(context, payload)
  return nk.json_encode({ id = nk.match_create("table", {}) })
end, "table_create")

nk.register_rpc(function(context, payload)
  local asked = nk.json_decode(payload)
  return nk.match_signal(asked.id, asked.data or "look")
end, "table_look")

return M
