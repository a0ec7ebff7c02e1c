-- Twin of javascript/reach.js: functions that reach players who are connected, and matches.
local nk = require("nakama")
local rpc = require("rpc")

rpc("notify", function(asked)
    nk.notification_send(asked.id, "gift", { chips = 5 }, 10, nil, true)
    nk.notification_send(asked.id, "hint", { text = "now" }, 11, asked.sender, false)
    return { done = true }
end)

rpc("notifications", function(asked)
    nk.notifications_send({
        { user_id = asked.id, subject = "first", content = { n = 1 }, code = 21, persistent = true },
        { user_id = asked.id, subject = "second", content = { n = 2 }, code = 22, persistent = true },
    })
    local kept = nk.notifications_list(asked.id, 100)
    local last = kept[#kept]
    nk.notifications_update({ { id = last.id, subject = "changed", content = { n = 3 } } })
    local read = nk.notifications_get_id({ last.id }, asked.id)[1]
    nk.notifications_delete_id({ last.id }, asked.id)
    nk.notifications_delete({ { user_id = asked.id, notification_id = kept[1].id } })
    return {
        subjects = { kept[1].subject, kept[2].subject, kept[3].subject },
        codes = { kept[1].code, kept[2].code, kept[3].code },
        read = read.subject,
        content = read.content,
        left = #nk.notifications_list(asked.id, 100),
    }
end)

rpc("notify_all", function(asked)
    nk.notification_send_all("all", { text = asked.text }, 30, false)
    return { done = true }
end)

rpc("chat", function(asked)
    local channel = nk.channel_id_build(asked.id, asked.room, 1)
    local said = nk.channel_message_send(channel, { text = "one" }, asked.id, asked.name, true)
    nk.channel_message_update(channel, said.messageId, { text = "two" }, asked.id, asked.name, true)
    local other = nk.channel_message_send(channel, { text = "gone" }, asked.id, asked.name, true)
    nk.channel_message_remove(channel, other.messageId, asked.id, asked.name, true)
    local messages = nk.channel_messages_list(channel, 10, true)
    local heard = {}
    for index, message in ipairs(messages) do
        heard[index] = { code = message.code, sender = message.senderId, name = message.username }
        heard[index].content = nk.json_decode(message.content)
    end
    return { channel = channel, heard = heard }
end)

rpc("stream_join", function(asked, context)
    local stream = { mode = 100, label = asked.label }
    local first = nk.stream_user_join(context.user_id, context.session_id, stream, false, false, "new")
    local again = nk.stream_user_join(context.user_id, context.session_id, stream, false, false, "new")
    nk.stream_user_update(context.user_id, context.session_id, stream, false, false, "old")
    local mine = nk.stream_user_get(context.user_id, context.session_id, stream)
    return { first = first, again = again, status = mine.status, name = mine.username, count = nk.stream_count(stream) }
end)

rpc("stream_talk", function(asked)
    local stream = { mode = 100, label = asked.label }
    local there = nk.stream_user_list(stream, true, true)
    nk.stream_send(stream, "to all")
    nk.stream_send(stream, "to one", { there[1] })
    nk.stream_send_raw(stream, { stream_data = { stream = stream, data = "raw" } })
    return { count = #there, name = there[1].username, hidden = there[1].hidden }
end)

rpc("stream_leave", function(asked, context)
    local stream = { mode = 100, label = asked.label }
    nk.stream_user_leave(context.user_id, context.session_id, stream)
    local left = nk.stream_count(stream)
    nk.stream_user_join(context.user_id, context.session_id, stream, true, false)
    local hidden = nk.stream_user_list(stream, true, false)
    nk.stream_user_kick(hidden[1], stream)
    local kicked = nk.stream_count(stream)
    nk.stream_user_join(context.user_id, context.session_id, stream, true, false)
    nk.stream_close(stream)
    return { left = left, hidden = #hidden, kicked = kicked, closed = nk.stream_count(stream) }
end)

rpc("status", function(asked, context)
    nk.status_follow(context.session_id, { asked.id })
    nk.status_unfollow(context.session_id, { asked.id })
    return { done = true }
end)

rpc("disconnect", function(asked, context)
    nk.session_disconnect(context.session_id)
    return { done = true }
end)

rpc("logout", function(asked)
    nk.session_logout(asked.id)
    return { done = true }
end)

rpc("parties", function()
    return { count = #nk.party_list(10) }
end)

rpc("match_make", function(asked)
    return { id = nk.match_create(asked.handler, asked.params) }
end)

rpc("match_find", function(asked)
    local found = nk.match_list(10, true, nil, 0, 10, asked.query)
    local labels = {}
    for index, match in ipairs(found) do
        labels[index] = { label = nk.json_decode(match.label), size = match.size }
    end
    return { labels = labels, is_same = found[1] ~= nil and nk.match_get(found[1].match_id).label == found[1].label }
end)

rpc("match_tell", function(asked)
    return { answer = nk.match_signal(asked.id, asked.data) }
end)

rpc("match_missing", function(asked)
    return { is_missing = nk.match_get(asked.id) == nil }
end)
