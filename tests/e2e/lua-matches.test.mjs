// Matches that game code runs, played with the official client.

import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { test } from "node:test";

import { newId } from "./support/client.mjs";
import { fillSeats } from "./support/crowd.mjs";
import { onEveryServer, startServer } from "./support/matrix.mjs";
import { cameAndWent, connectPlayers, FORMAT_ORDERS, isPresenceOf, list, refusedWith, userIds } from "./support/player.mjs";

const MODULES = fileURLToPath(new URL("./modules", import.meta.url));
const OP = { say: 1, said: 2, kick: 3, over: 4, ending: 5 };
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

onEveryServer(
  "matches in Lua",
  (holder) => {
    const each = (subject, run) => {
      for (const formats of FORMAT_ORDERS) {
        test(`${subject}: ${formats.join(" and ")}`, () => run(formats));
      }
    };

    each("players come, are heard, told and seen, and go", async (formats) => {
      const [ann, bob] = await connectPlayers(holder.server, formats, 2);
      const id = await create(ann, { greeting: "hello", mode: newId() });
      assert.match(id, MATCH_ID);
      const first = await ann.socket.joinMatch(id);
      assert.deepEqual([first.match_id, first.authoritative, first.size ?? 0, list(first.presences)], [id, true, 0, []]);
      isPresenceOf(first.self, ann);
      assert.deepEqual(cameAndWent(await ann.next("matchPresence")), { came: [ann.userId], went: [] });
      assert.deepEqual(await told(ann), [OP.said, `hello ${ann.username}`]);
      const second = await bob.socket.joinMatch(id);
      assert.deepEqual([second.size, userIds(second.presences)], [1, [ann.userId]]);
      for (const player of [ann, bob]) {
        assert.deepEqual(cameAndWent(await player.next("matchPresence")), { came: [bob.userId], went: [] });
      }
      assert.deepEqual(await told(bob), [OP.said, `hello ${bob.username}`]);
      for (const said of ["one", "two", "three"]) {
        await ann.socket.sendMatchState(id, OP.say, said);
      }
      for (const player of [ann, bob]) {
        const heard = await player.next("matchData");
        assert.deepEqual([heard.match_id, heard.op_code, text(heard.data)], [id, OP.said, "1 one"]);
        isPresenceOf(heard.presence, ann);
        assert.deepEqual([await told(player), await told(player)], [[OP.said, "2 two"], [OP.said, "3 three"]]);
      }
      await bob.socket.leaveMatch(id);
      assert.deepEqual(cameAndWent(await ann.next("matchPresence")), { came: [], went: [bob.userId] });
      assert.deepEqual(await told(ann), [OP.said, `bye ${bob.username}`]);
      await ann.disconnect();
    });

    each("who is refused, kicked or left without a match is told so", async (formats) => {
      const [ann, bob] = await connectPlayers(holder.server, formats, 2);
      const id = await create(ann, { greeting: "hi", secret: "sesame" });
      const refusal = await refusedWith(ann.socket.joinMatch(id), MATCH_JOIN_REJECTED);
      assert.equal(refusal.message, "the secret is wrong");
      for (const player of [ann, bob]) {
        await player.socket.joinMatch(id, undefined, { secret: "sesame" });
        await player.next("matchPresence");
        await player.next("matchData");
      }
      await ann.next("matchPresence");
      await bob.socket.sendMatchState(id, OP.kick, "");
      for (const player of [ann, bob]) {
        assert.deepEqual(cameAndWent(await player.next("matchPresence")), { came: [], went: [bob.userId] });
      }
      assert.deepEqual(await told(ann), [OP.said, `bye ${bob.username}`]);
      await ann.socket.sendMatchState(id, OP.over, "");
      assert.deepEqual(cameAndWent(await ann.next("matchPresence")), { came: [], went: [ann.userId] });
      await refusedWith(bob.socket.joinMatch(id, undefined, { secret: "sesame" }), MATCH_NOT_FOUND);
      assert.deepEqual([bob.unread("matchData"), bob.unread("matchPresence")], [[], []]);
    });

    each("players whom the matchmaker has matched meet in the match that game code makes for them", async (formats) => {
      const players = await connectPlayers(holder.server, formats, 2);
      const topic = `t${newId().replaceAll("-", "")}`;
      const look = (player, goes) =>
        player.socket.addMatchmaker(`+properties.topic:${topic}`, 2, 2, { topic, goes }, { rank: 21 });
      const matched = async (goes) => {
        await Promise.all(players.map((player) => look(player, goes)));
        return Promise.all(players.map((player) => player.next("matched")));
      };
      const [first, second] = await matched("to an arena");
      assert.match(first.match_id, MATCH_ID);
      assert.deepEqual([first.token ?? "", second.match_id], ["", first.match_id]);
      for (const player of players) {
        await player.socket.joinMatch(first.match_id);
        assert.deepEqual(await told(player), [OP.said, `matchmaker 42 ${player.username}`]);
      }
      await players[0].socket.sendMatchState(first.match_id, OP.say, "found you");
      assert.deepEqual(await told(players[1]), [OP.said, "1 found you"]);
      // By an error, and by nothing, they get a way into a relayed match.
      for (const goes of ["nowhere", "anywhere"]) {
        const [one, other] = await matched(goes);
        assert.deepEqual([one.match_id ?? "", one.token], ["", other.token]);
        const joined = await players[0].socket.joinMatch(undefined, one.token);
        assert.equal(joined.authoritative ?? false, false);
      }
    });

    for (const handler of ["seats", "kept_seats"]) {
      test(`of a crowd that joins at once as many are let in as there are seats: ${handler}`, () =>
        fillSeats(holder.server, ["seats_create", { handler }]));
    }

    test("a match is found by its label at once, by clients and by game code", async () => {
      const [ann] = await connectPlayers(holder.server, ["json"], 1);
      const [mode, other] = [newId(), newId()];
      const id = await create(ann, { greeting: "hi", mode });
      const query = `+label.mode:${mode} +label.open:1`;
      const found = async (query) => {
        const { matches } = await ann.client.listMatches(ann.session, 10, true, undefined, 0, 10, query);
        const { payload } = await ann.client.rpc(ann.session, "arena_list", { query });
        const ids = list(matches).map((match) => match.match_id);
        // An empty table of Lua is an object.
        assert.deepEqual(Object.values(payload).map((match) => match.match_id), ids);
        return list(matches);
      };
      const [match] = await found(query);
      assert.deepEqual([match.match_id, match.size ?? 0, match.tick_rate, match.handler_name], [id, 0, 20, "arena"]);
      const { payload } = await ann.client.rpc(ann.session, "arena_signal", { id, data: other });
      assert.deepEqual([payload.said, payload.match.match_id, JSON.parse(payload.match.label).mode], ["0", id, other]);
      assert.deepEqual(await found(query), []);
      assert.equal((await found(`label.mode:${other}`)).length, 1);
    });

    test("what a match lacks to begin is said to the code that wanted it", async () => {
      const [ann] = await connectPlayers(holder.server, ["json"], 1);
      const call = (id, payload) => ann.client.rpc(ann.session, id, payload).catch((response) => response.json());
      assert.match((await call("arena_signal", { id: `${newId()}.muster`, data: "" })).message, /no match of this ID/);
      assert.match((await call("arena_signal", { id: "nonsense", data: "" })).message, /no match ID/);
    });
  },
  { "runtime.path": MODULES, "matchmaker.interval_sec": 1 },
);

test("a server that stops gives matches their time", async () => {
  const kind = { database: "sqlite", shards: 2 };
  const server = await startServer(kind, { "runtime.path": MODULES, shutdown_grace_sec: 5 });
  try {
    const [ann] = await connectPlayers(server, ["json"], 1);
    const id = await create(ann, { greeting: "hi" });
    await ann.socket.joinMatch(id);
    assert.deepEqual(await told(ann), [OP.said, `hi ${ann.username}`]);
    const stopped = server.stop();
    assert.deepEqual(await told(ann), [OP.ending, "5"]);
    await stopped;
  } finally {
    await server.dispose();
  }
});
