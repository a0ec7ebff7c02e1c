// Rooms as every client reaches them: by functions, and by the data and presences of streams.

import assert from "node:assert/strict";
import { test } from "node:test";

import { SERVER_KEY, call, isRefusal, newPlayer, refused } from "./support/client.mjs";
import { onEveryServer } from "./support/matrix.mjs";
import { FORMAT_ORDERS, cameAndWent, connectPlayers, refusedWith } from "./support/player.mjs";
import { ROOM_MODE, ask, askOverHttp, nextInRoom, refusedCall } from "./support/rooms.mjs";

const FLAGS = { "rooms.templates": ["duel=size=2 path=games/duel", "table=size=3-5 spectators=2 owned=false"] };

/** Players in a room that the first of them made; what they were told of each other's coming is taken out. */
async function playersInRoom(server, formats, count, creation = {}) {
  const players = await connectPlayers(server, formats, count);
  const { room } = await ask(players[0], "create", { capacity: count, ...creation });
  for (const [index, player] of players.entries()) {
    if (index > 0) {
      await ask(player, "join", { room: room.id });
    }
    await Promise.all(players.slice(0, index + 1).map((other) => other.next("streamPresence")));
  }
  return { players, room: room.id };
}

onEveryServer(
  "rooms",
  (holder) => {
    for (const formats of FORMAT_ORDERS) {
      const named = (text) => `${text}: ${formats.join(" and ")}`;

      test(named("players make a room, come, sit and leave, and see each other do so"), async () => {
        const [one, two] = await connectPlayers(holder.server, formats, 2);
        const properties = { stake: 5, tags: ["fast", "loud"], big: 12345678901234567890n };
        const json = JSON.stringify({ name: "Tisch 1 – „Köln“", path: "cards/poker", capacity: 2 }).replace(
          "}",
          ',"properties":{"stake":5,"tags":["fast","loud"],"big":12345678901234567890}}',
        );
        const made = JSON.parse((await one.socket.rpc("muster.rooms.create", json)).payload);
        const { id, ...room } = made.room;
        assert.match(id, /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
        assert.deepEqual(room, {
          name: "Tisch 1 – „Köln“",
          path: "cards/poker",
          capacity: 2,
          players: 1,
          free: 1,
          spectators: 0,
          spectators_max: 0,
          locked: false,
          open: true,
          owner: one.userId,
          properties: { ...properties, big: Number(properties.big) },
          variables: {},
          version: 0,
        });
        assert.deepEqual([made.seat, made.members_total, made.members.length], [1, 1, 1]);

        const came = await one.next("streamPresence");
        assert.deepEqual([came.stream.mode, came.stream.subject], [ROOM_MODE, id]);
        assert.deepEqual(cameAndWent(came), { came: [one.userId], went: [] });

        const joined = await ask(two, "join", { room: id });
        assert.deepEqual([joined.seat, joined.room.players, joined.room.free], [2, 2, 0]);
        assert.deepEqual(
          joined.members.map(({ user_id, username, seat, variables }) => ({ user_id, username, seat, variables })),
          [
            { user_id: one.userId, username: one.username, seat: 1, variables: {} },
            { user_id: two.userId, username: two.username, seat: 2, variables: {} },
          ],
        );
        for (const player of [one, two]) {
          const event = await player.next("streamPresence");
          assert.deepEqual(cameAndWent(event), { came: [two.userId], went: [] });
          assert.deepEqual(JSON.parse(event.joins[0].status), { seat: 2 });
        }

        await ask(one, "leave", { room: id });
        assert.deepEqual(cameAndWent(await two.next("streamPresence")), { came: [], went: [one.userId] });
        assert.deepEqual((await nextInRoom(two, id)).data, { type: "owner", owner: two.userId });
        await ask(two, "leave", { room: id });
        await refusedCall(ask(one, "join", { room: id }), 5);
        await two.disconnect();
      });

      test(named("messages reach everybody, or those they are for"), async () => {
        const { players, room } = await playersInRoom(holder.server, formats, 3);
        const [one, two, three] = players;
        await ask(one, "send", { room, data: "hello „all“ \n \u0001" });
        for (const player of players) {
          const { sender, data } = await nextInRoom(player, room);
          assert.deepEqual(data, { type: "message", data: "hello „all“ \n \u0001" });
          assert.deepEqual([sender.user_id, sender.username], [one.userId, one.username]);
        }
        await ask(two, "send_to", { room, users: [three.userId], data: "psst" });
        const { sender, data } = await nextInRoom(three, room);
        assert.deepEqual([sender.user_id, data], [two.userId, { type: "private", data: "psst" }]);
        // In order for each: nothing else came before this.
        await ask(three, "send", { room, data: "last" });
        for (const player of players) {
          assert.equal((await nextInRoom(player, room)).data.data, "last");
        }
        await refusedCall(ask(one, "send_to", { room, users: [(await newPlayer(holder.server)).userId], data: "" }), 5);
        await Promise.all(players.map((player) => player.disconnect()));
      });

      test(named("a message whose sender waits for no answer gets none"), async () => {
        const { players, room } = await playersInRoom(holder.server, formats, 2);
        const [one, two] = players;
        const send = (payload) => one.socket.adapter.send({ rpc: { id: "muster.rooms.send", payload } });
        send(JSON.stringify({ room, data: "quiet" }));
        assert.equal((await nextInRoom(two, room)).data.data, "quiet");
        assert.equal((await nextInRoom(one, room)).data.data, "quiet");
        await Promise.all(players.map((player) => player.disconnect()));
      });

      test(named("variables travel as deltas with versions"), async () => {
        const { players, room } = await playersInRoom(holder.server, formats, 2, { variables: { map: "x" } });
        const [one, two] = players;
        assert.deepEqual(await ask(two, "set", { room, set: { round: 1, deck: [1, { a: null }] } }), { version: 2 });
        for (const player of players) {
          const { sender, data } = await nextInRoom(player, room);
          assert.equal(sender.user_id, two.userId);
          assert.deepEqual(data, { type: "variables", version: 2, unset: [], set: { deck: [1, { a: null }], round: 1 } });
        }
        assert.deepEqual(await ask(one, "set", { room, unset: ["map"], set: { round: 1 }, version: 2 }), { version: 3 });
        for (const player of players) {
          const { data } = await nextInRoom(player, room);
          assert.deepEqual(data, { type: "variables", version: 3, unset: ["map"], set: {} });
        }
        await refusedCall(ask(one, "set", { room, set: { round: 2 }, version: 2 }), 9);

        await ask(one, "set_player", { room, set: { cards: [7, 8] }, private: true });
        await ask(one, "set_player", { room, set: { ready: true } });
        assert.deepEqual((await nextInRoom(one, room)).data.set, { cards: [7, 8] });
        for (const player of players) {
          const { sender, data } = await nextInRoom(player, room);
          assert.deepEqual([sender.user_id, data.type, data.set], [one.userId, "player_variables", { ready: true }]);
        }
        const shown = async (player) => (await ask(player, "get", { room })).members[0].variables;
        assert.deepEqual([await shown(one), await shown(two)], [{ cards: [7, 8], ready: true }, { ready: true }]);
        await Promise.all(players.map((player) => player.disconnect()));
      });

      test(named("the owner throws out, keeps out, locks and closes"), async () => {
        const { players, room } = await playersInRoom(holder.server, formats, 3);
        const [one, two, three] = players;
        await refusedCall(ask(two, "kick", { room, user: three.userId }), 7);
        await ask(one, "kick", { room, user: two.userId, bar_sec: 60 });
        assert.deepEqual((await nextInRoom(two, room)).data, { type: "out", reason: "kicked" });
        assert.deepEqual(cameAndWent(await three.next("streamPresence")).went, [two.userId]);
        await refusedCall(ask(two, "join", { room }), 7);
        await refusedCall(ask(two, "send", { room, data: "hm" }), 9);

        await ask(one, "update", { room, password: "sesame", name: "closed circle", set_properties: { level: 3 } });
        const { data } = await nextInRoom(three, room);
        assert.deepEqual(
          [data.type, data.room.locked, data.room.name, data.room.properties],
          ["updated", true, "closed circle", { level: 3 }],
        );
        assert.ok(!JSON.stringify(data).includes("sesame"));
        const [four] = await connectPlayers(holder.server, formats, 1);
        await refusedCall(ask(four, "join", { room }), 7);
        await refusedCall(ask(four, "join", { room, password: "barley" }), 7);
        assert.equal((await ask(four, "join", { room, password: "sesame" })).seat, 2);
        await ask(four, "leave", { room });
        await ask(one, "update", { room, password: null, open: false });
        await refusedCall(ask(four, "join", { room }), 9);
        await Promise.all([...players, four].map((player) => player.disconnect()));
      });

      test(named("a new socket of the same user takes over the seat"), async () => {
        const { players, room } = await playersInRoom(holder.server, formats, 2);
        const [one, two] = players;
        const [again] = await connectPlayers(holder.server, formats.toReversed(), 1, { session: two.session });
        assert.equal((await ask(again, "join", { room })).seat, 2);
        assert.deepEqual((await nextInRoom(two, room)).data, { type: "out", reason: "replaced" });
        await ask(one, "send", { room, data: "who is there" });
        assert.equal((await nextInRoom(again, room)).data.data, "who is there");
        assert.deepEqual(two.unread("streamData"), []);
        await Promise.all([...players, again].map((player) => player.disconnect()));
      });

      test(named("players are placed room by room, watch, and sit down"), async () => {
        const players = await connectPlayers(holder.server, formats, 4);
        const placed = [];
        for (const player of players) {
          placed.push(await ask(player, "place", { template: "duel" }));
        }
        const rooms = placed.map(({ room }) => room.id);
        assert.deepEqual([rooms[0] === rooms[1], rooms[1] === rooms[2], rooms[2] === rooms[3]], [true, false, true]);
        assert.deepEqual(placed.map(({ seat }) => seat), [1, 2, 1, 2]);
        assert.deepEqual(
          placed.map(({ room }) => [room.capacity, room.path, room.template]),
          players.map(() => [2, "games/duel", "duel"]),
        );
        await refusedCall(ask(players[0], "place", { template: "chess" }), 5);
        await refusedCall(ask(players[0], "place", { template: "duel", size: 3 }), 3);

        const [first, second] = await connectPlayers(holder.server, formats, 2);
        const { room } = await ask(first, "place", { template: "table", size: 4 });
        assert.deepEqual([room.capacity, room.owner], [4, null]);
        assert.equal((await ask(second, "join", { room: room.id, spectator: true })).seat, null);
        await ask(second, "spectate", { room: room.id, spectator: false });
        const { sender, data } = await nextInRoom(first, room.id);
        assert.deepEqual([sender.user_id, data], [second.userId, { type: "seat", seat: 2 }]);
        await Promise.all([...players, first, second].map((player) => player.disconnect()));
      });
    }

    test("over HTTP a seat is held, and taken over a socket", async () => {
      const { client, session } = await newPlayer(holder.server);
      const held = await askOverHttp(client, session, "place", { template: "duel" });
      assert.deepEqual([held.seat, held.held_ms, held.room.capacity], [1, 10_000, 2]);
      assert.equal(held.room.free, 1);
      const [player] = await connectPlayers(holder.server, ["json"], 1, { session });
      const joined = await ask(player, "join", { room: held.room.id });
      assert.deepEqual([joined.seat, joined.room.players], [1, 1]);
      await askOverHttp(client, session, "send", { room: held.room.id, data: "from afar" });
      assert.equal((await nextInRoom(player, held.room.id)).data.data, "from afar");
      assert.equal((await askOverHttp(client, session, "get", { room: held.room.id })).seat, 1);
      await askOverHttp(client, session, "leave", { room: held.room.id });
      assert.deepEqual((await nextInRoom(player, held.room.id)).data, { type: "out", reason: "left" });
      await player.disconnect();
    });

    test("refusals over HTTP have the form of functions, and say what is wrong", async () => {
      const { client, session } = await newPlayer(holder.server);
      const ask = (name, payload) => client.rpc(session, `muster.rooms.${name}`, payload);
      await refused(ask("place", { template: "chess" }), 404, 5);
      const unknown = await refused(ask("place", { tempalte: "duel" }), 400, 3);
      assert.match(unknown.message, /tempalte.*template/);
      assert.equal(unknown.error, unknown.message);
      await refused(ask("join", { room: "x" }), 400, 3);
      await refused(ask("join", { room: "b5a42b9e-7a3f-4a58-8f25-9a3c5e6f7a8b" }), 400, 9);
      await refused(ask("set", {}), 400, 3);
      const { room } = await ask("place", { template: "duel" }).then((answer) => answer.payload);
      await refused(ask("send", { room: room.id, data: "x".repeat(4097) }), 400, 3);
      await refused(ask("send", { room: room.id, data: "not in it yet" }), 400, 9);
      await refused(ask("nothing", {}), 404, 5);
      await refused(client.rpc(session, "muster.lobby.subscribe", {}), 400, 9);
      const wrong = await call(holder.server, "POST", "/v2/rpc/muster.rooms.find", { token: session.token, body: "[" });
      isRefusal(wrong, 400, 3);
    });

    test("a server of the studio looks, and plays for nobody", async () => {
      const find = (id, body) =>
        call(holder.server, "POST", `/v2/rpc/${id}?unwrap=true&http_key=defaulthttpkey`, { body });
      const page = await find("muster.rooms.find", { path: "nowhere" });
      assert.deepEqual([page.status, page.json], [200, { rooms: [] }]);
      isRefusal(await find("Muster.Rooms.Place", {}), 403, 7);
      isRefusal(await call(holder.server, "POST", "/v2/rpc/muster.rooms.find", { key: SERVER_KEY }), 401, 16);
    });

    test("over a socket a refusal says which code it is", async () => {
      const [player] = await connectPlayers(holder.server, ["json"], 1);
      await refusedWith(player.socket.rpc("muster.rooms.nothing", "{}"), 6);
      await refusedWith(player.socket.rpc("nothing", "{}"), 6);
      const error = await refusedCall(ask(player, "create", { capacity: 0 }), 3);
      assert.equal(error.code, 3);
      await refusedCall(ask(player, "create", { capasity: 1 }), 3);
      for (let made = 0; made < 10; made += 1) {
        await ask(player, "create", { capacity: 2, empty_sec: 60 });
      }
      await refusedCall(ask(player, "create", {}), 8);
      await player.disconnect();
    });
  },
  FLAGS,
);
