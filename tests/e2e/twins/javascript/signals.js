// Twin of lua/signals.lua: a match that does what other code tells it.

function signalsInit(ctx, logger, nk, params) {
  if (params.fails) {
    throw new Error("it does not begin");
  }
  return { state: { heard: [], name: params.name }, tickRate: 5, label: params.name };
}

function signalsJoinAttempt(ctx, logger, nk, dispatcher, tick, state, presence, metadata) {
  return { state, accept: true };
}

function signalsJoin(ctx, logger, nk, dispatcher, tick, state, presences) {
  return { state };
}

function signalsLeave(ctx, logger, nk, dispatcher, tick, state, presences) {
  return { state };
}

function signalsLoop(ctx, logger, nk, dispatcher, tick, state, messages) {
  return { state };
}

function signalsTerminate(ctx, logger, nk, dispatcher, tick, state, graceSeconds) {
  return null;
}

function signalsSignal(ctx, logger, nk, dispatcher, tick, state, data) {
  const told = JSON.parse(data);
  state.heard.push(told.what);
  if (told.what === "say") {
    dispatcher.broadcastMessage(told.code, told.text);
  } else if (told.what === "ask") {
    const ids = Boolean(ctx.matchId) && Boolean(ctx.matchNode);
    return { state, data: JSON.stringify({ heard: state.heard, label: ctx.matchLabel, ids }) };
  } else if (told.what === "keep") {
    nk.storageWrite([{ collection: "signals", key: state.name, value: { heard: state.heard.length } }]);
    return { state, data: "kept" };
  } else if (told.what === "end") {
    return null;
  }
  return { state, data: "done" };
}
