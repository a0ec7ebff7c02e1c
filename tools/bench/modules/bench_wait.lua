--!concurrent
-- The function of `muster-bench rpc-lua --waits-for URL`. While one call waits, others run in the same machine.
local nk = require("nakama")

nk.register_rpc(function(_, payload)
    nk.http_request(nk.json_decode(payload).url, "get")
    return payload
end, "bench_wait_lua")
