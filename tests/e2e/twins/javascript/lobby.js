// Twin of lua/lobby.lua: a lobby with a password and so many seats, which listings find while it is open.

function lobbyShow(dispatcher, { mode, seats, taken }) {
  dispatcher.matchLabelUpdate(JSON.stringify({ mode, open: taken < seats ? 1 : 0, taken }));
}

function lobbyInit(ctx, logger, nk, params) {
  const { mode, seats, password } = params;
  const label = JSON.stringify({ mode, open: 1, taken: 0 });
  return { state: { mode, seats, password, taken: 0 }, tickRate: 10, label };
}

function lobbyJoinAttempt(ctx, logger, nk, dispatcher, tick, state, presence, metadata) {
  if (state.taken >= state.seats) {
    return { state, accept: false, rejectMessage: "the lobby is full" };
  }
  if (metadata.password !== state.password) {
    return { state, accept: false, rejectMessage: "the password is wrong" };
  }
  return { state, accept: true };
}

function lobbyJoin(ctx, logger, nk, dispatcher, tick, state, presences) {
  state.taken += presences.length;
  lobbyShow(dispatcher, state);
  dispatcher.broadcastMessage(1, ctx.matchLabel);
  return { state };
}

function lobbyLeave(ctx, logger, nk, dispatcher, tick, state, presences) {
  state.taken -= presences.length;
  lobbyShow(dispatcher, state);
  return { state };
}

function lobbyLoop(ctx, logger, nk, dispatcher, tick, state, messages) {
  return { state };
}

function lobbyTerminate(ctx, logger, nk, dispatcher, tick, state, graceSeconds) {
  return null;
}

function lobbySignal(ctx, logger, nk, dispatcher, tick, state, data) {
  state.seats = Number(data);
  lobbyShow(dispatcher, state);
  return { state, data: "" };
}
