// Game code for javascript.test.mjs: functions, hooks and a match, as bundled from the original's template.
"use strict";

const OP = { say: 1, said: 2, kick: 3, over: 4 };

function echo(ctx, logger, nk, payload) {
  return payload;
}

function context(ctx, logger, nk, payload) {
  return JSON.stringify(ctx);
}

function refuse() {
  throw { message: "no chips", code: nkruntime.Codes.FAILED_PRECONDITION };
}

function broken() {
  throw new Error("broken");
}

function headers(ctx, logger, nk, payload) {
  return JSON.stringify(nk.httpRequest(JSON.parse(payload).url, "get").headers);
}

function endless() {
  for (;;);
}

// Gives a prize once a day, as a game would.
function prize(ctx, logger, nk, payload) {
  const today = JSON.parse(payload).day;
  const id = { collection: "prizes", key: "daily", userId: ctx.userId };
  const [seen] = nk.storageRead([id]);
  if (seen && seen.value.last_day === today) {
    throw { message: "come back tomorrow", code: 9 };
  }
  const { updated } = nk.walletUpdate(ctx.userId, { gold: 10 }, { reason: "daily" }, true);
  nk.storageWrite([
    { ...id, value: { last_day: today }, permissionRead: 1, permissionWrite: 0, version: seen ? seen.version : "*" },
  ]);
  return JSON.stringify({ gold: updated.gold });
}

function beforeUpdateAccount(ctx, logger, nk, data) {
  if (data.displayName === "rude") {
    throw { message: "be kind", code: 3 };
  }
  data.displayName = `${data.displayName} of ${ctx.username}`;
  return data;
}

function beforeListNotifications() {}

function afterAuthenticateDevice(ctx, logger, nk, out, data) {
  if (out.created && data.account.vars.gift) {
    nk.walletUpdate(ctx.userId, { gold: Number(data.account.vars.gift) });
  }
}

function beforeChannelMessageSend(ctx, logger, nk, envelope) {
  const message = envelope.channelMessageSend;
  const { text } = JSON.parse(message.content);
  if (text === "rude") {
    throw { message: "be kind", code: 3 };
  }
  message.content = JSON.stringify({ text: `${text}!` });
  return envelope;
}

function afterChannelJoin(ctx, logger, nk, output, input) {
  const value = { channel: output.channel.id, target: input.channelJoin.target, session: ctx.sessionId };
  nk.storageWrite([{ collection: "hooks", key: "joined", userId: ctx.userId, value }]);
}

function joined(ctx, logger, nk) {
  const [found] = nk.storageRead([{ collection: "hooks", key: "joined", userId: ctx.userId }]);
  return JSON.stringify(found.value);
}

function matchInit(ctx, logger, nk, params) {
  const state = { said: 0, greeting: params.greeting, secret: params.secret };
  return { state, tickRate: 20, label: JSON.stringify({ mode: params.mode, open: 1 }) };
}

function matchJoinAttempt(ctx, logger, nk, dispatcher, tick, state, presence, metadata) {
  if (state.secret && metadata.secret !== state.secret) {
    return { state, accept: false, rejectMessage: "the secret is wrong" };
  }
  return { state, accept: true };
}

function matchJoin(ctx, logger, nk, dispatcher, tick, state, presences) {
  for (const presence of presences) {
    dispatcher.broadcastMessage(OP.said, `${state.greeting} ${presence.username}`, [presence]);
  }
  return { state };
}

function matchLeave(ctx, logger, nk, dispatcher, tick, state, presences) {
  for (const presence of presences) {
    dispatcher.broadcastMessage(OP.said, `bye ${presence.username}`);
  }
  return { state };
}

