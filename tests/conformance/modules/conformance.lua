-- One function that calls any function of the server, or a probe of `probes.lua`, and tells what came of it.

local nk = require("nakama")
local probes = require("probes")

local function from_hex(text)
  return (text:gsub("%x%x", function(digits) return string.char(tonumber(digits, 16)) end))
end

local function to_hex(bytes)
  return (bytes:gsub(".", function(byte) return string.format("%02x", byte:byte()) end))
end

local function is_text(bytes)
  local rest = bytes:gsub("[\1-\127]", ""):gsub("[\194-\244][\128-\191]+", "")
  return rest == ""
end

-- JSON of a value; texts stand for what has none.
local function shown(value)
  local kind = type(value)
  if kind == "nil" then
    return '"(nil)"'
  elseif kind == "function" or kind == "userdata" then
    return '"(' .. kind .. ')"'
  elseif kind == "string" and not is_text(value) then
    return '"(bytes) ' .. to_hex(value) .. '"'
  elseif kind == "number" and (value ~= value or value == math.huge or value == -math.huge) then
    return '"(number)"'
  end
  local ok, text = pcall(nk.json_encode, { v = value })
  if not ok then
    return '"(no JSON)"'
  end
  return text:match('^{"v":(.*)}$') or '"(left out)"'
end

local function conformance(context, payload)
  local request = nk.json_decode(payload)
  local arguments, count = {}, 0
  for index, argument in ipairs(request.arguments) do
    count = index
    arguments[index] = argument.value
    if argument.bytes ~= nil then
      arguments[index] = from_hex(argument.bytes)
    end
  end
  local name = request["function"]
  local probe = name:match("^probe:(.*)$")
  local run = nk[name]
  if probe then
    run = probes[probe]
  end
  if run == nil then
    return '{"missing":"' .. name .. '"}'
  end
  local function told(ok, ...)
    if not ok then
      return '{"error":' .. shown((...)) .. "}"
    end
    local texts = {}
    for index = 1, select("#", ...) do
      texts[index] = shown((select(index, ...)))
    end
    return '{"results":[' .. table.concat(texts, ",") .. "]}"
  end
  if probe then
    return told(pcall(run, context, unpack(arguments, 1, count)))
  end
  return told(pcall(run, unpack(arguments, 1, count)))
end

nk.register_rpc(conformance, "conformance_lua")

nk.register_rpc(function(context, payload)
  return payload
end, "echo_lua")

nk.register_rpc(function(context, payload) end, "nothing_lua")

-- The context, with a fixed text for what differs from call to call.
local function context_of(context)
  local told = {}
  for name, value in pairs(context) do
    told[name] = value
  end
  for _, name in ipairs({ "client_ip", "client_port", "node", "version", "user_session_exp", "trace_id" }) do
    told[name] = told[name] and type(told[name])
  end
  told.env = told.env and told.env.GAME
  if told.headers then
    told.headers = { mine = told.headers["X-Mine"], kind = type(told.headers) }
  end
  return nk.json_encode(told)
end

nk.register_rpc(function(context, payload)
  return context_of(context)
end, "context_lua")

nk.register_rpc(function(context, payload)
  local names = {}
  for name in pairs(context) do
    names[#names + 1] = name
  end
  table.sort(names)
  return table.concat(names, " ")
end, "context_keys_lua")

local failing = {
  error_text = function()
    error("boom")
  end,
  error_table = function()
    error({ message = "boom", code = 9 })
  end,
  error_table_code_only = function()
    error({ code = 9 })
  end,
  error_code_zero = function()
    error({ message = "boom", code = 0 })
  end,
  error_code_text = function()
    error({ message = "boom", code = "9" })
  end,
  error_code_big = function()
    error({ message = "boom", code = 1001 })
  end,
  error_status = function()
    error({ "boom", 9 })
  end,
  error_nil = function()
    error(nil)
  end,
  error_number = function()
    error(7)
  end,
  error_flag = function()
    error(true)
  end,
  error_nested = function()
    local ok, failure = pcall(error, { message = "boom", code = 9 })
    error(failure)
  end,
  error_of_server = function()
    nk.account_get_id("not an id")
  end,
  error_of_server_again = function()
    local ok, failure = pcall(nk.account_get_id, "not an id")
    error(failure)
  end,
  return_status = function()
    return '{"a":1}', 401
  end,
  return_status_only = function()
    return nil, 401
  end,
  return_nil_text = function()
    return nil, "x"
  end,
  return_number = function()
    return 7
  end,
  return_table = function()
    return { a = 1 }
  end,
  return_flag = function()
    return true
  end,
  return_two = function()
    return "a", "b"
  end,
}

nk.register_rpc(function(context, payload)
  return failing[payload]()
end, "failing_lua")

-- Hooks in Lua: each does what a word in the message says.

local function hooked(word, message)
  if word == "refuse" then
    error("boom")
  elseif word == "refuse_code" then
    error({ message = "boom", code = 9 })
  elseif word == "refuse_list" then
    error({ "boom", 9 })
  elseif word == "refuse_big" then
    error({ message = "boom", code = 1001 })
  elseif word == "nothing" then
    return nil
  elseif word == "number" then
    return 7
  elseif word == "text" then
    return "words"
  elseif word == "empty" then
    return {}
  elseif word == "unknown" then
    message.unknown_field = 7
  elseif word == "type" then
    message.vars = 7
  end
  return message
end

nk.register_req_before(function(context, message)
  local word = (message.id or ""):match("^(%S+)")
  if word == "change" then
    message.id = message.id:gsub("change ", "changed-")
  end
  return hooked(word, message)
end, "LinkDevice")

nk.register_req_after(function(context, output, input)
  nk.localcache_put("after " .. context.user_id, nk.json_encode({ type(output), input }))
  if (input.id or ""):match("^after%-fails") then
    error("boom")
  end
end, "LinkDevice")

nk.register_req_before(function(context, message)
  return hooked(message.ids and message.ids[1], message)
end, "DeleteNotifications")

nk.register_req_before(function(context, message)
  if context.username:match("^hooked") then
    error({ type(message) .. " boom", 9 })
  end
  return message
end, "GetMatchmakerStats")

nk.register_rt_before(function(context, envelope)
  local message = envelope.status_update
  local word = (message.status or ""):match("^(%w+)")
  if word == "change" then
    message.status = "changed"
  elseif word == "cid" then
    envelope.cid = "other"
  elseif word == "names" then
    error({ message = "boom " .. nk.json_encode(envelope), code = 3 })
  elseif word == "unknown" then
    message.unknown_field = 7
  elseif word == "refuse" then
    error("boom")
  elseif word == "code" then
    error({ message = "boom", code = 9 })
  elseif word == "nothing" then
    return nil
  end
  return envelope
end, "StatusUpdate")
