// Hooks of game code as clients meet them: before and after operations over HTTP, and messages of sockets.

import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { test } from "node:test";

import { clientOf, newId, socketOf } from "./support/client.mjs";
import { FORMATS, onEveryServer, startServer } from "./support/matrix.mjs";

const MODULES = fileURLToPath(new URL("./modules", import.meta.url));
const FLAGS = { "runtime.path": MODULES, "runtime.env": "GAME=highcard" };

const refusal = async (request) => {
  const response = await request.then(
    () => assert.fail("it was not refused"),
    (refused) => refused,
  );
  return [response.status, await response.json()];
};

onEveryServer(
  "hooks of game code",
  (holder) => {
    test("before an operation: changes, refuses, and slips", async () => {
      const client = clientOf(holder.server);
      const session = await client.authenticateDevice(newId(), true);
      await client.updateAccount(session, { display_name: "Ann" });
      const { user } = await client.getAccount(session);
      assert.equal(user.display_name, `Ann of ${session.username}`);
      const rude = client.updateAccount(session, { display_name: "rude" });
      assert.deepEqual(await refusal(rude), [400, { code: 3, message: "be kind" }]);
      const typo = client.updateAccount(session, { display_name: "typo" });
      assert.deepEqual((await refusal(typo))[0], 500);
      assert.equal((await client.getAccount(session)).user.display_name, `Ann of ${session.username}`);
    });

    test("before an operation: switches it off", async () => {
      const client = clientOf(holder.server);
      const session = await client.authenticateDevice(newId(), true);
      const message = "ListNotifications is switched off.";
      assert.deepEqual(await refusal(client.listNotifications(session, 10)), [404, { code: 5, message }]);
    });

    test("after an operation: output and input, done before the client hears", async () => {
      const client = clientOf(holder.server);
      const id = newId();
      for (const gift of ["7", "8"]) {
        const session = await client.authenticateDevice(id, true, "", { gift });
        // Its own hook fails, and nobody is told.
        assert.deepEqual(JSON.parse((await client.getAccount(session)).wallet), { gold: 7 });
      }
    });

    for (const format of FORMATS) {
      test(`around messages of a socket: ${format}`, async () => {
        const client = clientOf(holder.server);
        const session = await client.authenticateDevice(newId(), true);
        const socket = socketOf(client, format);
        const heard = [];
        const last = new Promise((resolve) => {
          socket.onchannelmessage = (message) => {
            heard.push(message.content.text);
            if (message.content.text === "bye!") {
              resolve();
            }
          };
        });
        await socket.connect(session, true);
        const channel = await socket.joinChat(newId(), 1, true, false);
        const joined = JSON.parse((await socket.rpc("joined", "")).payload);
        assert.deepEqual([joined.channel, joined.lang], [channel.id, "en"]);
        assert.ok(channel.id.endsWith(joined.target));
        assert.match(joined.session, /^[0-9a-f-]{36}$/);
        await socket.writeChatMessage(channel.id, { text: "hello" });
        const spam = await socket.writeChatMessage(channel.id, { text: "spam" }).catch((error) => error);
        assert.deepEqual([spam.code, spam.message], [1, "ChannelMessageSend is switched off."]);
        const rude = await socket.writeChatMessage(channel.id, { text: "rude" }).catch((error) => error);
        assert.deepEqual([rude.code, rude.message], [7, "be kind"]);
        // The socket is as it was.
        await socket.writeChatMessage(channel.id, { text: "bye" });
        const { messages } = await client.listChannelMessages(session, channel.id, 10, true);
        assert.deepEqual(
          messages.map((message) => message.content.text),
          ["hello!", "bye!"],
        );
        await last;
        assert.deepEqual(heard, ["hello!", "bye!"]);
        socket.disconnect(false);
      });
    }
  },
  FLAGS,
);

test("game code hears that its server stops, once", async () => {
  const server = await startServer({ database: "sqlite", shards: 4 }, FLAGS);
  await server.stop();
  assert.equal(server.log.split("farewell within 10 seconds").length - 1, 1);
  await server.dispose();
});
