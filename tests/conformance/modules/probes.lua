-- Pieces of game code whose behaviour is a server's: errors, numbers, texts, and what a language does by itself.

local nk = require("nakama")

local probes = {}

-- A value as text, with its type: what a language makes of it.
local function kind(value)
  return type(value) .. " " .. tostring(value)
end

local function caught(run, ...)
  local ok, failure = pcall(run, ...)
  return ok, type(failure)
end

function probes.echo(context, ...)
  return ...
end

function probes.error_text()
  return caught(error, "boom")
end

function probes.error_text_position()
  local _, failure = pcall(function()
    error("boom")
  end)
  return failure
end

function probes.error_text_no_position()
  local _, failure = pcall(error, "boom", 0)
  return failure
end

function probes.error_table()
  local _, failure = pcall(error, { code = 3, message = "boom" })
  return failure
end

function probes.error_nil()
  return caught(error, nil)
end

function probes.error_number()
  return caught(error, 7)
end

function probes.error_of_server()
  return caught(nk.account_get_id, "x")
end

function probes.config_names()
  local found = {}
  for _, part in ipairs({ nk.get_config(), nk.get_config().session, nk.get_config().socket, nk.get_config().runtime }) do
    local names = {}
    for name in pairs(part) do
      names[#names + 1] = name
    end
    table.sort(names)
    found[#found + 1] = table.concat(names, " ")
  end
  return unpack(found)
end

function probes.goto_back()
  local run = loadstring("local i = 0 ::top:: i = i + 1 if i < 3 then goto top end return i")
  return run and run()
end

function probes.goto_end_of_loop()
  local run = loadstring("local n = 0 for i = 1, 4 do if i % 2 == 0 then goto on end n = n + i ::on:: end return n")
  return run and run()
end

function probes.xpcall_handler()
  return xpcall(function()
    error("boom", 0)
  end, function(failure)
    return "handled " .. failure
  end)
end

function probes.format_string_nil()
  return pcall(string.format, "%s", nil)
end

function probes.format_string_flag()
  return pcall(string.format, "%s", true)
end

function probes.format_string_number()
  return pcall(string.format, "%s", 7)
end

function probes.format_string_half()
  return pcall(string.format, "%s", 7.5)
end

function probes.format_string_table()
  return caught(string.format, "%s", {})
end

function probes.format_integer()
  return pcall(string.format, "%d", 7)
end

function probes.format_integer_half()
  return caught(string.format, "%d", 7.5)
end

function probes.format_integer_text()
  return pcall(string.format, "%d", "7")
end

function probes.format_missing()
  return caught(string.format, "%s")
end

function probes.format_quoted()
  return pcall(string.format, "%q", "a\nb")
end

function probes.format_hexadecimal()
  return pcall(string.format, "%x %X %5.2f %05d %e %g %c", 255, 255, 1.234, 42, 1e10, 1e20, 65)
end

function probes.format_long()
  return pcall(string.format, "%i %u", 7, 7)
end

function probes.number_texts()
  return kind(1e15), kind(1e16), kind(1e20), kind(0.1), kind(-0.0), kind(1 / 3), kind(2 ^ 53), kind(100)
end

function probes.number_infinity()
  return tostring(1 / 0), tostring(-1 / 0), tostring(0 / 0)
end

function probes.tonumber_texts()
  return tostring(tonumber("0x10")), tostring(tonumber(" 7 ")), tostring(tonumber("7x")), tostring(tonumber("")), tostring(tonumber("1e2")), tostring(tonumber("ff", 16)), tostring(tonumber("z", 36))
end

function probes.concat_number()
  return 1 .. "", 1.5 .. "", 1e20 .. ""
end

function probes.concat_nil()
  return caught(function()
    return "a" .. nil
  end)
end

function probes.integer_division()
  return 7 / 2, 7 % 3, -7 % 3, 7 % -3, 2 ^ 10
end

function probes.length_of_holes()
  local list = { 1, nil, 3 }
  return #list
end

function probes.unpack_holes()
  return select("#", unpack({ 1, nil, 3 }, 1, 3))
end

function probes.globals()
  local names = {}
  for _, name in ipairs({ "load", "loadstring", "loadfile", "dofile", "module", "print", "newproxy", "setfenv", "getfenv", "collectgarbage", "coroutine", "debug", "io", "os", "package", "require", "bit32", "utf8", "table", "string", "math", "_VERSION", "_G", "rawequal", "rawlen", "unpack", "xpcall", "select" }) do
    names[#names + 1] = name .. ":" .. type(_G[name])
  end
  return table.concat(names, " ")
end

local function names_of(library)
  local names = {}
  for name in pairs(library) do
    names[#names + 1] = name
  end
  table.sort(names)
  return table.concat(names, " ")
end

function probes.os_functions()
  local names = {}
  for name, value in pairs(os) do
    names[#names + 1] = name .. ":" .. type(value)
  end
  table.sort(names)
  return table.concat(names, " ")
end

function probes.string_functions()
  return names_of(string)
end

function probes.table_functions()
  return names_of(table)
end

function probes.math_functions()
  return names_of(math)
end

function probes.patterns()
  return ("hello world"):match("(%w+) (%w+)")
end

function probes.gsub_count()
  return ("aaa"):gsub("a", "b", 2)
end

function probes.find_plain()
  return ("a.b"):find(".", 1, true)
end

function probes.rep_separator()
  return ("a"):rep(3, ",")
end

function probes.sort_invalid()
  return caught(table.sort, { 1, "a" })
end

function probes.deep_calls()
  local function deep(n)
    if n == 0 then
      return 0
    end
    return 1 + deep(n - 1)
  end
  return pcall(deep, 150)
end

function probes.deeper_calls()
  local function deep(n)
    if n == 0 then
      return 0
    end
    return 1 + deep(n - 1)
  end
  local ok = pcall(deep, 10000)
  return ok
end

function probes.write_global()
  return caught(function()
    conformance_global = 7
  end)
end

function probes.read_global()
  return type(conformance_global)
end

function probes.write_library()
  return caught(function()
    string.conformance = 7
    string.conformance = nil
  end)
end

function probes.write_nk()
  return caught(function()
    nk.conformance = 7
    nk.conformance = nil
  end)
end

function probes.json_sparse()
  return pcall(nk.json_encode, { 1, nil, 3 })
end

function probes.json_sparse_late()
  return caught(nk.json_encode, { [1] = "a", [10] = "b" })
end

function probes.json_mixed()
  return caught(nk.json_encode, { 1, 2, a = "x" })
end

function probes.json_number_keys()
  return pcall(nk.json_encode, { [5] = "a" })
end

function probes.json_half_keys()
  return caught(nk.json_encode, { [1.5] = "a" })
end

function probes.json_flag_keys()
  return caught(nk.json_encode, { [true] = "a" })
end

function probes.json_empty()
  return nk.json_encode({}), nk.json_encode({ {} }), nk.json_encode({ a = {} })
end

function probes.json_function()
  return caught(nk.json_encode, { a = print or type })
end

function probes.json_infinity()
  return caught(nk.json_encode, { a = 1 / 0 })
end

function probes.json_circle()
  return "left out"
end

function probes.json_bytes()
  return pcall(nk.json_encode, "\255\0\1")
end

function probes.json_numbers()
  return nk.json_encode({ 1e20, 1e21, 1e15, 0.1, -0.0, 1e-7, 2 ^ 53, 100 })
end

function probes.json_decoded_null()
  return type(nk.json_decode('{"a":null}').a)
end

function probes.json_decoded_list_length()
  return #nk.json_decode("[1,null,3]")
end

function probes.json_decoded_big()
  return kind(nk.json_decode("[12345678901234567890]")[1])
end

function probes.context_names(context)
  local names = {}
  for name in pairs(context) do
    names[#names + 1] = name
  end
  table.sort(names)
  return table.concat(names, " ")
end

function probes.time_kind()
  return type(nk.time()), nk.time() > 1e12
end

-- What Luau adds to Lua 5.1, and what it leaves out.

function probes.luau_syntax()
  local told = {}
  for _, text in ipairs({
    "for i = 1, 3 do if i == 2 then continue end end",
    "local a: number = 1",
    "local a = 1 a += 1",
    "local a = if true then 1 else 2",
    "local a = `{1}`",
  }) do
    told[#told + 1] = text .. ": " .. type((loadstring(text)))
  end
  return told
end

function probes.newproxy()
  return type(newproxy) == "function" and type(getmetatable(newproxy(true)))
end

return probes
