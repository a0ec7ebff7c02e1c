-- Twin of javascript/data.js: accounts, objects, wallets and what is changed together.
local nk = require("nakama")
local rpc = require("rpc")

rpc("account_change", function(asked)
    nk.account_update_id(
        asked.id,
        { level = 7 },
        nil,
        "The Great",
        "Europe/Berlin",
        "Berlin",
        "de",
        "https://example.com/a.png"
    )
    return nk.account_get_id(asked.id)
end)

rpc("accounts_read", function(asked)
    local names = {}
    for index, account in ipairs(nk.accounts_get_id(asked.ids)) do
        names[index] = account.user.username
    end
    table.sort(names)
    return { names = names, by_id = #nk.users_get_id(asked.ids), by_name = nk.users_get_username(asked.names)[1] }
end)

rpc("account_export", function(asked)
    return { is_text = #nk.account_export_id(asked.id) > 0 }
end)

rpc("users_random", function(asked)
    return { count = #nk.users_get_random(asked.count) }
end)

rpc("account_delete", function(asked)
    local id = nk.authenticate_custom(asked.custom, asked.name, true)
    nk.account_delete_id(id, false)
    return { left = #nk.users_get_id({ id }) }
end)

rpc("sign_in", function(asked)
    local id, name, created = nk.authenticate_custom(asked.custom, asked.name, true)
    local same, _, again = nk.authenticate_custom(asked.custom, "", false)
    local _, device = nk.authenticate_device(asked.device, asked.device_name, true)
    local _, mail = nk.authenticate_email(asked.email, asked.password, asked.email_name, true)
    return { name = name, created = created, is_same = same == id, again = again, device = device, mail = mail }
end)

rpc("sign_in_wrong", function(asked)
    return { id = nk.authenticate_email(asked.email, "not this one", "", false) }
end)

rpc("session_token", function(asked)
    local token, expires_at = nk.authenticate_token_generate(asked.id, asked.name, asked.expires_at, { mood = "glad" })
    return { token = token, exp = expires_at }
end)

rpc("links", function(asked)
    nk.link_custom(asked.id, asked.custom)
    nk.link_device(asked.id, asked.device)
    nk.link_device(asked.id, asked.device .. "-other")
    nk.link_email(asked.id, asked.email, asked.password)
    local linked = nk.account_get_id(asked.id)
    nk.unlink_custom(asked.id, asked.custom)
    nk.unlink_device(asked.id, asked.device .. "-other")
    nk.unlink_email(asked.id, asked.email)
    local left = nk.account_get_id(asked.id)
    -- The last way to sign in stays.
    local is_done = pcall(nk.unlink_device, asked.id, asked.device)
    return {
        is_last = not is_done,
        custom = linked.custom_id,
        email = linked.email,
        devices = #linked.devices,
        has_custom = left.custom_id ~= nil,
        has_email = left.email ~= nil,
        left = #left.devices,
    }
end)

rpc("bans", function(asked)
    nk.users_ban_id({ asked.id })
    local banned = nk.account_get_id(asked.id).disable_time
    nk.users_unban_id({ asked.id })
    local pardoned = nk.account_get_id(asked.id).disable_time
    return { is_banned = (banned or 0) > 0, is_pardoned = (pardoned or 0) == 0 }
end)

rpc("storage_write", function(asked)
    return { acks = nk.storage_write(asked.objects) }
end)

rpc("storage_read", function(asked)
    return { objects = nk.storage_read(asked.ids) }
end)

rpc("storage_pages", function(asked)
    local keys, pages, cursor = {}, 0, nil
    repeat
        local objects
        objects, cursor = nk.storage_list(asked.id, asked.collection, asked.limit, cursor)
        pages = pages + 1
        for _, object in ipairs(objects) do
            table.insert(keys, object.key)
        end
    until cursor == nil or cursor == ""
    return { keys = keys, pages = pages }
end)

rpc("storage_delete", function(asked)
    nk.storage_delete(asked.ids)
    return { left = #nk.storage_read(asked.ids) }
end)

-- Written twice with the version of the first time, which is not the present one then.
rpc("storage_race", function(asked)
    local object = { collection = asked.collection, key = asked.key, value = { round = 1 } }
    object.version = nk.storage_write({ object })[1].version
    object.value = { round = 2 }
    nk.storage_write({ object })
    object.value = { round = 3 }
    local is_done = pcall(nk.storage_write, { object })
    return { is_late = not is_done, round = nk.storage_read({ object })[1].value.round }
end)

rpc("wallet", function(asked)
    local updated, previous = nk.wallet_update(asked.id, asked.changes, { reason = "gift" }, true)
    return { updated = updated, previous = previous }
end)

rpc("wallets", function(asked)
    local updates = {}
    for index, id in ipairs(asked.ids) do
        updates[index] = { user_id = id, changeset = asked.changes, metadata = { reason = "round" } }
    end
    return { changed = nk.wallets_update(updates, true) }
end)

rpc("ledger", function(asked)
    local amounts, pages, cursor = {}, 0, nil
    repeat
        local items
        items, cursor = nk.wallet_ledger_list(asked.id, asked.limit, cursor)
        pages = pages + 1
        for _, item in ipairs(items) do
            table.insert(amounts, { change = item.changeset, why = item.metadata })
        end
    until cursor == nil or cursor == ""
    return { amounts = amounts, pages = pages }
end)

rpc("ledger_note", function(asked)
    local item = nk.wallet_ledger_list(asked.id, 1)[1]
    return { noted = nk.wallet_ledger_update(item.id, { note = asked.note }).metadata }
end)

rpc("multi", function(asked)
    local acks, wallets = nk.multi_update(
        { { user_id = asked.id, metadata = { level = 8 }, display_name = "Multi" } },
        { { collection = "multi", key = "one", user_id = asked.id, value = { kept = true } } },
        {},
        { { user_id = asked.id, changeset = { gems = 3 }, metadata = {} } },
        true
    )
    return { acks = acks, wallets = wallets, name = nk.account_get_id(asked.id).user.display_name }
end)

-- All or nothing: there are not so many gems.
rpc("multi_refused", function(asked)
    local is_done = pcall(
        nk.multi_update,
        {},
        { { collection = "multi", key = "two", user_id = asked.id, value = {} } },
        { { collection = "multi", key = "one", user_id = asked.id } },
        { { user_id = asked.id, changeset = { gems = -1000 } } },
        true
    )
    local left = nk.storage_list(asked.id, "multi", 10)
    return { is_refused = not is_done, keys = #left, key = left[1].key }
end)
