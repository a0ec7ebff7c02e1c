-- The durable match of `muster-bench failover`: it adds up the numbers of its players, pays for every tenth, and answers each
-- with the sum so far. A player repeats a number until it is answered; the match takes each number once.
local nk = require("nakama")

local EVERY = 10

local M = { durable = true }

function M.match_init(_, params)
    return { phase = params.phase, here = 0, of = {} }, 10, "bench_failover"
end

function M.match_join_attempt(_, _, _, state)
    return state, true
end

function M.match_join(_, _, _, state, presences)
    state.here += #presences
    return state
end

function M.match_leave(_, _, _, state, presences)
    state.here -= #presences
    return if state.here > 0 then state else nil
end

function M.match_loop(_, dispatcher, _, state, messages)
    for _, message in messages do
        local user = message.sender.user_id
        local input = nk.json_decode(message.data)
        local has = state.of[user] or { number = 0, count = 0, sum = 0, paid = 0, steps = 0, sent = 0, again = 0 }
        state.of[user] = has
        -- The player numbers its messages too: none may come twice.
        if input.sent <= has.sent then
            has.again += 1
        else
            has.sent = input.sent
        end
        if input.number == has.number + 1 then
            has.number = input.number
            has.count += 1
            has.sum += input.number
            if (input.number + state.phase) % EVERY == 0 then
                nk.wallet_update(user, { coins = input.number }, {}, true)
                has.paid += input.number
                has.steps += 1
            end
        end
        dispatcher.broadcast_message(message.op_code, nk.json_encode(has), { message.sender }, message.sender)
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
