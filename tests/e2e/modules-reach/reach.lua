-- Functions for reach.test.mjs: one calls any host function, the others do what games do with them.
local nk = require("nakama")

nk.register_rpc(function(_, payload)
    local asked = nk.json_decode(payload)
    local given = asked.arguments
    local first, second = nk[asked.call](given[1], given[2], given[3], given[4], given[5], given[6])
    return nk.json_encode({ first = first, second = second })
end, "run")

-- Seats the caller at a table, as a game without matches would: a stream with the table's name as label.
nk.register_rpc(function(context, payload)
    local stream = { mode = 123, label = payload }
    local is_new = nk.stream_user_join(context.user_id, context.session_id, stream, false, false, "seated")
    return nk.json_encode({ is_new = is_new, count = nk.stream_count(stream) })
end, "sit")

-- Sends more messages at once than may be under way between shards and nodes.
nk.register_rpc(function(_, payload)
    local asked = nk.json_decode(payload)
    for number = 1, asked.count do
        nk.stream_send(asked.stream, tostring(number))
    end
end, "flood")
