// Game code that changes while players are there, that hears of events, and that runs at moments.

import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import { startServer } from "./support/matrix.mjs";
import { until } from "./support/nodes.mjs";
import { connectPlayers, FORMAT_ORDERS } from "./support/player.mjs";

const OP_SAID = 2;

/** A server whose modules a test may change. What modules keep for the whole process is theirs alone on one shard. */
async function startWith(t, modules, { shards = 1, flags = {}, kind = { database: "sqlite" }, file = "game.lua" } = {}) {
  const folder = await mkdtemp(join(tmpdir(), "muster-modules-"));
  const write = (text) => writeFile(join(folder, file), text);
  await write(modules);
  const server = await startServer({ shards, ...kind }, { "runtime.path": folder, ...flags });
  t.after(async () => {
    await server.dispose();
    await rm(folder, { recursive: true });
  });
  return { server, write };
}

const payloadOf = async (player, id) => (await player.client.rpc(player.session, id, {})).payload;

/** A module that is a match, too: it says `text` to whoever comes, and to a call. */
const saying = (text) => `
  local nk = require("nakama")
  nk.register_rpc(function() return nk.json_encode({ said = "${text}" }) end, "ask")
  nk.register_rpc(function() return nk.json_encode({ id = nk.match_create("game", {}) }) end, "create")
  local M = {}
  function M.match_init(context, params) return {}, 20, "" end
  function M.match_join_attempt(context, dispatcher, tick, state, presence, metadata) return state, true end
  function M.match_join(context, dispatcher, tick, state, presences)
    dispatcher.broadcast_message(${OP_SAID}, "${text}", presences)
    return state
  end
  function M.match_leave(context, dispatcher, tick, state, presences) return state end
  function M.match_loop(context, dispatcher, tick, state, messages)
    for _, message in ipairs(messages) do
      dispatcher.broadcast_message(${OP_SAID}, "${text} " .. message.data)
    end
    return state
  end
  function M.match_terminate(context, dispatcher, tick, state, grace_seconds) return state end
  function M.match_signal(context, dispatcher, tick, state, data) return state, data end
  return M
`;

for (const formats of FORMAT_ORDERS) {
  test(`code that changes is new for what begins, and matches go on: ${formats.join(" and ")}`, async (t) => {
    const { server, write } = await startWith(t, saying("old"), { shards: 2 });
    const [ann, bob] = await connectPlayers(server, formats, 2);
    const said = async () => (await payloadOf(ann, "ask")).said;
    const heard = async (player) => Buffer.from((await player.next("matchData")).data).toString();
    const { id: running } = await payloadOf(ann, "create");
    await ann.socket.joinMatch(running);
    assert.equal(await heard(ann), "old");
    assert.equal(await said(), "old");

    await write(saying("new and longer"));
    await server.logged("the new game code runs");
    assert.equal(await said(), "new and longer");
    await ann.socket.sendMatchState(running, 1, "still");
    assert.equal(await heard(ann), "old still");
    const { id: next } = await payloadOf(bob, "create");
    await bob.socket.joinMatch(next);
    assert.equal(await heard(bob), "new and longer");

    await write("local this is\n no Lua");
    await server.logged("what runs goes on");
    assert.match(server.log, /game\.lua:1/);
    assert.equal(await said(), "new and longer");
    await ann.socket.sendMatchState(running, 1, "here");
    assert.equal(await heard(ann), "old here");
  });
}

