// Game code in JavaScript as clients meet it: functions, hooks, and matches in both formats.

import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { fileURLToPath } from "node:url";
import { test } from "node:test";

import { clientOf, newId, socketOf } from "./support/client.mjs";
import { fillSeats } from "./support/crowd.mjs";
import { FORMATS, onEveryServer } from "./support/matrix.mjs";
import { cameAndWent, connectPlayers, FORMAT_ORDERS, isPresenceOf, list, refusedWith, userIds } from "./support/player.mjs";

const MODULES = fileURLToPath(new URL("./modules-js", import.meta.url));
const OP = { say: 1, said: 2, kick: 3, over: 4 };
const MATCH_NOT_FOUND = 4;
const MATCH_JOIN_REJECTED = 5;
const MATCH_ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\.[a-z]/;

const text = (data) => Buffer.from(data ?? []).toString();
const create = async (player, params) => (await player.client.rpc(player.session, "arena_create", params)).payload.id;

/** The next thing that a player is told by the match. */
const told = async (player) => {
  const { op_code, data } = await player.next("matchData");
  return [op_code, text(data)];
};

/** What a request was refused with. */
const refusal = async (request) => {
  const response = await request.then(
    () => assert.fail("it was not refused"),
    (refused) => refused,
  );
  return [response.status, await response.json()];
};

onEveryServer(
  "game code in JavaScript",
  (holder) => {
    test("functions over HTTP", async () => {
      const client = clientOf(holder.server);
      const session = await client.authenticateDevice(newId(), true, "", { mode: "ranked" });
      assert.deepEqual((await client.rpc(session, "Echo", { text: "Zoë" })).payload, { text: "Zoë" });
      const { payload } = await client.rpc(session, "context", {});
      assert.deepEqual(
        [payload.userId, payload.username, payload.executionMode, payload.env.GAME, payload.vars.mode],
        [session.user_id, session.username, "rpc", "highcard", "ranked"],
      );
      const chips = [400, { error: {}, code: 9, message: "no chips" }];
      assert.deepEqual(await refusal(client.rpc(session, "refuse", {})), chips);
      const [status, { code, message }] = await refusal(client.rpc(session, "broken", {}));
      assert.deepEqual([status, code, message], [500, 13, "Error: broken"]);
      const endless = refusal(client.rpc(session, "endless", {}));
      assert.deepEqual((await client.rpc(session, "echo", { n: 1 })).payload, { n: 1 });
      assert.equal((await endless)[0], 500);
    });

    test("what a function writes is what players read", async () => {
      const client = clientOf(holder.server);
      const session = await client.authenticateDevice(newId(), true);
      const prize = (day) => client.rpc(session, "prize", { day });
      assert.deepEqual((await prize(1)).payload, { gold: 10 });
      assert.deepEqual((await refusal(prize(1)))[1].message, "come back tomorrow");
      assert.deepEqual((await prize(2)).payload, { gold: 20 });
      assert.deepEqual(JSON.parse((await client.getAccount(session)).wallet), { gold: 20 });
      const ids = [{ collection: "prizes", key: "daily", user_id: session.user_id }];
      const { objects } = await client.readStorageObjects(session, { object_ids: ids });
      assert.deepEqual([objects[0].value, objects[0].permission_write ?? 0], [{ last_day: 2 }, 0]);
    });

    test("headers of other servers are lists of one text", async (t) => {
      const client = clientOf(holder.server);
      const session = await client.authenticateDevice(newId(), true);
      const other = createServer((request, response) => {
        response.setHeader("X-Two", ["a", "b"]);
        response.setHeader("X-One", "c");
        response.end();
      }).listen(0, "127.0.0.1");
      t.after(() => other.close());
      await once(other, "listening");
      const { payload } = await client.rpc(session, "headers", { url: `http://127.0.0.1:${other.address().port}/` });
      assert.deepEqual([payload["X-Two"], payload["X-One"]], [["a, b"], ["c"]]);
    });

    test("hooks before and after operations", async () => {
      const client = clientOf(holder.server);
      const session = await client.authenticateDevice(newId(), true, "", { gift: "7" });
      assert.deepEqual(JSON.parse((await client.getAccount(session)).wallet), { gold: 7 });
      await client.updateAccount(session, { display_name: "Ann" });
      assert.equal((await client.getAccount(session)).user.display_name, `Ann of ${session.username}`);
      const rude = client.updateAccount(session, { display_name: "rude" });
      assert.deepEqual(await refusal(rude), [400, { code: 3, message: "be kind" }]);
      const message = "ListNotifications is switched off.";
      assert.deepEqual(await refusal(client.listNotifications(session, 10)), [404, { code: 5, message }]);
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
        assert.match(id, MATCH_ID);
        const refused = await refusedWith(ann.socket.joinMatch(id), MATCH_JOIN_REJECTED);
        assert.equal(refused.message, "the secret is wrong");
        const join = (player) => player.socket.joinMatch(id, undefined, { secret: "sesame" });
        await join(ann);
        assert.deepEqual(cameAndWent(await ann.next("matchPresence")), { came: [ann.userId], went: [] });
        assert.deepEqual(await told(ann), [OP.said, `hello ${ann.username}`]);
        assert.deepEqual(userIds((await join(bob)).presences), [ann.userId]);
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

    test("of a crowd that joins at once as many are let in as there are seats", () => fillSeats(holder.server, ["seats_create", {}]));

    test("a match is found by its label, signalled, and made for players who were matched", async () => {
      const players = await connectPlayers(holder.server, ["json"], 2);
      const [ann] = players;
      const [mode, other] = [newId(), newId()];
      const id = await create(ann, { greeting: "hi", mode });
      const found = async (query) => {
        const { matches } = await ann.client.listMatches(ann.session, 10, true, undefined, 0, 10, query);
        const { payload } = await ann.client.rpc(ann.session, "arena_list", { query });
        const ids = list(matches).map((match) => match.match_id);
        assert.deepEqual(payload.map((match) => match.matchId), ids);
        return ids;
      };
      assert.deepEqual(await found(`+label.mode:${mode} +label.open:1`), [id]);
      const { payload } = await ann.client.rpc(ann.session, "arena_signal", { id, data: other });
      assert.deepEqual([payload.said, payload.match.matchId, JSON.parse(payload.match.label).mode], ["0", id, other]);
      assert.deepEqual(await found(`label.mode:${other}`), [id]);
      const topic = `t${newId().replaceAll("-", "")}`;
      const look = (player) => player.socket.addMatchmaker(`+properties.topic:${topic}`, 2, 2, { topic });
      await Promise.all(players.map(look));
      const [first, second] = await Promise.all(players.map((player) => player.next("matched")));
      assert.match(first.match_id, MATCH_ID);
      assert.equal(second.match_id, first.match_id);
      await ann.socket.joinMatch(first.match_id);
      assert.deepEqual(await told(ann), [OP.said, `matchmaker ${ann.username}`]);
    });
  },
  { "runtime.path": MODULES, "runtime.env": "GAME=highcard", "matchmaker.interval_sec": 1 },
);
