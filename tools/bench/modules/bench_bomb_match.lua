-- The match of `muster-bench ticks --bombs`, none of whose ticks ends.
local M = table.clone(require("bench_ticks"))

function M.match_init()
    return {}, 10, ""
end

function M.match_loop()
    while true do
    end
end

return M
