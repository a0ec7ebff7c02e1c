-- What `muster-bench rpc-lua` calls: reads its payload and writes it again.
local nk = require("nakama")

nk.register_rpc(function(_, payload)
    return nk.json_encode(nk.json_decode(payload))
end, "bench_lua")
