// Twin of lua/ticker.lua: it counts its 60 ticks a second, and says whether any was left out.

function tickerInit(ctx, logger, nk, params) {
  return { state: { count: 0, isWhole: true, from: null }, tickRate: 60, label: "" };
}

function tickerJoinAttempt(ctx, logger, nk, dispatcher, tick, state, presence, metadata) {
  return { state, accept: true };
}

function tickerJoin(ctx, logger, nk, dispatcher, tick, state, presences) {
  state.from = state.count;
  return { state };
}

function tickerLeave(ctx, logger, nk, dispatcher, tick, state, presences) {
  return { state };
}

function tickerLoop(ctx, logger, nk, dispatcher, tick, state, messages) {
  state.isWhole = state.isWhole && tick === state.count;
  state.count += 1;
  if (state.from !== null) {
    const soFar = state.count - state.from;
    if (soFar % 30 === 0 && soFar <= 90) {
      dispatcher.broadcastMessage(soFar, `${state.isWhole ? "whole" : "torn"} at ${ctx.matchTickRate}`);
    }
  }
  return { state };
}

function tickerTerminate(ctx, logger, nk, dispatcher, tick, state, graceSeconds) {
  return null;
}

function tickerSignal(ctx, logger, nk, dispatcher, tick, state, data) {
  return { state, data: "" };
}