/** A match that counts what is said; `takes` is what it has of a function for matches of earlier code. */
const COUNTING = {
  "game.lua": (name, takes) => `
    local nk = require("nakama")
    nk.register_rpc(function() return nk.json_encode({ id = nk.match_create("game", {}) }) end, "create")
    local M = {}
    function M.match_init() return { said = 0 }, 20, "counting" end
    function M.match_join_attempt(context, dispatcher, tick, state) return state, true end
    function M.match_join(context, dispatcher, tick, state) return state end
    function M.match_leave(context, dispatcher, tick, state) return state end
    function M.match_loop(context, dispatcher, tick, state, messages)
      for _, message in ipairs(messages) do
        state.said = state.said + 1
        dispatcher.broadcast_message(${OP_SAID}, "${name} " .. state.said .. " " .. context.match_label)
      end
      return state
    end
    function M.match_terminate() return nil end
    function M.match_signal(context, dispatcher, tick, state) return state end
    ${takes ? `function M.match_migrate(context, state, from) ${takes} end` : ""}
    return M
  `,
  "index.js": (name, takes) => `
    const matchInit = () => ({ state: { said: 0 }, tickRate: 20, label: "counting" });
    const matchJoinAttempt = (ctx, logger, nk, dispatcher, tick, state) => ({ state, accept: true });
    const goes = (ctx, logger, nk, dispatcher, tick, state) => ({ state });
    function matchLoop(ctx, logger, nk, dispatcher, tick, state, messages) {
      for (const message of messages) {
        state.said += 1;
        dispatcher.broadcastMessage(${OP_SAID}, "${name} " + state.said + " " + ctx.matchLabel);
      }
      return { state };
    }
    ${takes ? `function matchMigrate(ctx, logger, nk, state, from) { ${takes} }` : "const matchMigrate = undefined;"}
    function InitModule(ctx, logger, nk, initializer) {
      initializer.registerRpc("create", (ctx, logger, nk) => JSON.stringify({ id: nk.matchCreate("game", {}) }));
      initializer.registerMatch("game", { matchInit, matchJoinAttempt, matchJoin: goes, matchLeave: goes, matchLoop,
        matchTerminate: () => null, matchSignal: goes, matchMigrate });
    }
  `,
};
const TAKES = {
  "game.lua": { fails: 'error("not now")', well: "return { said = state.said + 100 * from }" },
  "index.js": { fails: 'throw new Error("not now")', well: "return { state: { said: state.said + 100 * from } }" },
};

for (const file of Object.keys(COUNTING)) {
  test(`a running match goes over to newer code that takes it: ${file}`, async (t) => {
    const write = (name, takes) => COUNTING[file](name, takes);
    const { server, write: save } = await startWith(t, write("old"), { shards: 2, file });
    const [ann, bob] = await connectPlayers(server, ["json", "protobuf"], 2);
    const { id } = await payloadOf(ann, "create");
    const says = async () => {
      await ann.socket.sendMatchState(id, 1, "more");
      const heard = await Promise.all([ann, bob].map((player) => player.next("matchData")));
      const [text, other] = heard.map(({ data }) => Buffer.from(data).toString());
      assert.equal(text, other);
      return text;
    };
    for (const player of [ann, bob]) {
      await player.socket.joinMatch(id);
    }
    assert.equal(await says(), "old 1 counting");
    let changes = 0;
    const change = async (name, takes) => {
      await save(write(name, takes));
      changes += 1;
      await until("the new code runs", () => server.log.split("the new game code runs").length > changes);
    };
    await change("without", undefined);
    assert.equal(await says(), "old 2 counting");
    await change("failing", TAKES[file].fails);
    assert.equal(await says(), "old 3 counting");
    await server.logged("did not go over to newer code");
    assert.match(server.log, /not now/);
    await change("taking", TAKES[file].well);
    assert.equal(await says(), "taking 104 counting");
    await server.logged("a match went over to newer code");
    const { matches } = await ann.client.listMatches(ann.session, 10, true, "counting");
    assert.deepEqual(matches.map(({ match_id, size }) => [match_id, size]), [[id, 2]]);
  });
}

test("from a change on players meet where the new code says", async (t) => {
  const { server, write } = await startWith(t, saying("hello"), { shards: 2, flags: { "matchmaker.interval_sec": 1 } });
  const players = await connectPlayers(server, ["json", "protobuf"], 2);
  const matched = async () => {
    await Promise.all(players.map((player) => player.socket.addMatchmaker("*", 2, 2)));
    return Promise.all(players.map((player) => player.next("matched")));
  };
  assert.deepEqual((await matched()).map(({ match_id }) => match_id ?? ""), ["", ""]);
  const asks = 'require("nakama").register_matchmaker_matched(function() return require("nakama").match_create("game") end)';
  await write(`${asks}\n${saying("hello")}`);
  await server.logged("the new game code runs");
  const [one, other] = await matched();
  assert.ok(one.match_id);
  assert.equal(one.match_id, other.match_id);
  assert.equal((await players[1].socket.joinMatch(one.match_id)).authoritative, true);
});

