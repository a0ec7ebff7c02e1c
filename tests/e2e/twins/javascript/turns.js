// Twin of lua/turns.lua: players move in turn. What a tick puts off is heard behind all else of the tick.

const TURNS_OP = { move: 1, turn: 2, moved: 3, wrong: 4 };

function turnsInit(ctx, logger, nk, params) {
  return { state: { players: [], turn: 0, moves: [] }, tickRate: 20, label: "turns" };
}

function turnsJoinAttempt(ctx, logger, nk, dispatcher, tick, state, presence, metadata) {
  return { state, accept: state.players.length < 2 };
}

function turnsJoin(ctx, logger, nk, dispatcher, tick, state, presences) {
  state.players.push(...presences);
  if (state.players.length === 2) {
    dispatcher.broadcastMessage(TURNS_OP.turn, state.players[0].username);
  }
  return { state };
}

function turnsLeave(ctx, logger, nk, dispatcher, tick, state, presences) {
  return null;
}

function turnsLoop(ctx, logger, nk, dispatcher, tick, state, messages) {
  for (const { sender, opCode, data } of messages) {
    const mover = state.players[state.turn];
    if (opCode === TURNS_OP.move && mover && mover.sessionId === sender.sessionId) {
      state.moves.push(JSON.parse(nk.binaryToString(data)).to);
      state.turn = 1 - state.turn;
      dispatcher.broadcastMessageDeferred(TURNS_OP.turn, state.players[state.turn].username);
      dispatcher.broadcastMessage(TURNS_OP.moved, JSON.stringify({ moves: state.moves }), null, sender);
    } else {
      dispatcher.broadcastMessage(TURNS_OP.wrong, "not your turn", [sender]);
    }
  }
  return { state };
}

function turnsTerminate(ctx, logger, nk, dispatcher, tick, state, graceSeconds) {
  return null;
}

function turnsSignal(ctx, logger, nk, dispatcher, tick, state, data) {
  return { state, data: JSON.stringify({ moves: state.moves.length, turn: state.turn + 1 }) };
}
