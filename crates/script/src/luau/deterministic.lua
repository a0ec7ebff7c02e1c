-- Clock, randomness and table order of recorded matches, in place of Luau's builtins. Arguments are converted as Luau's
-- own functions convert them. Returns the replacing `pairs` and `next`.
local seconds, fraction, between, reseed = ...
local error, floor, type, tonumber, tostring = error, math.floor, type, tonumber, tostring
local time, date = os.time, os.date
local next, pairs, select, rawget, sort, getmetatable = next, pairs, select, rawget, table.sort, getmetatable

os.time = function(parts)
    if parts == nil then
        return floor(seconds())
    end
    return time(parts)
end

os.clock = function()
    return seconds()
end

os.date = function(format, at)
    return date(format or "%c", at or floor(seconds()))
end

local function whole(value, number)
    local given = tonumber(value)
    if given == nil then
        error("invalid argument #" .. number .. " to 'random' (number expected, got " .. type(value) .. ")", 3)
    end
    -- Luau truncates towards zero.
    return given >= 0 and floor(given) or -floor(-given)
end

math.random = function(...)
    local count = select("#", ...)
    if count == 0 then
        return fraction()
    end
    if count > 2 then
        error("wrong number of arguments", 2)
    end
    local least, most = ...
    if count == 1 then
        least, most = 1, whole(least, 1)
        if most < 1 then
            error("invalid argument #1 to 'random' (interval is empty)", 2)
        end
    else
        least, most = whole(least, 1), whole(most, 2)
        if least > most then
            error("invalid argument #2 to 'random' (interval is empty)", 2)
        end
    end
    return between(least, most)
end

-- The seed holds until the end of the callback: a generator that went on would be state that no snapshot holds.
math.randomseed = function(seed)
    local given = tonumber(seed)
    if given == nil then
        error("invalid argument #1 to 'randomseed' (number expected, got " .. type(seed) .. ")", 2)
    end
    reseed(given)
end

-- The order of a table's entries depends on when memory was collected. Here numbers come first, then strings, then
-- truth values, each sorted. Other keys come last, in an order that another run would not have.
local RANKS = { number = 1, string = 2, boolean = 3 }

local function precedes(a, b)
    local first, second = RANKS[type(a)] or 4, RANKS[type(b)] or 4
    if first ~= second then
        return first < second
    end
    if first <= 2 then
        return a < b
    end
    return first == 3 and a == false and b == true
end

local function keys_of(held)
    local keys, count = {}, 0
    for key in next, held do
        count += 1
        keys[count] = key
    end
    sort(keys, precedes)
    return keys, count
end

local function expect_table(given, name, level)
    if type(given) ~= "table" then
        error("invalid argument #1 to '" .. name .. "' (table expected, got " .. type(given) .. ")", level + 1)
    end
end

local function ordered_pairs(held)
    local meta = getmetatable(held)
    if type(meta) == "table" and rawget(meta, "__iter") then
        return pairs(held)
    end
    expect_table(held, "pairs", 2)
    local keys, count = keys_of(held)
    local at = 0
    return function()
        while at < count do
            at += 1
            local key = keys[at]
            local value = rawget(held, key)
            if value ~= nil then
                return key, value
            end
        end
        return nil
    end
end

-- Finds the next key by looking at all keys: loops use `pairs`, which sorts once.
local function ordered_next(held, before)
    expect_table(held, "next", 2)
    local found
    for key in next, held do
        if (before == nil or precedes(before, key)) and (found == nil or precedes(key, found)) then
            found = key
        end
    end
    if found == nil then
        return nil
    end
    return found, rawget(held, found)
end

table.foreach = function(held, act)
    for key, value in ordered_pairs(held) do
        local answer = act(key, value)
        if answer ~= nil then
            return answer
        end
    end
    return nil
end

return ordered_pairs, ordered_next
