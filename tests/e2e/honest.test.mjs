// Honest use by the official client meets no limit of the default configuration.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";

import { Client, WebSocketAdapterText } from "@heroiclabs/nakama-js";

import { ResumableAdapter, Rooms } from "../../sdk/typescript/dist/index.js";
import { newId, newPlayer, SERVER_KEY } from "./support/client.mjs";
import { Cutter } from "./support/cutter.mjs";
import { startServer } from "./support/matrix.mjs";
import { connectPlayers, Player } from "./support/player.mjs";
import { freePort } from "./support/server.mjs";

const ROOM = 1;
/** Words in the names of metrics that count what limits refuse, drop, slow or cut. */
const LIMITS = /limited|refused|slowed|evicted|dropped|discarded|too_big|too_slow|unsent|socket_held|accept_pause|_cut_|queue_full|over_host_calls/;

/** The metrics of limits that somebody has met. */
async function limitsMet(server) {
  const page = await (await fetch(`http://127.0.0.1:${server.flags["metrics.prometheus_port"]}/`)).text();
  const samples = page.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  assert.ok(samples.length > 100, "the page is there");
  return samples.filter((line) => LIMITS.test(line.split("{")[0]) && !line.endsWith(" 0"));
}

for (const kind of [
  { database: "sqlite", shards: 1 },
  { database: "sqlite", shards: 4 },
]) {
  describe(`honest use (${kind.shards} shards)`, () => {
    let server;
    let cutter;
    before(async () => {
      // The tests' own address is not exempt here, so the limits of addresses hold for them too.
      const flags = { "metrics.prometheus_port": await freePort(), "limits.exempt": "203.0.113.0/24" };
      server = await startServer(kind, flags);
      cutter = await Cutter.start(server.port);
    });
    after(async () => {
      cutter?.stop();
      await server?.dispose();
    });

    test("a player whose network comes and goes connects again and again", async () => {
      const { session, client } = await newPlayer(server);
      for (let time = 0; time < 30; time++) {
        const player = await Player.connect(server, time % 2 ? "protobuf" : "json", { session, online: true });
        await player.socket.joinChat("plaza", ROOM, true, false);
        if (time % 3 === 0) {
          player.die();
        } else {
          await player.disconnect();
        }
        await client.sessionRefresh(session);
      }
      assert.deepEqual(await limitsMet(server), []);
    });

    test("a session that is cut goes on over its next sockets", async () => {
      const { session } = await newPlayer(server);
      const client = new Client(SERVER_KEY, "127.0.0.1", String(cutter.port));
      let resumed = () => {};
      const adapter = new ResumableAdapter(() => new WebSocketAdapterText(), { onResume: () => resumed() });
      const socket = client.createSocket(false, false, adapter);
      await socket.connect(session, true);
      const channel = await socket.joinChat("plaza", ROOM, true, false);
      for (let time = 0; time < 20; time++) {
        const again = new Promise((resolve) => (resumed = resolve));
        cutter.cut();
        await again;
        await socket.writeChatMessage(channel.id, { time });
      }
      assert.equal(adapter.resumed, 20);
      socket.disconnect(false);
      assert.deepEqual(await limitsMet(server), []);
    });

    test("players burst into chat, look for a match, take it back, and play as a party", async () => {
      const players = await connectPlayers(server, ["json", "protobuf"], 4);
      const [ann, bob, carl, dora] = players;
      const channels = await Promise.all(players.map((player) => player.socket.joinChat("banter", ROOM, true, false)));
      // Somebody who is excited sends ten lines without waiting for answers, and then corrects one and removes one.
      for (const [index, player] of players.entries()) {
        const lines = Array.from({ length: 10 }, (_, line) => player.socket.writeChatMessage(channels[index].id, { line }));
        const [first, second] = await Promise.all(lines);
        await player.socket.updateChatMessage(channels[index].id, first.message_id, { line: "corrected" });
        await player.socket.removeChatMessage(channels[index].id, second.message_id);
      }
      for (let page = (await ann.client.listChannelMessages(ann.session, channels[0].id, 10, true)), pages = 0; pages < 3; pages++) {
        assert.ok(page.messages.length > 0);
        page = await ann.client.listChannelMessages(ann.session, channels[0].id, 10, true, page.next_cursor);
      }
      // Players who change their minds.
      for (let time = 0; time < 10; time++) {
        const { ticket } = await carl.socket.addMatchmaker("+properties.mode:nobody", 2, 2, { mode: "some" });
        await carl.socket.removeMatchmaker(ticket);
      }
      const topic = `t${newId().replaceAll("-", "")}`;
      const look = (player) => player.socket.addMatchmaker(`+properties.topic:${topic}`, 2, 2, { topic });
      await Promise.all([carl, dora].map(look));
      const matched = await Promise.all([carl, dora].map((player) => player.next("matched")));
      await Promise.all([carl, dora].map((player, index) => player.socket.joinMatch(undefined, matched[index].token)));

      const party = await ann.socket.createParty(true, 4);
      await Promise.all([bob, carl, dora].map((player) => player.socket.joinParty(party.party_id)));
      for (let word = 0; word < 20; word++) {
        await ann.socket.sendPartyData(party.party_id, 1, `word ${word}`);
        await bob.next("partyData");
      }
      const match = await ann.socket.createMatch();
      await bob.socket.joinMatch(match.match_id);
      // Three seconds of a game that sends sixty states a second, as fast as they can be sent.
      for (let state = 0; state < 180; state++) {
        await ann.socket.sendMatchState(match.match_id, 1, JSON.stringify({ x: state, y: -state, keys: [1, 2, 3] }));
      }
      for (let state = 0; state < 180; state++) {
        await bob.next("matchData");
      }
      await Promise.all(players.map((player) => player.disconnect()));
      assert.deepEqual(await limitsMet(server), []);
    });

    test("a lobby is watched in as many views as a screen has", async () => {
      const players = await connectPlayers(server, ["json", "protobuf"], 5);
      const rooms = players.map((player) => new Rooms(player.socket, player.userId));
      const path = `lobby/${newId()}`;
      const lobbies = await Promise.all(["a", "b", "c", "d"].map((part) => rooms[0].watch({ path: `${path}/${part}` })));
      for (const part of ["a", "b", "c", "d"]) {
        for (const maker of rooms.slice(1)) {
          const room = await maker.create({ path: `${path}/${part}`, name: "a table", capacity: 4, variables: { round: 1 } });
          for (let round = 2; round < 10; round++) {
            await room.set({ set: { round } });
          }
          await room.leave();
        }
      }
      await Promise.all(lobbies.map((lobby) => lobby.close()));
      await Promise.all(players.map((player) => player.disconnect()));
      assert.deepEqual(await limitsMet(server), []);
    });

    test("a game writes what it has to remember, and reads page after page of it", async () => {
      const { client, session } = await newPlayer(server);
      for (let first = 0; first < 500; first += 50) {
        const objects = Array.from({ length: 50 }, (_, index) => ({
          collection: "inventory",
          key: `item-${first + index}`,
          value: { kind: "sword", level: first + index, story: "a".repeat(500) },
        }));
        await client.writeStorageObjects(session, objects);
      }
      for (let time = 0; time < 5; time++) {
        let cursor;
        let count = 0;
        do {
          const page = await client.listStorageObjects(session, "inventory", session.user_id, 100, cursor);
          count += page.objects.length;
          cursor = page.cursor;
        } while (cursor);
        assert.equal(count, 500);
      }
      for (let level = 0; level < 100; level++) {
        await client.writeStorageObjects(session, [{ collection: "saves", key: "slot", value: { level } }]);
        await client.readStorageObjects(session, { object_ids: [{ collection: "saves", key: "slot", user_id: session.user_id }] });
      }
      assert.deepEqual(await limitsMet(server), []);
    });
  });
}
