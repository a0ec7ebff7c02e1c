-- Functions that every machine has besides Luau's libraries. Returns a binder of functions of Rust, a protected caller,
-- a maker of `require`, a runner of all modules, and a binder of `run_once`.
--
-- Game code that may be put aside is called from here, never from a callback of mlua.
local move_max, say, traced_call = ...
local error, pcall, select, type, rawget, tonumber, move = error, pcall, select, type, rawget, tonumber, table.move
local tostring, setfenv, setmetatable, concat, sort = tostring, setfenv, setmetatable, table.concat, table.sort
local find, gsub = string.find, string.gsub

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
-- `chunk` returns a module's function in an environment, and the file that was at work before; `leave` makes that file
-- current again when the module has run.
local function make_require(chunk, leave, loaded, environment, preload)
    return function(name)
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
            error("module '" .. name .. "' not found", 2)
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

-- Requires all modules. Returns the names of those that are match handlers, and of those with the field
-- `durable = true`, whose matches are durable.
local function require_all(require, ...)
    local handlers, durable = {}, {}
    for index = 1, select("#", ...) do
        local name = (select(index, ...))
        local module = require(name)
        if type(module) == "table" and type(rawget(module, "match_init")) == "function" then
            handlers[#handlers + 1] = name
        end
        if type(module) == "table" and rawget(module, "durable") == true then
            durable[#durable + 1] = name
        end
    end
    return { handlers = handlers, durable = durable }
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
