// Game code in Go as clients meet it: functions, hooks, and matches in both formats.

import assert from "node:assert/strict";
import { createServer } from "node:http";
import { once } from "node:events";
import { copyFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { test } from "node:test";

import { clientOf, newId, socketOf } from "./support/client.mjs";
import { fillSeats } from "./support/crowd.mjs";
import { goModule } from "./support/go.mjs";
import { FORMATS, onEveryServer, startServer } from "./support/matrix.mjs";
import { cameAndWent, connectPlayers, FORMAT_ORDERS, isPresenceOf, list, refusedWith } from "./support/player.mjs";

const SOURCE = fileURLToPath(new URL("./modules-go", import.meta.url));
const flags = await goModule(SOURCE);
await writeFile(join(flags["runtime.path"], "data.txt"), "of the folder");
const OP = { say: 1, said: 2, kick: 3, over: 4, fall: 10 };
const MATCH_NOT_FOUND = 4;
const MATCH_JOIN_REJECTED = 5;

const text = (data) => Buffer.from(data ?? []).toString();
const create = async (player, params) => (await player.client.rpc(player.session, "arena_create", params)).payload.id;

/** The next thing that a player is told by the match. */
const told = async (player) => {
  const { op_code, data } = await player.next("matchData");
  return [op_code, text(data)];
};

/** What a request was refused with: its status, code and message. */
const refusal = async (request) => {
  const response = await request.then(
    () => assert.fail("it was not refused"),
    (refused) => refused,
  );
  const { code, message } = await response.json();
  return [response.status, code, message];
};

/** What a function answers to a text. */
const ask = async (client, session, id, payload = "") => {
  const headers = { authorization: `Bearer ${session.token}`, "content-type": "application/json" };
  const url = `${client.useSSL ? "https" : "http"}://${client.host}:${client.port}/v2/rpc/${id}`;
  const response = await fetch(url, { method: "POST", headers, body: JSON.stringify(payload) });
  return response.ok ? (await response.json()).payload : Promise.reject(response);
};

onEveryServer(
  "game code in Go",
  (holder) => {
    test("functions over HTTP", async () => {
      const client = clientOf(holder.server);
      const session = await client.authenticateDevice(newId(), true, "", { mode: "ranked" });
      assert.deepEqual((await client.rpc(session, "Echo", { text: "Zoë" })).payload, { text: "Zoë" });
      const { payload } = await client.rpc(session, "context", {});
      assert.deepEqual(
        [payload.user_id, payload.username, payload.execution_mode, payload.env.GAME, payload.vars.mode, payload.match_id],
        [session.user_id, session.username, "rpc", "highcard", "ranked", null],
      );
      assert.deepEqual(await refusal(ask(client, session, "refuse")), [400, 9, "no chips"]);
      assert.deepEqual(await refusal(ask(client, session, "broken")), [500, 13, "broken"]);
      assert.deepEqual(await refusal(ask(client, session, "panicking")), [500, 13, "The game's function panicked."]);
      const unbuilt = "nk.LeaderboardDelete is not available on this server yet.";
      assert.deepEqual(await refusal(ask(client, session, "unbuilt")), [501, 12, unbuilt]);
      assert.equal(await ask(client, session, "query", session.username), `${session.username} ${2n ** 60n} true`);
      assert.equal(await ask(client, session, "later", session.username), "1 <nil>");
    });

    test("net/http goes by the server", async () => {
      const client = clientOf(holder.server);
      const session = await client.authenticateDevice(newId(), true);
      const other = createServer((request, response) => response.end(`hello ${request.url}`)).listen(0, "127.0.0.1");
      await once(other, "listening");
      assert.equal(await ask(client, session, "fetch", `http://127.0.0.1:${other.address().port}/x`), "200 hello /x");
      other.close();
    });

    test("files, sockets and variables of the process are out of reach", async () => {
      const client = clientOf(holder.server);
      const session = await client.authenticateDevice(newId(), true);
      const { environment, processors, ...told } = JSON.parse(await ask(client, session, "outside", `${client.host}:${client.port}`));
      assert.deepEqual(told, { read: true, list: true, dial: true, file: 12, data: "of the folder" });
      assert.deepEqual(environment.map((each) => each.split("=")[0]).sort(), ["GOGC", "GOMEMLIMIT"]);
      assert.equal(processors, 1);
    });

    test("what is not there says so, and keys are shown to nobody", async () => {
      const client = clientOf(holder.server);
      const session = await client.authenticateDevice(newId(), true);
      const told = JSON.parse(await ask(client, session, "missing"));
      assert.deepEqual(told, { devices: 12, hidden: 12, keys: ["", "", "", ""] });
    });

    test("numbers in JSON of storage are exact to 2^53", async () => {
      const client = clientOf(holder.server);
      const session = await client.authenticateDevice(newId(), true);
      for (const [written, read] of [["9007199254740992", "9007199254740992"], ["9007199254740993", "9007199254740992"]]) {
        assert.equal(await ask(client, session, "numbers", written), read);
      }
    });

    test("a path of its own", async () => {
      const { host, port } = clientOf(holder.server);
      const url = `http://${host}:${port}/shop/big%20sword?for=ann`;
      const response = await fetch(url, { method: "POST", body: "one" });
      assert.deepEqual([response.status, response.headers.get("x-item"), await response.text()], [202, "big sword", "one for ann"]);
    });

    test("what a function writes is what players read", async () => {
      const client = clientOf(holder.server);
      const session = await client.authenticateDevice(newId(), true);
      const prize = (day) => client.rpc(session, "prize", { day });
      assert.deepEqual((await prize(1)).payload, { gold: 10 });
      assert.deepEqual(await refusal(prize(1)), [400, 9, "come back tomorrow"]);
      assert.deepEqual((await prize(2)).payload, { gold: 20 });
      assert.deepEqual(JSON.parse((await client.getAccount(session)).wallet), { gold: 20 });
      const ids = [{ collection: "prizes", key: "daily", user_id: session.user_id }];
      const { objects } = await client.readStorageObjects(session, { object_ids: ids });
      assert.deepEqual([objects[0].value, objects[0].permission_write ?? 0], [{ last_day: 2 }, 0]);
    });

    test("hooks before and after operations", async () => {
      const client = clientOf(holder.server);
      const session = await client.authenticateDevice(newId(), true, "", { gift: "7" });
      assert.deepEqual(JSON.parse((await client.getAccount(session)).wallet), { gold: 7 });
      await client.updateAccount(session, { display_name: "Ann" });
      assert.equal((await client.getAccount(session)).user.display_name, `Ann of ${session.username}`);
      assert.deepEqual(await refusal(client.updateAccount(session, { display_name: "rude" })), [400, 3, "be kind"]);
      const message = "ListNotifications is switched off.";
      assert.deepEqual(await refusal(client.listNotifications(session, 10)), [404, 5, message]);
    });

    for (const format of FORMATS) {
      test(`functions and hooks over a socket: ${format}`, async () => {
        const client = clientOf(holder.server);
        const session = await client.authenticateDevice(newId(), true);
        const socket = socketOf(client, format);
        const heard = new Promise((resolve) => {
          socket.onchannelmessage = (message) => resolve(message.content);
        });
        await socket.connect(session, true);
        assert.equal((await socket.rpc("echo", "again")).payload, "again");
        const refused = await socket.rpc("refuse", "").catch((error) => error);
        assert.deepEqual([refused.code, refused.message], [7, "no chips"]);
        const channel = await socket.joinChat(newId(), 1, true, false);
        const joined = JSON.parse((await socket.rpc("joined", "")).payload);
        assert.equal(joined.channel, channel.id);
        assert.ok(channel.id.endsWith(joined.target));
        assert.match(joined.session, /^[0-9a-f-]{36}$/);
        const rude = await socket.writeChatMessage(channel.id, { text: "rude" }).catch((error) => error);
        assert.deepEqual([rude.code, rude.message], [7, "be kind"]);
        await socket.writeChatMessage(channel.id, { text: "hello" });
        assert.deepEqual(await heard, { text: "hello!" });
        socket.disconnect(false);
      });
    }

    for (const formats of FORMAT_ORDERS) {
      test(`a match: ${formats.join(" and ")}`, async () => {
        const [ann, bob] = await connectPlayers(holder.server, formats, 2);
        const id = await create(ann, { greeting: "hello", mode: newId(), secret: "sesame" });
        const refused = await refusedWith(ann.socket.joinMatch(id), MATCH_JOIN_REJECTED);
        assert.equal(refused.message, "the secret is wrong");
        const join = (player) => player.socket.joinMatch(id, undefined, { secret: "sesame" });
        await join(ann);
        assert.deepEqual(cameAndWent(await ann.next("matchPresence")), { came: [ann.userId], went: [] });
        assert.deepEqual(await told(ann), [OP.said, `hello ${ann.username}`]);
        await join(bob);
        for (const player of [ann, bob]) {
          assert.deepEqual(cameAndWent(await player.next("matchPresence")), { came: [bob.userId], went: [] });
        }
        assert.deepEqual(await told(bob), [OP.said, `hello ${bob.username}`]);
        for (const said of ["one", "two"]) {
          await ann.socket.sendMatchState(id, OP.say, said);
        }
        for (const player of [ann, bob]) {
          const heard = await player.next("matchData");
          assert.deepEqual([heard.match_id, heard.op_code, text(heard.data)], [id, OP.said, "1 one"]);
          isPresenceOf(heard.presence, ann);
          assert.deepEqual(await told(player), [OP.said, "2 two"]);
        }
        await bob.socket.sendMatchState(id, OP.kick, "");
        for (const player of [ann, bob]) {
          assert.deepEqual(cameAndWent(await player.next("matchPresence")), { came: [], went: [bob.userId] });
        }
        assert.deepEqual(await told(ann), [OP.said, `bye ${bob.username}`]);
        await ann.socket.sendMatchState(id, OP.over, "");
        assert.deepEqual(cameAndWent(await ann.next("matchPresence")), { came: [], went: [ann.userId] });
        await refusedWith(join(bob), MATCH_NOT_FOUND);
      });
    }

    test("what a callback says leaves when it has returned, and if it panics not at all", async () => {
      const [ann] = await connectPlayers(holder.server, ["json"], 1);
      const id = await create(ann, { greeting: "hello" });
      await ann.socket.joinMatch(id);
      assert.deepEqual(cameAndWent(await ann.next("matchPresence")), { came: [ann.userId], went: [] });
      assert.deepEqual(await told(ann), [OP.said, `hello ${ann.username}`]);
      await ann.socket.sendMatchState(id, OP.fall, "");
      assert.deepEqual(cameAndWent(await ann.next("matchPresence")), { came: [], went: [ann.userId] });
      assert.deepEqual(ann.unread("matchData"), []);
    });

    test("of a crowd that joins at once as many are let in as there are seats", () => fillSeats(holder.server, ["seats_create", {}]));

    test("a match is found by its label, signalled, and made for players who were matched", async () => {
      const players = await connectPlayers(holder.server, ["json"], 2);
      const [ann] = players;
      const [mode, other] = [newId(), newId()];
      const id = await create(ann, { greeting: "hi", mode });
      const found = async (query) => {
        const { matches } = await ann.client.listMatches(ann.session, 10, true, undefined, 0, 10, query);
        const { payload } = await ann.client.rpc(ann.session, "arena_list", { query });
        assert.deepEqual(payload, list(matches).map((match) => match.match_id));
        return payload;
      };
      assert.deepEqual(await found(`+label.mode:${mode} +label.open:1`), [id]);
      const { payload } = await ann.client.rpc(ann.session, "arena_signal", { id, data: other });
      assert.deepEqual([payload.said, payload.match, JSON.parse(payload.label).mode], ["0", id, other]);
      assert.deepEqual(await found(`label.mode:${other}`), [id]);
      const topic = `t${newId().replaceAll("-", "")}`;
      const look = (player) => player.socket.addMatchmaker(`+properties.topic:${topic}`, 2, 2, { topic });
      await Promise.all(players.map(look));
      const [first, second] = await Promise.all(players.map((player) => player.next("matched")));
      assert.equal(second.match_id, first.match_id);
      await ann.socket.joinMatch(first.match_id);
      assert.deepEqual(await told(ann), [OP.said, `matchmaker ${ann.username}`]);
    });

    test("what hogs, fills or breaks the instance ends it, and the next one goes on", async () => {
      const client = clientOf(holder.server);
      const session = await client.authenticateDevice(newId(), true);
      /** A new instance is there once it answers. */
      const again = async () => {
        for (;;) {
          try {
            return await ask(client, session, "count");
          } catch (refused) {
            assert.deepEqual([refused.status, (await refused.json()).code], [503, 14]);
          }
        }
      };
      for (const id of ["endless", "hog", "crash"]) {
        await again();
        const [status, code] = await refusal(ask(client, session, id));
        assert.deepEqual([status, code], [503, 14], id);
      }
      assert.equal(await again(), "1");
    });
  },
  {
    ...flags,
    "runtime.env": "GAME=highcard",
    "matchmaker.interval_sec": 1,
    "script.call_cpu_ms": 300,
    // A player asks until a new instance is there.
    "limits.user_requests_per_sec": 0,
  },
);

test("a module that changes is loaded while the server runs", async (t) => {
  const [running, next] = [await goModule(SOURCE), await goModule(SOURCE, "second")];
  const server = await startServer({ database: "sqlite", shards: 1 }, { ...running, "runtime.env": "GAME=highcard" });
  t.after(() => server.dispose());
  const client = clientOf(server);
  const session = await client.authenticateDevice(newId(), true);
  assert.equal(await ask(client, session, "version"), "first");
  const [from, to] = [next, running].map((each) => join(each["runtime.path"], "game.wasm"));
  // In one step, so that no half of a module is loaded.
  await copyFile(from, `${to}.next`);
  await rename(`${to}.next`, to);
  await server.logged("the new game code runs");
  assert.equal(await ask(client, session, "version"), "second");
});
