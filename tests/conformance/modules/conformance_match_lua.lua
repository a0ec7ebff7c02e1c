-- A match of game code that tells its players what it is asked, and does what it is told.

local nk = require("nakama")

local match = {}

function match.match_init(context, params)
  local state = { params = params or {}, refuse = false, hears = {} }
  return state, state.params.rate or 10, state.params.label or ""
end

function match.match_join_attempt(context, dispatcher, tick, state, presence, metadata)
  local names, of_presence = {}, {}
  for name in pairs(context) do
    names[#names + 1] = name
  end
  for name in pairs(presence) do
    of_presence[#of_presence + 1] = name
  end
  table.sort(names)
  table.sort(of_presence)
  state.asked = { context = table.concat(names, " "), presence = table.concat(of_presence, " "), metadata = metadata }
  if metadata.answer == "refuse" then
    return state, false
  elseif metadata.answer == "reason" then
    return state, false, "not today"
  elseif metadata.answer == "error" then
    error("boom")
  elseif metadata.answer == "nothing" then
    return nil
  end
  return state, true
end

function match.match_join(context, dispatcher, tick, state, presences)
  dispatcher.broadcast_message(1, "joined " .. #presences)
  return state
end

function match.match_leave(context, dispatcher, tick, state, presences)
  dispatcher.broadcast_message(2, "left " .. #presences)
  return state
end

function match.match_loop(context, dispatcher, tick, state, messages)
  for _, message in ipairs(messages) do
    if message.op_code == 101 then
      return nil
    elseif message.op_code == 102 then
      error("boom")
    elseif message.op_code == 103 then
      dispatcher.match_kick({ message.sender })
    elseif message.op_code == 104 then
      dispatcher.match_label_update(message.data)
    elseif message.op_code == 105 then
      dispatcher.broadcast_message(5, nil, { message.sender }, message.sender)
    elseif message.op_code == 106 then
      local names = {}
      for name in pairs(message) do
        names[#names + 1] = name
      end
      table.sort(names)
      dispatcher.broadcast_message(6, table.concat(names, " ") .. " " .. type(message.data))
    elseif message.op_code == 107 then
      return
    elseif message.op_code == 108 then
      dispatcher.broadcast_message(8, "to one presence in place of a list", message.sender)
      dispatcher.broadcast_message(9, "behind it")
    else
      dispatcher.broadcast_message(message.op_code, message.data, nil, message.sender)
    end
  end
  return state
end

function match.match_terminate(context, dispatcher, tick, state, grace_seconds)
  dispatcher.broadcast_message(3, "over in " .. grace_seconds)
  return state
end

function match.match_signal(context, dispatcher, tick, state, data)
  if data == "asked" then
    return state, nk.json_encode(state.asked)
  elseif data == "nothing" then
    return state
  elseif data == "number" then
    return state, 7
  elseif data == "end" then
    return nil
  elseif data == "error" then
    error("boom")
  end
  return state, data
end

return match
