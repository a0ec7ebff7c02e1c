-- What functions.test.mjs calls.
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
