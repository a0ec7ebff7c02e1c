-- The function of `muster-bench rpc-lua`: parses its payload and serialises it again.
local nk = require("nakama")

nk.register_rpc(function(_, payload)
    return nk.json_encode(nk.json_decode(payload))
end, "bench_lua")

-- The first call of players in `muster-bench match`: answers a match of this run with a free seat, or a new one.
nk.register_rpc(function(_, payload)
    local asked = nk.json_decode(payload)
    local found = nk.match_list(1, true, nil, 0, asked.seats - 1, "+label.open:1 +label.run:" .. asked.run)
    local module = if asked.durable then "bench_match_durable" else "bench_match"
    local id = if found[1] then found[1].match_id else nk.match_create(module, asked)
    return nk.json_encode({ match_id = id })
end, "bench_find_match")

-- The function of `muster-bench ticks`: makes matches.
nk.register_rpc(function(_, payload)
    local asked = nk.json_decode(payload)
    for _ = 1, asked.count do
        nk.match_create("bench_ticks", asked)
    end
    return payload
end, "bench_make_ticks")

-- The first call of `muster-bench failover`: makes a match on the node that is called.
nk.register_rpc(function(_, payload)
    return nk.json_encode({ match_id = nk.match_create("bench_failover", nk.json_decode(payload)) })
end, "bench_make_failover")

-- The last call of each player in `muster-bench failover`: answers the content of its wallet, and the sum and number of the
-- ledger's items.
nk.register_rpc(function(context)
    local coins, steps, cursor = 0, 0, nil
    repeat
        local items
        items, cursor = nk.wallet_ledger_list(context.user_id, 100, cursor)
        for _, item in items do
            coins += item.changeset.coins
            steps += 1
        end
    until cursor == nil or cursor == ""
    local wallet = nk.account_get_id(context.user_id).wallet
    local kept = if type(wallet) == "string" then nk.json_decode(wallet) else wallet
    return nk.json_encode({ coins = kept.coins or 0, ledger_coins = coins, ledger_steps = steps })
end, "bench_failover_purse")

-- The function of `muster-bench rpc-lua --waits-for URL --one-by-one`.
nk.register_rpc(function(_, payload)
    nk.http_request(nk.json_decode(payload).url, "get")
    return payload
end, "bench_wait_lua_one_by_one")
