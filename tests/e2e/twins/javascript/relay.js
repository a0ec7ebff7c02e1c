// Twin of lua/relay.lua: what a player says, the others hear, with the code that it had and 100.

function relayInit(ctx, logger, nk, params) {
  return { state: { count: 0, seen: {} }, tickRate: params.rate || 20, label: "" };
}

function relayJoinAttempt(ctx, logger, nk, dispatcher, tick, state, presence, metadata) {
  return { state, accept: true };
}

function relayJoin(ctx, logger, nk, dispatcher, tick, state, presences) {
  state.count += presences.length;
  return { state };
}

function relayLeave(ctx, logger, nk, dispatcher, tick, state, presences) {
  state.count -= presences.length;
  dispatcher.broadcastMessage(2, `left: ${state.count}`);
  return { state };
}

function relayLoop(ctx, logger, nk, dispatcher, tick, state, messages) {
  for (const message of messages) {
    const { sender, opCode, data } = message;
    state.seen[sender.sessionId] = sender;
    const others = Object.keys(state.seen).filter((id) => id !== sender.sessionId);
    dispatcher.broadcastMessage(opCode + 100, data, others.map((id) => state.seen[id]), sender, true);
  }
  return { state };
}

function relayTerminate(ctx, logger, nk, dispatcher, tick, state, graceSeconds) {
  return { state };
}

function relaySignal(ctx, logger, nk, dispatcher, tick, state, data) {
  return { state, data: String(state.count) };
}
