-- A match that `muster-bench ticks --bombs` has made: none of its ticks ends.
local M = table.clone(require("bench_ticks"))

function M.match_init()
    return {}, 10, ""
end

function M.match_loop()
    while true do
    end
end

return M
