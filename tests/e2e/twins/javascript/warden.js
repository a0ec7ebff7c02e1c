// Twin of lua/warden.lua: it kicks who is rude, ends when it is told, and counts down when the server stops.

const WARDEN_OP = { say: 1, heard: 2, close: 3, end: 4 };

function wardenInit(ctx, logger, nk, params) {
  return { state: { left: null }, tickRate: 20, label: "warden" };
}

function wardenJoinAttempt(ctx, logger, nk, dispatcher, tick, state, presence, metadata) {
  return { state, accept: true };
}

function wardenJoin(ctx, logger, nk, dispatcher, tick, state, presences) {
  return { state };
}

function wardenLeave(ctx, logger, nk, dispatcher, tick, state, presences) {
  for (const presence of presences) {
    dispatcher.broadcastMessage(WARDEN_OP.heard, `gone: ${presence.username}`);
  }
  return { state };
}

function wardenLoop(ctx, logger, nk, dispatcher, tick, state, messages) {
  for (const message of messages) {
    const text = nk.binaryToString(message.data);
    if (message.opCode === WARDEN_OP.close) {
      return null;
    } else if (text === "rude") {
      dispatcher.matchKick([message.sender]);
    } else {
      dispatcher.broadcastMessage(WARDEN_OP.heard, text);
    }
  }
  if (state.left !== null) {
    state.left -= 1;
    dispatcher.broadcastMessage(WARDEN_OP.end, String(state.left));
    if (state.left === 0) {
      return null;
    }
  }
  return { state };
}

function wardenTerminate(ctx, logger, nk, dispatcher, tick, state, graceSeconds) {
  dispatcher.broadcastMessage(WARDEN_OP.end, `within ${graceSeconds}`);
  state.left = 3;
  return { state };
}

function wardenSignal(ctx, logger, nk, dispatcher, tick, state, data) {
  return { state, data };
}
