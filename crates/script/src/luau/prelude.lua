-- Functions that every machine has besides Luau's libraries. Returns a binder of functions of Rust, a protected caller,
-- a maker of `require`, a runner of all modules, and a binder of `run_once`.
--
-- Game code that may be put aside is called from here, never from a callback of mlua.
local move_max = ...
local error, pcall, select, type, rawget, tonumber, move = error, pcall, select, type, rawget, tonumber, table.move

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
    return pcall(call, ...)
end

-- Makes the `require` of one instance. `loaded` holds the values that modules returned, and false while a module runs.
-- `chunk` returns a module's function in an environment, and the file that was at work before; `leave` makes that file
-- current again when the module has run.
local function make_require(chunk, leave, loaded, environment)
    return function(name)
        local known = loaded[name]
        if known == false then
            error("module '" .. name .. "' is required while it is loading", 2)
        end
        if known ~= nil then
            return known
        end
        local run, before = chunk(name, environment)
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
            result = true
        end
        loaded[name] = result
        return result
    end
end

-- Requires all modules, and returns the names of those with the field `durable = true`: their matches are durable.
local function require_all(require, ...)
    local durable = {}
    for index = 1, select("#", ...) do
        local name = (select(index, ...))
        local module = require(name)
        if type(module) == "table" and rawget(module, "durable") == true then
            durable[#durable + 1] = name
        end
    end
    return durable
end

local function bind_once(begin)
    return function(run)
        local is_done, context = begin(run)
        if not is_done then
            error(context, 2)
        end
        if context then
            run(context)
        end
    end
end

return { bind = bind, protected = protected, make_require = make_require, require_all = require_all, bind_once = bind_once }
