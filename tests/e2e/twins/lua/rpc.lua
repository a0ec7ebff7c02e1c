-- How the other modules register functions that take and answer JSON.
local nk = require("nakama")

return function(id, run)
    nk.register_rpc(function(context, payload)
        return nk.json_encode(run(payload == "" and {} or nk.json_decode(payload), context))
    end, id)
end
