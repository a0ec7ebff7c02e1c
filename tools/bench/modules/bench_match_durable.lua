-- The match of `muster-bench match --durable`: the same match, which outlives its process.
local M = table.clone(require("bench_match"))
M.durable = true
return M
