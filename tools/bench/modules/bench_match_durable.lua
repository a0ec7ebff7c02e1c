-- What `muster-bench match --durable` plays: the same matches, which outlive their process.
local M = table.clone(require("bench_match"))
M.durable = true
return M
