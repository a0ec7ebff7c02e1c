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
