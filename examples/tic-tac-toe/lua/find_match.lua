-- What players call first: a match that waits for a second player, or a new one.
local nk = require("nakama")

nk.register_rpc(function(context, payload)
    local waiting = nk.match_list(1, true, nil, 0, 1, "+label.game:tic-tac-toe +label.open:1")
    local id = waiting[1] and waiting[1].match_id or nk.match_create("tictactoe", {})
    return nk.json_encode({ match_id = id })
end, "find_match")
