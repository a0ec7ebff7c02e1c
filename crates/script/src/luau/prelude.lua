-- Functions that every machine has besides Luau's libraries. Returns a binder of functions of Rust, a protected caller,
-- a maker of `require`, a runner of all modules, and a binder of `run_once`.
--
-- Game code that may be put aside is called from here, never from a callback of mlua.
local move_max, say, traced_call = ...
local error, pcall, select, type, rawget, tonumber, move = error, pcall, select, type, rawget, tonumber, table.move
local tostring, setfenv, setmetatable, concat, sort = tostring, setfenv, setmetatable, table.concat, table.sort
local find, gsub, lower = string.find, string.gsub, string.lower
local date, time, collect = os.date, os.time, collectgarbage

-- Luau cannot be interrupted while it moves elements, and truncates places to whole numbers of 32 bits.
local function is_place(number)
    return number > -0x80000000 and number < 0x80000000
end

table.move = function(from, first, last, to, into)
    local least, most = tonumber(first), tonumber(last)
    if least and most and not (is_place(least) and is_place(most) and most - least < move_max) then
        error("table.move: too many elements", 2)
    end
    return move(from, first, last, to, into or from)
end

-- Names of Lua 5.0 that the original's interpreter still has.
string.gfind = string.gmatch

math.mod = function(dividend, divisor)
    return dividend % divisor
end

-- Parts of times that Luau does not know, or writes in another form than the original's interpreter.
local FORMS = { c = "%d %b %y %H:%M UTC", F = "%Y-%m-%d", P = "%p", x = "%H/%M/%S", Z = "UTC" }

-- Letters that Luau knows.
local KNOWN = "[aAbBdHIjmMpSUwWXyYz]"

-- Times are in UTC. As in the original, a letter without a meaning stays as it is, and the week begins with day 0.
os.date = function(format, at)
    format = tostring(format == nil and "%c" or format)
    if at ~= nil and tonumber(at) == nil then
        error("bad argument #2 to 'date' (number expected, got " .. type(at) .. ")", 2)
    end
    at = tonumber(at) or time()
    format = gsub(format, "^!+", "")
    if find(format, "^%*t") then
        local parts = date("!*t", at)
        if parts then
            parts.wday -= 1
        end
        return parts
    end
    local written = gsub(format, "%%(.?)", function(letter)
        local form = FORMS[letter] or find(letter, KNOWN) and "%" .. letter
        if not form then
            return (letter == "%" or letter == "") and "%" or "%" .. letter
        end
        local part = date("!" .. form, at)
        return letter == "P" and lower(part) or part
    end)
    return written
end

local function part_of(parts, name, default)
    local number = rawget(parts, name)
    if type(number) ~= "number" then
        return default
    end
    return number >= 0 and number // 1 or -(-number // 1)
end

-- The moment of a date and time in UTC. As in the original, parts may be missing and lie outside of their ranges.
os.time = function(parts)
    if parts == nil then
        return time()
    end
    if type(parts) ~= "table" then
        error("bad argument #1 to 'time' (table expected, got " .. type(parts) .. ")", 2)
    end
    local year, month, day = part_of(parts, "year", -1), part_of(parts, "month", -1), part_of(parts, "day", -1)
    local hour, min, sec = part_of(parts, "hour", 12), part_of(parts, "min", 0), part_of(parts, "sec", 0)
    -- Years begin in March, so that the day that some of them lack is their last.
    local march = year + (month - 1) // 12 - ((month - 1) % 12 < 2 and 1 or 0)
    local days = 365 * march + march // 4 - march // 100 + march // 400 + (153 * ((month + 9) % 12) + 2) // 5 + day
    return (days - 719469) * 86400 + hour * 3600 + min * 60 + sec
end

-- Takes any option, as the original does. A machine serves many calls, so only counting does something.
collectgarbage = function(option)
    return option == "count" and collect("count") or 0
end

-- Sorts by merging, which takes any comparator and moves no element twice in one pass.
local function merge_sort(list, is_before)
    local count, width = #list, 1
    local from, into = list, {}
    while width < count do
        for first = 1, count, 2 * width do
            local left, right = first, first + width
            local left_end, right_end = math.min(right, count + 1), math.min(first + 2 * width, count + 1)
            for place = first, right_end - 1 do
                if left < left_end and (right >= right_end or not is_before(from[right], from[left])) then
                    into[place] = from[left]
                    left = left + 1
                else
                    into[place] = from[right]
                    right = right + 1
                end
            end
        end
        from, into = into, from
        width = 2 * width
    end
    if from ~= list then
        for place = 1, count do
            list[place] = from[place]
        end
    end
end

-- Luau refuses comparators that contradict themselves, such as `<=`; the original's interpreter sorts by them somehow.
table.sort = function(list, is_before)
    if is_before == nil then
        return sort(list)
    end
    local is_done, why = pcall(sort, list, is_before)
    if is_done then
        return
    end
    if type(why) ~= "string" or not find(why, "invalid order function for sorting", 1, true) then
        error(why, 0)
    end
    merge_sort(list, is_before)
end

-- Writes to the log; `say` finds out the place of the caller.
print = function(...)
    local texts = {}
    for index = 1, select("#", ...) do
        texts[index] = tostring((select(index, ...)))
    end
    say(concat(texts, "\t"))
end

local function finish(is_done, ...)
    if is_done then
        return ...
    end
    error((...), 3)
end

-- Wraps a function that returns true and results, or false and an error, so that the error is raised at the caller.
local function bind(run)
    return function(...)
        return finish(run(...))
    end
end

