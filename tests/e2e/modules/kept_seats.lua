-- The match of seats.lua, as one that outlives its process.
local M = { durable = true }

for name, callback in pairs(require("seats")) do
    M[name] = callback
end

return M
