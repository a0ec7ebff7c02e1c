// The ten lines that a newcomer writes first, in both formats, on every kind of server.

import assert from "node:assert/strict";
import { test } from "node:test";

import { clientOf, newEmail, newId, socketOf } from "./support/client.mjs";
import { FORMATS, onEveryServer } from "./support/matrix.mjs";

/** Far below the default, so that several heartbeats of the client's own fit into a test. */
const HEARTBEAT_MS = 50;
const HEARTBEATS = 5;

onEveryServer("first contact", (holder) => {
  for (const format of FORMATS) {
    test(`a player signs in, saves, and stays connected: ${format}`, async () => {
      const client = clientOf(holder.server);
      const byDevice = await client.authenticateDevice(newId(), true);
      assert.equal(byDevice.created, true);
      const email = newEmail();
      const session = await client.authenticateEmail(email, "correct horse", true);
      assert.equal(session.created, true);
      const again = await client.authenticateEmail(email, "correct horse", false);
      assert.deepEqual([again.created, again.user_id], [false, session.user_id]);

      const value = { level: 7, name: "Zoë" };
      const { acks } = await client.writeStorageObjects(session, [{ collection: "saves", key: "slot1", value }]);
      assert.equal(acks.length, 1);
      const object = { collection: "saves", key: "slot1", user_id: session.user_id };
      const { objects } = await client.readStorageObjects(session, { object_ids: [object] });
      assert.deepEqual(objects[0].value, value);

      const socket = socketOf(client, format);
      let disconnected = false;
      socket.ondisconnect = () => (disconnected = true);
      socket.onheartbeattimeout = () => assert.fail("a heartbeat was not answered");
      socket.setHeartbeatTimeoutMs(10_000);
      await socket.connect(session, true);
      for (let sent = 0; sent < HEARTBEATS; sent += 1) {
        const answer = await socket.send({ ping: {} });
        assert.ok(answer.pong, `a ping is answered with a pong, got ${JSON.stringify(answer)}`);
      }
      assert.equal(disconnected, false);
      socket.ondisconnect = () => {};
      socket.disconnect(false);
    });

    test(`the client's own heartbeat keeps a socket open: ${format}`, async () => {
      const client = clientOf(holder.server);
      const session = await client.authenticateDevice(newId(), true);
      const socket = socketOf(client, format);
      const beats = new Promise((resolve, reject) => {
        socket.ondisconnect = () => reject(new Error("the server closed the socket"));
        socket.onheartbeattimeout = () => reject(new Error("a heartbeat was not answered"));
        const send = socket.send.bind(socket);
        let answered = 0;
        socket.send = async (message, ...rest) => {
          const answer = await send(message, 10_000, ...rest.slice(1));
          answered += 1;
          if (answered === HEARTBEATS) {
            resolve();
          }
          return answer;
        };
      });
      socket.setHeartbeatTimeoutMs(HEARTBEAT_MS);
      await socket.connect(session, false);
      await beats;
      socket.ondisconnect = () => {};
      socket.disconnect(false);
    });
  }

  test("two players on one socket each do not hear each other", async () => {
    const client = clientOf(holder.server);
    const sockets = await Promise.all(
      FORMATS.map(async (format) => {
        const socket = socketOf(client, format);
        await socket.connect(await client.authenticateDevice(newId(), true), false);
        return socket;
      }),
    );
    const answers = await Promise.all(sockets.map((socket) => socket.send({ ping: {} })));
    assert.ok(answers.every((answer) => answer.pong));
    sockets.forEach((socket) => socket.disconnect(false));
  });
});
