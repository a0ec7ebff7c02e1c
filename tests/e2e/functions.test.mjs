// Functions of game code as clients call them: over HTTP in each way, and over sockets in both formats.

import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { test } from "node:test";

import { clientOf, newId, socketOf } from "./support/client.mjs";
import { FORMATS, onEveryServer } from "./support/matrix.mjs";

const MODULES = fileURLToPath(new URL("./modules", import.meta.url));

onEveryServer(
  "functions of game code",
  (holder) => {
    test("over HTTP", async () => {
      const client = clientOf(holder.server);
      const session = await client.authenticateDevice(newId(), true, "", { mode: "ranked" });
      const echo = await client.rpc(session, "Echo", { text: "Zoë" });
      assert.deepEqual(echo.payload, { text: "Zoë" });
      const { payload } = await client.rpc(session, "context", {});
      assert.equal(payload.user_id, session.user_id);
      assert.equal(payload.username, session.username);
      assert.equal(payload.execution_mode, "rpc");
      assert.equal(payload.env.GAME, "highcard");
      const refused = await client.rpc(session, "refuse", {}).catch((response) => response);
      assert.equal(refused.status, 400);
      assert.deepEqual(await refused.json(), { error: {}, code: 9, message: "no chips" });
      const missing = await client.rpc(session, "nothing", {}).catch((response) => response);
      assert.equal(missing.status, 404);
    });

    for (const format of FORMATS) {
      test(`over a socket: ${format}`, async () => {
        const client = clientOf(holder.server);
        const session = await client.authenticateDevice(newId(), true);
        const socket = socketOf(client, format);
        await socket.connect(session, true);
        const echo = await socket.rpc("echo", JSON.stringify({ text: "Zoë" }));
        assert.deepEqual(JSON.parse(echo.payload), { text: "Zoë" });
        const context = JSON.parse((await socket.rpc("context", "")).payload);
        assert.equal(context.user_id, session.user_id);
        assert.match(context.session_id, /^[0-9a-f-]{36}$/);
        const refused = await socket.rpc("refuse", "").catch((error) => error);
        assert.deepEqual([refused.code, refused.message], [7, "no chips"]);
        const missing = await socket.rpc("nothing", "").catch((error) => error);
        assert.equal(missing.code, 6);
        assert.equal((await socket.rpc("echo", "again")).payload, "again");
        socket.disconnect(false);
      });
    }

    test("what a function writes is what players read", async () => {
      const client = clientOf(holder.server);
      const session = await client.authenticateDevice(newId(), true);
      const prize = (day) => client.rpc(session, "prize", { day });
      assert.deepEqual((await prize(1)).payload, { gold: 10 });
      const refused = await prize(1).catch((response) => response);
      assert.deepEqual([refused.status, (await refused.json()).message], [400, "come back tomorrow"]);
      assert.deepEqual((await prize(2)).payload, { gold: 20 });
      assert.deepEqual(JSON.parse((await client.getAccount(session)).wallet), { gold: 20 });
      const ids = [{ collection: "prizes", key: "daily", user_id: session.user_id }];
      const { objects } = await client.readStorageObjects(session, { object_ids: ids });
      assert.deepEqual([objects[0].value, objects[0].permission_write ?? 0], [{ day: 2 }, 0]);
    });

    test("one that never ends is ended, and others are answered meanwhile", async () => {
      const client = clientOf(holder.server);
      const session = await client.authenticateDevice(newId(), true);
      const endless = client.rpc(session, "endless", {}).catch((response) => response);
      const echo = await client.rpc(session, "echo", { n: 1 });
      assert.deepEqual(echo.payload, { n: 1 });
      assert.equal((await endless).status, 500);
    });
  },
  { "runtime.path": MODULES, "runtime.env": "GAME=highcard" },
);
