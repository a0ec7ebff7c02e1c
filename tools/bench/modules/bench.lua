-- What `muster-bench rpc-lua` calls: reads its payload and writes it again.
local nk = require("nakama")

nk.register_rpc(function(_, payload)
    return nk.json_encode(nk.json_decode(payload))
end, "bench_lua")

-- What `muster-bench match` calls first: a match of its run with a free seat, or a new one.
nk.register_rpc(function(_, payload)
    local asked = nk.json_decode(payload)
    local found = nk.match_list(1, true, nil, 0, asked.seats - 1, "+label.open:1 +label.run:" .. asked.run)
    local id = if found[1] then found[1].match_id else nk.match_create("bench_match", asked)
    return nk.json_encode({ match_id = id })
end, "bench_find_match")

-- What `muster-bench ticks` calls: makes so many matches.
nk.register_rpc(function(_, payload)
    local asked = nk.json_decode(payload)
    for _ = 1, asked.count do
        nk.match_create("bench_ticks", asked)
    end
    return payload
end, "bench_make_ticks")

-- What `muster-bench rpc-lua --waits-for URL` calls.
nk.register_rpc(function(_, payload)
    nk.http_request(nk.json_decode(payload).url, "get")
    return payload
end, "bench_wait")
