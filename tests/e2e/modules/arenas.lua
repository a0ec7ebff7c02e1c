-- Functions by which lua-matches.test.mjs creates, signals and lists matches of arena.lua and seats.lua.
local nk = require("nakama")

nk.register_rpc(function(_, payload)
    return nk.json_encode({ id = nk.match_create("arena", nk.json_decode(payload)) })
end, "arena_create")

nk.register_rpc(function(_, payload)
    return nk.json_encode({ id = nk.match_create(nk.json_decode(payload).handler) })
end, "seats_create")

nk.register_rpc(function(_, payload)
    local asked = nk.json_decode(payload)
    return nk.json_encode({ said = nk.match_signal(asked.id, asked.data), match = nk.match_get(asked.id) })
end, "arena_signal")

nk.register_rpc(function(_, payload)
    return nk.json_encode(nk.match_list(10, true, nil, 0, 100, nk.json_decode(payload).query))
end, "arena_list")
