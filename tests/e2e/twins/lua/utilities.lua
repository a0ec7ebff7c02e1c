-- Twin of javascript/utilities.js: functions that answer by themselves, as a game would call them.
local nk = require("nakama")
local rpc = require("rpc")

-- Once in the life of the server, whatever the number of machines.
nk.run_once(function(context)
    nk.storage_write({ { collection = "once", key = "mode", value = { mode = context.execution_mode } } })
end)

rpc("once", function()
    local found = nk.storage_read({ { collection = "once", key = "mode" } })
    return { count = #found, version = #found[1].version }
end)

rpc("digests", function(asked)
    return {
        md5 = nk.md5_hash(asked.text),
        sha256 = nk.sha256_hash(asked.text),
        hmac = nk.base16_encode(nk.hmac_sha256_hash(asked.text, asked.key)),
    }
end)

rpc("encodings", function(asked)
    local hex, plain = nk.base16_encode(asked.text), nk.base64_encode(asked.text)
    local bare, url = nk.base64_encode(asked.text, false), nk.base64url_encode(asked.text)
    return {
        hex = hex,
        plain = plain,
        bare = bare,
        url = url,
        back = {
            nk.base16_decode(hex),
            nk.base64_decode(plain),
            nk.base64_decode(bare),
            nk.base64url_decode(url),
        },
    }
end)

rpc("ciphers", function(asked)
    local short, long = nk.aes128_encrypt(asked.text, asked.key16), nk.aes256_encrypt(asked.text, asked.key32)
    return {
        -- 16 random bytes go before what is as long as the text.
        lengths = { #short, #long },
        back = { nk.aes128_decrypt(short, asked.key16), nk.aes256_decrypt(long, asked.key32) },
    }
end)

rpc("web_token", function(asked)
    return { token = nk.jwt_generate("HS256", asked.key, { claim = asked.claim }) }
end)

rpc("signed_token", function(asked)
    return { token = nk.jwt_generate("RS256", asked.key, { claim = asked.claim }) }
end)

rpc("passwords", function(asked)
    local hash = nk.bcrypt_hash(asked.text)
    return {
        begins = hash:sub(1, 4),
        right = nk.bcrypt_compare(hash, asked.text),
        wrong = nk.bcrypt_compare(hash, asked.text .. "?"),
    }
end)

rpc("chance", function(asked)
    local one, other = nk.uuid_v4(), nk.uuid_v4()
    return { bytes = #nk.secure_random_bytes(asked.count), length = #one, differ = one ~= other }
end)

rpc("crons", function(asked)
    return { next = nk.cron_next(asked.expression, asked.at), prev = nk.cron_prev(asked.expression, asked.at) }
end)

rpc("json", function(asked)
    local text = nk.json_encode(asked.value)
    return { value = nk.json_decode(text), number = asked.value.number + 1, length = #asked.value.list }
end)

rpc("clock", function(asked)
    return { is_near = math.abs(nk.time() - asked.now) < 3600000 }
end)

rpc("cache", function(asked)
    local before = nk.localcache_get(asked.key, "none")
    nk.localcache_put(asked.key, asked.value, 60)
    local there = nk.localcache_get(asked.key)
    nk.localcache_delete(asked.key)
    local gone = nk.localcache_get(asked.key)
    nk.localcache_put(asked.key, "again")
    nk.localcache_clear()
    return { before = before, there = there, is_gone = gone == nil, cleared = nk.localcache_get(asked.key, "cleared") }
end)

rpc("sql", function(asked)
    local changed = nk.sql_exec("UPDATE users SET location = $1 WHERE username = $2", { asked.place, asked.name })
    local rows = nk.sql_query("SELECT username, location FROM users WHERE username = $1", { asked.name })
    return { changed = changed, rows = rows }
end)

rpc("metrics", function(asked)
    nk.metrics_counter_add("twins_counter", { language = "any" }, asked.amount)
    nk.metrics_gauge_set("twins_gauge", {}, asked.amount)
    nk.metrics_timer_record("twins_timer", {}, asked.amount)
    nk.event("twins", { amount = tostring(asked.amount) })
    return { done = true }
end)

rpc("http", function(asked)
    local code, headers, body = nk.http_request(asked.url, asked.method, asked.headers, asked.body, 5000)
    return { code = code, header = headers["X-Answer"], body = body }
end)

rpc("file", function(asked)
    return { text = nk.file_read(asked.path) }
end)

rpc("context", function(_, context)
    return {
        user_id = context.user_id,
        username = context.username,
        mode = context.execution_mode,
        game = context.env.GAME,
        mood = context.vars.mood,
        has_time = context.user_session_exp > 0,
        has_address = context.client_ip ~= nil,
    }
end)

rpc("config", function()
    local config = nk.get_config()
    return { name = config.name, has_times = config.session.token_expiry_sec > 0 }
end)

rpc("log", function(asked)
    nk.logger_debug(asked.text .. " d")
    nk.logger_info(asked.text .. " i")
    nk.logger_warn(asked.text .. " w")
    nk.logger_error(asked.text .. " e")
    return { done = true }
end)

rpc("refuse", function(asked)
    error({ asked.message, asked.code })
end)

rpc("caught", function(asked)
    local is_done = pcall(nk.storage_read, { { collection = "", key = asked.key } })
    return { is_refused = not is_done }
end)

-- Nothing, which clients see as no payload.
nk.register_rpc(function() end, "nothing")

nk.register_rpc(function(_, payload)
    return payload
end, "echo")
