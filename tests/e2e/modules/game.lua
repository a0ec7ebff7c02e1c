-- Functions for functions.test.mjs.
local nk = require("nakama")

nk.register_rpc(function(_, payload)
    return payload
end, "echo")

nk.register_rpc(function(context)
    return nk.json_encode(context)
end, "context")

nk.register_rpc(function()
    error({ "no chips", 9 })
end, "refuse")

nk.register_rpc(function()
    while true do
    end
end, "endless")

-- Gives a prize once a day, as a game would.
nk.register_rpc(function(context, payload)
    local today = nk.json_decode(payload).day
    local id = { collection = "prizes", key = "daily", user_id = context.user_id }
    local seen = nk.storage_read({ id })[1]
    if seen and seen.value.day == today then
        error({ "come back tomorrow", 9 })
    end
    local wallet = nk.wallet_update(context.user_id, { gold = 10 }, { reason = "daily" }, true)
    id.value = { day = today }
    id.permission_read = 1
    id.permission_write = 0
    id.version = seen and seen.version or "*"
    nk.storage_write({ id })
    return nk.json_encode({ gold = wallet.gold })
end, "prize")
