// Durable matches: they outlive the process that runs them, with what their players did, and pay once.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";

import { Cluster } from "./support/cluster.mjs";
import { startServer } from "./support/matrix.mjs";
import { metrics, until } from "./support/nodes.mjs";
import { connectPlayers, FORMAT_ORDERS, Player } from "./support/player.mjs";
import { copyDatabase } from "./support/server.mjs";

const MODULES = fileURLToPath(new URL("./modules-durable", import.meta.url));
const SAY = 1;
/** Ticks of five seconds, after which the next snapshot of a match is due. */
const SNAPSHOT_TICKS = 100;

const create = async (player) => (await player.client.rpc(player.session, "table_create", {})).payload.id;

const look = async (player, id, data) => (await player.client.rpc(player.session, "table_look", { id, data })).payload;

const heard = async (player) => JSON.parse(Buffer.from((await player.next("matchData")).data));

/** Says something in a match and waits until everybody in it has heard what it came to. */
async function say(speaker, players, id, word) {
  await speaker.socket.sendMatchState(id, SAY, word);
  return (await Promise.all(players.map(heard)))[0];
}

const chips = async (player) => {
  const { wallet } = await player.client.getAccount(player.session);
  return JSON.parse(wallet).chips ?? 0;
};

for (const [signal, kind] of [
  ["SIGKILL", { database: "sqlite", shards: 1 }],
  ["SIGKILL", { database: "sqlite", shards: 4 }],
  ["SIGTERM", { database: "sqlite", shards: 4 }],
  ["SIGKILL", { database: "postgres", shards: 2 }],
]) {
  test(`a match goes on when its server starts again after ${signal}: ${kind.database}, ${kind.shards} shards`, async (t) => {
    const server = await startServer(kind, { "runtime.path": MODULES });
    t.after(() => server.dispose());
    const [ann, bob] = await connectPlayers(server, FORMAT_ORDERS[0], 2);
    const ids = [await create(ann), await create(ann), await create(bob)];
    for (const id of ids) {
      await ann.socket.joinMatch(id);
      await bob.socket.joinMatch(id);
      for (const word of ["a", "p", "b"]) {
        await say(ann, [ann, bob], id, word);
      }
      assert.equal((await say(bob, [ann, bob], id, "c")).turns, 4);
    }
    const before = await Promise.all(ids.map((id) => look(ann, id, "timer")));
    const paid = await chips(ann);
    assert.equal(paid, before.reduce((sum, { deck }) => sum + deck[0], 0));

    await server.stop(signal);
    await server.start();
    const [ann2, bob2] = await Promise.all(
      [ann, bob].map((player, index) => Player.connect(server, FORMAT_ORDERS[0][index], { session: player.session })),
    );
    for (const [index, id] of ids.entries()) {
      const after = await look(ann2, id);
      const { deck, said, turns } = before[index];
      assert.deepEqual([after.deck, after.said, after.turns], [deck, said, turns], "all that was answered is there");
      assert.deepEqual(after.here, {}, "their sockets went with the server");
      assert.ok(after.tick >= before[index].tick);
      await ann2.socket.joinMatch(id);
      await bob2.socket.joinMatch(id);
    }
    for (const player of ids.flatMap(() => [ann2, bob2])) {
      assert.deepEqual(await heard(player), { timer: "bell", data: "rings" }, "timers go on too");
    }
    for (const id of ids) {
      assert.equal((await say(bob2, [ann2, bob2], id, "d")).said, "cd");
      assert.equal((await say(ann2, [ann2, bob2], id, "e")).turns, 6);
    }
    assert.equal(await chips(ann2), paid, "paid once");
    const { matches } = await ann2.client.listMatches(ann2.session, 10, true, "table");
    assert.deepEqual(matches.map(({ match_id }) => match_id).sort(), [...ids].sort());
  });
}

