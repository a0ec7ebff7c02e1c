-- Chooses the match of players whom the matchmaker has matched, by the first player's property "goes".
local nk = require("nakama")

nk.register_matchmaker_matched(function(context, players)
    local properties = players[1].properties
    if properties.goes == "nowhere" then
        error("nowhere to go")
    end
    if properties.goes ~= "to an arena" then
        return nil
    end
    local ranks = 0
    for _, player in ipairs(players) do
        assert(#player.presence.user_id == 36 and #player.presence.session_id == 36 and player.party_id == nil)
        ranks = ranks + player.properties.rank
    end
    return nk.match_create("arena", { greeting = context.execution_mode .. " " .. ranks })
end)
