// The game of examples/highcard, played by its bots, while servers are killed: no chip is lost or made, no card is shown to
// anybody else.

import assert from "node:assert/strict";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

import { Bots } from "../../examples/highcard/bots.mjs";
import { clientOf, newId, socketOf } from "./support/client.mjs";
import { Cluster } from "./support/cluster.mjs";
import { FORMATS, startServer } from "./support/matrix.mjs";

const GAME = fileURLToPath(new URL("../../examples/highcard/lua", import.meta.url));
const PLAYERS = 6;
const HANDS = 2;

/** Players who come to the servers in turn, and to the next one if theirs is away. */
function comers(servers) {
  return Array.from({ length: PLAYERS }, (_, index) => {
    const device = newId();
    let tries = 0;
    return async () => {
      const client = clientOf(servers[(index + tries++) % servers.length]);
      const session = await client.authenticateDevice(device, true);
      tries -= 1;
      return { client, session, socket: socketOf(client, FORMATS[index % FORMATS.length]) };
    };
  });
}

async function check(bots) {
  const counted = await bots.count();
  assert.ok(counted.isRight, JSON.stringify(counted));
  assert.ok(counted.onTables > 0);
  assert.deepEqual(bots.faults, []);
}

for (const kind of [
  { database: "sqlite", shards: 2 },
  { database: "postgres", shards: 2 },
]) {
  test(`no chip is lost when the server is killed: ${kind.database}`, async (t) => {
    const server = await startServer(kind, { "runtime.path": GAME });
    t.after(() => server.dispose());
    const bots = await Bots.come(comers([server]));
    t.after(() => bots.end());
    for (let kill = 0; kill < 3; kill += 1) {
      await bots.play(HANDS);
      await check(bots);
      await bots.play(1);
      await server.stop("SIGKILL");
      await server.start();
      await check(bots);
    }
    await bots.play(HANDS);
    await check(bots);
  });
}

test("no chip is lost when one node after the other is killed", async (t) => {
  const cluster = await Cluster.start({ nodes: 3, shards: 2, flags: { "runtime.path": GAME } });
  t.after(() => cluster.dispose());
  const bots = await Bots.come(comers(cluster.nodes));
  t.after(() => bots.end());
  for (const node of cluster.nodes) {
    await bots.play(HANDS);
    await check(bots);
    await bots.play(1);
    await node.stop("SIGKILL");
    await bots.play(HANDS);
    await check(bots);
    await node.start();
  }
  await bots.play(HANDS);
  await check(bots);
});