function matchLoop(ctx, logger, nk, dispatcher, tick, state, messages) {
  for (const message of messages) {
    if (message.opCode === OP.say) {
      state.said += 1;
      const data = nk.stringToBinary(`${state.said} ${nk.binaryToString(message.data)}`);
      dispatcher.broadcastMessage(OP.said, data, null, message.sender);
    } else if (message.opCode === OP.kick) {
      dispatcher.matchKick([message.sender]);
    } else if (message.opCode === OP.over) {
      return null;
    }
  }
  return { state };
}

function matchTerminate(ctx, logger, nk, dispatcher, tick, state, graceSeconds) {
  return null;
}

function matchSignal(ctx, logger, nk, dispatcher, tick, state, data) {
  dispatcher.matchLabelUpdate(JSON.stringify({ mode: data, open: 0 }));
  return { state, data: String(state.said) };
}

// A match with four seats, which counts its players when they have joined.
const SEATS = 4;

function seatsInit(ctx, logger, nk, params) {
  return { state: { count: 0 }, tickRate: 20, label: "" };
}

function seatsJoinAttempt(ctx, logger, nk, dispatcher, tick, state, presence, metadata) {
  return { state, accept: state.count < SEATS, rejectMessage: "full" };
}

function seatsJoin(ctx, logger, nk, dispatcher, tick, state, presences) {
  state.count += presences.length;
  return { state };
}

function seatsLeave(ctx, logger, nk, dispatcher, tick, state, presences) {
  state.count -= presences.length;
  return { state };
}

function seatsLoop(ctx, logger, nk, dispatcher, tick, state, messages) {
  return { state };
}

function createSeats(ctx, logger, nk, payload) {
  return JSON.stringify({ id: nk.matchCreate("seats", {}) });
}

function create(ctx, logger, nk, payload) {
  return JSON.stringify({ id: nk.matchCreate("arena", JSON.parse(payload)) });
}

function signal(ctx, logger, nk, payload) {
  const asked = JSON.parse(payload);
  return JSON.stringify({ said: nk.matchSignal(asked.id, asked.data), match: nk.matchGet(asked.id) });
}

function list(ctx, logger, nk, payload) {
  return JSON.stringify(nk.matchList(10, true, null, 0, 100, JSON.parse(payload).query));
}

function matched(ctx, logger, nk, players) {
  const { topic } = players[0].properties;
  return nk.matchCreate("arena", { greeting: ctx.executionMode, mode: topic });
}

function InitModule(ctx, logger, nk, initializer) {
  initializer.registerRpc("echo", echo);
  initializer.registerRpc("context", context);
  initializer.registerRpc("refuse", refuse);
  initializer.registerRpc("broken", broken);
  initializer.registerRpc("endless", endless);
  initializer.registerRpc("headers", headers);
  initializer.registerRpc("prize", prize);
  initializer.registerRpc("joined", joined);
  initializer.registerRpc("arena_create", create);
  initializer.registerRpc("arena_signal", signal);
  initializer.registerRpc("arena_list", list);
  initializer.registerRpc("seats_create", createSeats);
  initializer.registerBeforeUpdateAccount(beforeUpdateAccount);
  initializer.registerBeforeListNotifications(beforeListNotifications);
  initializer.registerAfterAuthenticateDevice(afterAuthenticateDevice);
  initializer.registerRtBefore("ChannelMessageSend", beforeChannelMessageSend);
  initializer.registerRtAfter("ChannelJoin", afterChannelJoin);
  initializer.registerMatchmakerMatched(matched);
  initializer.registerMatch("arena", {
    matchInit,
    matchJoinAttempt,
    matchJoin,
    matchLeave,
    matchLoop,
    matchTerminate,
    matchSignal,
  });
  initializer.registerMatch("seats", {
    matchInit: seatsInit,
    matchJoinAttempt: seatsJoinAttempt,
    matchJoin: seatsJoin,
    matchLeave: seatsLeave,
    matchLoop: seatsLoop,
    matchTerminate,
    matchSignal,
  });
}

// This use of the function keeps bundlers from removing it.
!InitModule && InitModule.bind(null);
