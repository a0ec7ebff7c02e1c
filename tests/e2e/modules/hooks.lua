-- Hooks for hooks.test.mjs. Other tests load them too, so each hook changes only requests that are marked for it.
local nk = require("nakama")

nk.register_req_before(function(context, payload)
    if payload.display_name == "rude" then
        error({ "be kind", 3 })
    end
    if payload.display_name == "typo" then
        return { dispay_name = "typo" }
    end
    payload.display_name = payload.display_name and payload.display_name .. " of " .. context.username
    return payload
end, "UpdateAccount")

nk.register_req_before(function()
    return nil
end, "ListNotifications")

-- Gives a new player a gift, as most games do.
nk.register_req_after(function(context, output, input)
    if output.created and input.account.vars and input.account.vars.gift then
        nk.wallet_update(context.user_id, { gold = tonumber(input.account.vars.gift) })
    end
end, "AuthenticateDevice")

nk.register_req_after(function()
    error("what comes after changes nothing")
end, "GetAccount")

nk.register_rt_before(function(_, envelope)
    local message = envelope.channel_message_send
    local text = nk.json_decode(message.content).text
    if text == "spam" then
        return nil
    elseif text == "rude" then
        error({ "be kind", 3 })
    end
    message.content = nk.json_encode({ text = text .. "!" })
    return envelope
end, "ChannelMessageSend")

nk.register_rt_after(function(context, output, input)
    local value = {
        channel = output.channel.id,
        target = input.channel_join.target,
        lang = context.lang,
        session = context.session_id,
    }
    nk.storage_write({ { collection = "hooks", key = "joined", user_id = context.user_id, value = value } })
end, "ChannelJoin")

nk.register_rpc(function(context)
    local found = nk.storage_read({ { collection = "hooks", key = "joined", user_id = context.user_id } })
    return nk.json_encode(found[1].value)
end, "joined")

nk.register_shutdown(function(context, grace)
    nk.logger_info("farewell within " .. grace .. " seconds")
end)