test("functions hear of events, of clients and of sockets that come and go", async (t) => {
  const module = `
    local nk = require("nakama")
    local function hear(context, event)
      local heard = nk.localcache_get("heard") or {}
      table.insert(heard, { user = context.user_id, session = context.session_id, mode = context.execution_mode, event = event })
      nk.localcache_put("heard", heard)
    end
    nk.register_event(hear)
    nk.register_event_session_start(hear)
    nk.register_event_session_end(hear)
    nk.register_rpc(function() return nk.json_encode({ heard = nk.localcache_get("heard") }) end, "heard")
    nk.register_rpc(function() nk.event("reported", { by = "code" }) end, "report")
  `;
  const { server } = await startWith(t, module);
  const [ann, bob] = await connectPlayers(server, ["json", "protobuf"], 2);
  await ann.client.emitEvent(ann.session, { name: "level_up", properties: { level: "7" } });
  await ann.client.rpc(ann.session, "report", {});
  await bob.disconnect();
  let heard;
  const named = (name) => heard.filter(({ event }) => event.name === name);
  await until("game code has heard of all", async () => {
    heard = Object.values((await payloadOf(ann, "heard")).heard ?? {});
    return heard.length >= 5;
  });
  assert.deepEqual(named("session_start").map(({ user }) => user).sort(), [ann.userId, bob.userId].sort());
  const [end] = named("session_end");
  assert.deepEqual([end.user, end.mode, end.event.properties], [bob.userId, "event", { reason: "client_closed" }]);
  assert.ok(named("session_start").some(({ session }) => session === end.session));
  const [up] = named("level_up");
  assert.deepEqual([up.user, up.event.properties], [ann.userId, { level: "7" }]);
  assert.ok(Date.parse(up.event.timestamp) > 0);
  const [reported] = named("reported");
  assert.deepEqual([reported.user, reported.event.properties], [undefined, { by: "code" }]);
});

test("a function runs at each moment that its expression names, once", async (t) => {
  const module = `
    local nk = require("nakama")
    nk.register_schedule(function(context, due)
      local runs = nk.localcache_get("runs") or {}
      table.insert(runs, context.execution_mode .. " " .. due)
      nk.localcache_put("runs", runs)
    end, "* * * * * * *")
    nk.register_rpc(function() return nk.json_encode({ runs = nk.localcache_get("runs") }) end, "runs")
  `;
  const { server } = await startWith(t, module);
  const [ann] = await connectPlayers(server, ["json"], 1);
  let runs;
  await until("it has run some times", async () => {
    runs = Object.values((await payloadOf(ann, "runs")).runs ?? {});
    return runs.length >= 3;
  });
  assert.equal(new Set(runs).size, runs.length, "none twice");
  assert.ok(runs.every((run) => /^schedule \d+$/.test(run)), runs.join(", "));
});

test("of several nodes one runs it, and goes on when that one is gone", async (t) => {
  const module = `
    local nk = require("nakama")
    nk.register_schedule(function(context, due)
      nk.storage_write({ { collection = "runs", key = due .. " " .. context.node, value = {} } })
    end, "* * * * * * *")
    nk.register_rpc(function()
      local keys = {}
      for _, object in ipairs(nk.storage_list(nil, "runs", 100)) do table.insert(keys, object.key) end
      return nk.json_encode({ runs = keys })
    end, "runs")
  `;
  const { server } = await startWith(t, module, { shards: 2, kind: { database: "postgres", nodes: 3 } });
  const nodes = [...server.nodes];
  const [ann] = await connectPlayers(nodes[0], ["json"], 1);
  let runs = [];
  const ran = async (count) => {
    runs = Object.values((await payloadOf(ann, "runs")).runs ?? {});
    return runs.length >= count;
  };
  await until("it has run some times", () => ran(3));
  const moments = () => runs.map((run) => run.split(" ")[0]);
  assert.equal(new Set(moments()).size, runs.length, `none twice: ${runs.join(", ")}`);
  // Whichever of the others does it now, one of the three does.
  await nodes[2].stop("SIGKILL");
  const before = runs.length;
  await until("it goes on", () => ran(before + 3));
  assert.equal(new Set(moments()).size, runs.length, `none twice: ${runs.join(", ")}`);
});