local function protected(call, ...)
    return traced_call(call, ...)
end

-- Makes the `require` of one instance. `loaded` holds the values that modules returned, and false while a module runs.
-- `chunk` returns a module's function in an environment, and the file that was at work before, or nil and a question
-- about a slip; `leave` makes that file current again when the module has run.
local function make_require(chunk, leave, loaded, environment, preload)
    return function(name)
        if type(name) ~= "string" then
            error("bad argument #1 to 'require' (string expected, got " .. type(name) .. ")", 2)
        end
        local known = loaded[name]
        if known == false then
            error("module '" .. name .. "' is required while it is loading", 2)
        end
        if known ~= nil then
            return known
        end
        local run, before
        if preload and preload[name] then
            run = preload[name]
        else
            run, before = chunk(name, environment)
        end
        if not run then
            error("module '" .. name .. "' not found" .. (before and "; " .. before or ""), 2)
        end
        loaded[name] = false
        local is_done, result = pcall(run, name)
        leave(before)
        if not is_done then
            loaded[name] = nil
            error(result, 0)
        end
        if result == nil then
            -- A module may have put its value there itself, by `module` or `package.loaded`.
            result = loaded[name] or true
        end
        loaded[name] = result
        return result
    end
end

local CALLBACKS = { "match_init", "match_join_attempt", "match_join", "match_leave", "match_loop", "match_terminate", "match_signal" }

-- The callbacks that a match handler lacks, joined by commas; nil if it has all, or is no handler at all.
local function missing_callbacks(module)
    local missing = {}
    for _, name in CALLBACKS do
        if type(rawget(module, name)) ~= "function" then
            missing[#missing + 1] = name
        end
    end
    local is_handler = type(rawget(module, "match_init")) == "function" or type(rawget(module, "match_loop")) == "function"
    return is_handler and #missing > 0 and concat(missing, ",") or nil
end

-- Requires all modules. Returns the names of those that are match handlers, of those with the field `durable = true`,
-- whose matches are durable, and of handlers that lack callbacks, each with a colon and what it lacks.
local function require_all(require, ...)
    local handlers, durable, incomplete = {}, {}, {}
    for index = 1, select("#", ...) do
        local name = (select(index, ...))
        local module = require(name)
        if type(module) == "table" and type(rawget(module, "match_init")) == "function" then
            handlers[#handlers + 1] = name
        end
        if type(module) == "table" and rawget(module, "durable") == true then
            durable[#durable + 1] = name
        end
        local missing = type(module) == "table" and missing_callbacks(module)
        if missing then
            incomplete[#incomplete + 1] = name .. ":" .. missing
        end
    end
    return { handlers = handlers, durable = durable, incomplete = incomplete }
end

-- Gives an instance the functions that load code, and `package`. `compile` makes a function of source in an environment;
-- `chunk` and `leave` are those of `make_require`; `path` is where modules are looked for, in words.
local function add_own_functions(compile, chunk, leave, loaded, environment, path)
    local package = { loaded = loaded, path = path, cpath = "", config = "", preload = {}, loaders = {} }

    local function loadstring(source, name)
        if type(source) ~= "string" then
            error("bad argument #1 to 'loadstring' (string expected, got " .. type(source) .. ")", 2)
        end
        return compile(source, tostring(name or source), environment)
    end

    local function load(source, name)
        if type(source) == "function" then
            local parts = {}
            for part in source do
                if part == "" then
                    break
                end
                parts[#parts + 1] = part
            end
            source = concat(parts)
        elseif type(source) ~= "string" then
            error("bad argument #1 to 'load' (function expected, got " .. type(source) .. ")", 2)
        end
        return compile(source, tostring(name or source), environment)
    end

    -- The function of a file, which is one of the modules.
    local function loadfile(file)
        local name = gsub(gsub(gsub(tostring(file), "^%./", ""), "%.lua$", ""), "[/\\]", ".")
        local run, before = chunk(name, environment)
        if not run then
            return nil, "can not open file: " .. tostring(file) .. " (it is none of the folder of modules)"
        end
        leave(before)
        return run
    end

    local function dofile(file)
        local run, why = loadfile(file)
        if not run then
            error(why, 2)
        end
        return run()
    end

    local function module(name, ...)
        local made = loaded[name] or rawget(environment, name)
        if type(made) ~= "table" then
            made = {}
        end
        loaded[name] = made
        environment[name] = made
        made._M, made._NAME, made._PACKAGE = made, name, gsub(name, "[^%.]*$", "")
        setfenv(2, made)
        for index = 1, select("#", ...) do
            (select(index, ...))(made)
        end
    end

    package.seeall = function(made)
        setmetatable(made, { __index = environment })
    end
    loaded._G = environment
    for name, library in { string = string, table = table, math = math, os = os } do
        loaded[name] = rawget(environment, name) or library
    end
    environment.load, environment.loadstring, environment.loadfile = load, loadstring, loadfile
    environment.dofile, environment.module, environment.package = dofile, module, package
    return package.preload
end

-- Makes `run_once`. Instances that have run or repeated a function are in `ran`, until they are collected.
local function bind_once(begin, finish_once)
    local ran = setmetatable({}, { __mode = "k" })
    return function(run)
        local is_done, context, before = begin(run, ran)
        if not is_done then
            error(context, 2)
        end
        if context then
            local has_ended, why = pcall(run, context)
            if finish_once(run, has_ended, why, before) then
                error(why, 0)
            end
        end
    end
end

return { add_own_functions = add_own_functions, bind = bind, protected = protected, make_require = make_require, require_all = require_all, bind_once = bind_once }