describe("in a cluster", () => {
  for (const how of ["SIGKILL", "SIGTERM"]) {
    test(`a match goes on at another node after ${how}, and its players notice nothing`, async (t) => {
      const cluster = await Cluster.start({ nodes: 3, shards: 2, flags: { "runtime.path": MODULES } });
      t.after(() => cluster.dispose());
      const { nodes } = cluster;
      const players = await Promise.all([0, 1].map((index) => Player.connect(nodes[index], index ? "protobuf" : "json")));
      const [ann, bob] = players;
      const maker = await Player.connect(nodes[2], "json");
      // A durable match begins where it is made; with a partition that is still shared out it would go elsewhere at once.
      await cluster.shared();
      const ids = [await create(maker), await create(maker), await create(maker)];
      for (const id of ids) {
        await ann.socket.joinMatch(id);
        await bob.socket.joinMatch(id);
        await say(ann, players, id, "p");
        assert.equal((await say(bob, players, id, "b")).node, "node-2");
      }
      const before = await Promise.all(ids.map((id) => look(ann, id)));
      const paid = await chips(ann);
      assert.ok(paid > 0);

      await nodes[2].stop(how);
      const gauges = async () => Promise.all([nodes[0], nodes[1]].map(async (node) => (await metrics(node))("match_durable")));
      await until("they have all matches", async () => (await gauges()).reduce((sum, count) => sum + count, 0) === ids.length);
      for (const [index, id] of ids.entries()) {
        const after = await look(bob, id);
        const { deck, said, here } = before[index];
        assert.deepEqual([after.deck, after.said, after.here], [deck, said, here]);
        // Its code sees what it saw before, also the node that made it.
        assert.equal(after.node, "node-2");
        assert.equal((await say(ann, players, id, "c")).said, "pc");
        assert.equal((await say(bob, players, id, "d")).turns, 4);
      }
      assert.equal(await chips(ann), paid, "paid once");
      assert.deepEqual(players.map((player) => player.unread("matchPresence").flatMap(({ leaves }) => leaves ?? [])), [[], []]);
    });
  }

  test("a node that is voted out closes its sockets at once, and its match goes on at another", async (t) => {
    // Nobody waits for a drain that would take so long.
    const flags = { "runtime.path": MODULES, shutdown_drain_sec: 1_000 };
    const cluster = await Cluster.start({ nodes: 3, shards: 2, flags });
    t.after(() => cluster.dispose());
    const { nodes } = cluster;
    const ann = await Player.connect(nodes[0], "json");
    const cid = await Player.connect(nodes[2], "protobuf");
    await cluster.shared();
    const id = await create(cid);
    await ann.socket.joinMatch(id);
    await cid.socket.joinMatch(id);
    await say(cid, [ann, cid], id, "p");
    const { deck } = await look(ann, id);

    process.kill(nodes[2].pid, "SIGSTOP");
    await nodes[0].logged("a node is gone from the cluster");
    const counts = async () => Promise.all([nodes[0], nodes[1]].map(async (node) => (await metrics(node))("match_durable")));
    await until("another node has the match", async () => (await counts()).some((count) => count === 1));
    assert.equal((await say(ann, [ann], id, "c")).said, "c");
    process.kill(nodes[2].pid, "SIGCONT");
    await cid.disconnected;
    await nodes[2].ready();
    const back = await Player.connect(nodes[2], "json", { session: cid.session });
    await back.socket.joinMatch(id);
    assert.equal((await say(back, [ann, back], id, "d")).said, "pd");
    assert.deepEqual((await look(back, id)).deck, deck);
  });

  test("matches whose database is older than their log wait for the one that belongs to it, and pay nothing", async (t) => {
    const cluster = await Cluster.start({ nodes: 2, shards: 2, flags: { "runtime.path": MODULES } });
    t.after(() => cluster.dispose());
    const { nodes } = cluster;
    let ann = await Player.connect(nodes[0], "json");
    const ids = [await create(ann), await create(ann), await create(ann)];
    const comeBack = async () => (ann = await Player.connect(nodes[0], "json", { session: ann.session }));
    const pay = async () => {
      for (const id of ids) {
        await ann.socket.joinMatch(id);
        await say(ann, [ann], id, "p");
      }
      return chips(ann);
    };
    const useDatabase = async (address) => {
      await cluster.stop();
      nodes.forEach((node) => (node.flags["database.address"] = address));
    };
    const paid = await pay();
    const database = nodes[0].flags["database.address"];
    await useDatabase(database);
    const older = await copyDatabase(database);
    await cluster.start();
    await comeBack();
    await until("they have all matches", async () => {
      const counts = await Promise.all(nodes.map(async (node) => (await metrics(node))("match_durable")));
      return counts.reduce((sum, count) => sum + count, 0) === ids.length;
    });
    assert.equal(await pay(), 2 * paid);
    // By then each match has written snapshots, and its log has nothing from before the payments.
    for (const id of ids) {
      const { tick } = await look(ann, id);
      await until("two snapshots are due", async () => (await look(ann, id)).tick > tick + 2 * SNAPSHOT_TICKS);
    }
    const before = await Promise.all(ids.map((id) => look(ann, id)));

    await useDatabase(older);
    await cluster.start();
    const told = (id) => cluster.log.split("\n").some((line) => line.includes("cannot go on") && line.includes(id.split(".")[0]));
    await until("the operator is told of each match", async () => ids.every(told));
    await comeBack();
    assert.equal(await chips(ann), paid);
    for (const id of ids) {
      await assert.rejects(look(ann, id, "timer"));
    }
    const listed = await cluster.command("match", "list", "--dev");
    for (const id of ids) {
      assert.match(listed, new RegExp(`^${id.split(".")[0]} .*the database does not have`, "m"));
    }

    await useDatabase(database);
    await cluster.start();
    await comeBack();
    for (const [index, id] of ids.entries()) {
      await until("the match goes on", () => look(ann, id).then(() => true, () => false));
      const { deck, said, turns } = await look(ann, id);
      assert.deepEqual([deck, said, turns], [before[index].deck, before[index].said, before[index].turns]);
    }
    assert.equal(await chips(ann), 2 * paid);
    assert.equal(await pay(), 3 * paid);
  });
});
