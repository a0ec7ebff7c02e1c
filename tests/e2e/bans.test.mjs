// A banned player: what its open sockets are told, and that it stays out.

import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { refused } from "./support/client.mjs";
import { onEveryServer } from "./support/matrix.mjs";
import { Player } from "./support/player.mjs";
import { Server } from "./support/server.mjs";

const BANNED = -8;

/** One socket for each format, of one player. */
async function twoSockets(server) {
  const first = await Player.connect(server, "json");
  return [first, await Player.connect(server, "protobuf", { session: first.session })];
}

/** How a socket ended. */
const end = async (player) => {
  const { code, reason } = await player.disconnected;
  return { code, reason };
};

for (const shards of [1, 4]) {
  describe(`bans (postgres, ${shards} shard${shards > 1 ? "s" : ""})`, () => {
    test("every socket of the player is told by the server that runs, and closes", async (t) => {
      const server = await Server.start({ database: "postgres", shards });
      t.after(() => server.dispose());
      const sockets = await twoSockets(server);
      const [bystander] = await twoSockets(server);
      const [{ client, session, userId }] = sockets;
      assert.match(await server.command("account", "ban", userId), /is banned/);
      for (const player of sockets) {
        const { id, create_time, persistent, sender_id, ...told } = await player.next("notification");
        assert.deepEqual(told, { subject: "banned", content: {}, code: BANNED });
        assert.match(id, /^[0-9a-f-]{36}$/);
        assert.ok(create_time);
        assert.deepEqual([persistent ?? false, sender_id || null], [false, null]);
        assert.deepEqual(await end(player), { code: 1008, reason: "the user was banned" });
        assert.deepEqual(player.unread("notification"), [], "once");
      }
      await refused(client.getAccount(session), 401, 16);
      assert.ok((await bystander.socket.send({ ping: {} })).pong);
      assert.deepEqual(bystander.unread("notification"), []);
    });
  });
}

onEveryServer("bans", (holder) => {
  test("who is banned while the server is away stays out, and is let in again", async () => {
    const { server } = holder;
    const [player] = await twoSockets(server);
    const { client, session, userId } = player;
    const deviceId = (await client.getAccount(session)).devices[0].id;
    await server.stop();
    await server.command("account", "ban", userId);
    await server.start();
    await refused(client.authenticateDevice(deviceId, false), 403, 7);
    await refused(client.getAccount(session), 401, 16);
    await server.stop();
    await server.command("account", "unban", userId);
    await server.start();
    const again = await client.authenticateDevice(deviceId, false);
    assert.equal(again.user_id, userId);
    await refused(client.getAccount(session), 401, 16);
    const back = await Player.connect(server, "json", { session: again });
    assert.ok((await back.socket.send({ ping: {} })).pong);
    assert.deepEqual(back.unread("notification"), []);
  });

  test("who logs out or deletes the account is not told of a ban", async () => {
    for (const leave of ["sessionLogout", "deleteAccount"]) {
      const sockets = await twoSockets(holder.server);
      const [{ client, session }] = sockets;
      await (leave === "deleteAccount"
        ? client.deleteAccount(session)
        : client.sessionLogout(session, session.token, session.refresh_token));
      for (const player of sockets) {
        assert.deepEqual(await end(player), { code: 1008, reason: "session token revoked" });
        assert.deepEqual(player.unread("notification"), []);
      }
    }
  });
});
