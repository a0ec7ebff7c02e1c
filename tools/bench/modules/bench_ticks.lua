-- The match of `muster-bench ticks`: it has no players, and each tick computes for a number of microseconds.
local M = {}

function M.match_init(_, params)
    return { busy = params.busy_us / 1e6, last = params.seconds * params.rate }, params.rate, ""
end

function M.match_join_attempt(_, _, _, state)
    return state, false, "nobody plays here"
end

function M.match_join(_, _, _, state)
    return state
end

function M.match_leave(_, _, _, state)
    return state
end

function M.match_loop(_, _, tick, state)
    if tick >= state.last then
        return nil
    end
    if state.busy > 0 then
        local over = os.clock() + state.busy
        while os.clock() < over do
        end
    end
    return state
end

function M.match_signal(_, _, _, state, data)
    return state, data
end

function M.match_terminate(_, _, _, state)
    return state
end

return M
