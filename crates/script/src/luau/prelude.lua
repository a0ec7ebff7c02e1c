-- What every machine has besides Luau's libraries. Answers a binder of host functions, and a runner of calls.
local move_max = ...
local error, pcall, move = error, pcall, table.move

-- Luau cannot be interrupted while it moves.
table.move = function(from, first, last, to, into)
    if last - first >= move_max then
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

local function bind(run)
    return function(...)
        return finish(run(...))
    end
end

local function protected(call, context, ...)
    return pcall(call, context, ...)
end

return bind, protected
