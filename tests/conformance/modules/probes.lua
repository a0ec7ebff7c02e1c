-- Pieces of game code whose behaviour is a server's: errors, numbers, texts, and what a language does by itself.

local nk = require("nakama")

local probes = {}

function probes.echo(context, ...)
  return ...
end

return probes
