-- What players call before they play: a gift of chips, once, and a table.
local nk = require("nakama")

local GIFT = 1000

-- The note that the gift was given and the gift are one step: however often this is called, and whatever dies meanwhile.
nk.register_rpc(function(context, payload)
    local note = { collection = "highcard", key = "welcome", user_id = context.user_id, permission_write = 0 }
    if #nk.storage_read({ note }) == 0 then
        note.value, note.version = { chips = GIFT }, "*" -- it must not be there yet
        nk.multi_update({}, { note }, {}, { { user_id = context.user_id, changeset = { chips = GIFT } } }, true)
    end
    return nk.json_encode({ chips = GIFT })
end, "welcome")

nk.register_rpc(function(context, payload)
    local open = nk.match_list(1, true, nil, 0, 100, "+label.game:highcard +label.open:>0")
    local id = open[1] and open[1].match_id or nk.match_create("highcard", {})
    return nk.json_encode({ match_id = id })
end, "find_table")

-- For who checks that no chip is lost.
nk.register_rpc(function(context, payload)
    return nk.match_signal(nk.json_decode(payload).match_id, "count")
end, "count_table")
