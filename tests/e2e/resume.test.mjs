// Sockets that survive their connection, with the helper over the official client: cut at any byte, nobody notices.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";

import { Client, WebSocketAdapterText } from "@heroiclabs/nakama-js";
import { WebSocketAdapterPb } from "@heroiclabs/nakama-js-protobuf";

import { ResumableAdapter } from "../../sdk/typescript/dist/index.js";
import { newId, newPlayer, SERVER_KEY } from "./support/client.mjs";
import { Cutter } from "./support/cutter.mjs";
import { FORMATS, onEveryServer } from "./support/matrix.mjs";

const ROOM = 1;
const PLAYERS = 4;
const MESSAGES = 40;
const BYTES_PER_CONNECTION_MAX = 8000;
const ADAPTERS = { json: WebSocketAdapterText, protobuf: WebSocketAdapterPb };

onEveryServer("resuming", (holder) => {
  const cutter = { now: null };
  before(async () => {
    cutter.now = await Cutter.start(holder.server.port);
  });
  after(() => cutter.now?.stop());

  /** A player whose connection goes through the cutter. */
  const connectPlayer = async (format, options = {}) => {
    const { session } = await newPlayer(holder.server);
    const client = new Client(SERVER_KEY, "127.0.0.1", String(cutter.now.port));
    const adapter = new ResumableAdapter(() => new ADAPTERS[format](), options);
    const socket = client.createSocket(false, false, adapter);
    const player = { session, adapter, socket, heard: [], events: [], disconnects: 0 };
    socket.onchannelpresence = (event) => player.events.push(event);
    player.lost = new Promise((resolve) => {
      socket.ondisconnect = () => {
        player.disconnects++;
        resolve();
      };
    });
    await socket.connect(session, false);
    return player;
  };

  /** Resolves once a player has heard so many messages. */
  const hears = (player, count) =>
    new Promise((resolve) => {
      const check = () => player.heard.length >= count && resolve();
      player.socket.onchannelmessage = ({ content }) => {
        player.heard.push(content);
        check();
      };
      check();
    });

  for (const format of FORMATS) {
    describe(format, () => {
      test("players talk while their connections are cut at random bytes", async () => {
        const room = `storm-${newId()}`;
        const players = [];
        for (let number = 0; number < PLAYERS; number++) {
          const player = await connectPlayer(format);
          player.channel = await player.socket.joinChat(room, ROOM, false, false);
          players.push(player);
        }
        // In rounds: who is cut more often than the others would hear ever later of what they say, and so of its answers.
        const talk = async (player, sender) => {
          for (let number = 0; number < MESSAGES; number++) {
            const round = hears(player, PLAYERS * (number + 1));
            await player.socket.writeChatMessage(player.channel.id, { sender, number });
            await round;
          }
        };
        try {
          cutter.now.budget = () => 1 + Math.floor(Math.random() * BYTES_PER_CONNECTION_MAX);
          cutter.now.cut();
          await Promise.all(players.map(talk));
        } finally {
          cutter.now.budget = () => Infinity;
        }
        for (const player of players) {
          for (let sender = 0; sender < PLAYERS; sender++) {
            const numbers = player.heard.filter((said) => said.sender === sender).map((said) => said.number);
            assert.deepEqual(numbers, Array.from({ length: MESSAGES }, (_, number) => number));
          }
          assert.ok(player.adapter.resumed > 2, `${player.adapter.resumed} cuts`);
          assert.equal(player.disconnects, 0);
          const leaves = player.events.flatMap((event) => event.leaves ?? []);
          assert.deepEqual(leaves, []);
        }
        players.forEach(({ socket }) => socket.disconnect(false));
      });

      test("what was asked before the cut is answered behind it", async () => {
        let resumed;
        const again = new Promise((resolve) => (resumed = resolve));
        const player = await connectPlayer(format, { onResume: resumed });
        // By its answer the session is known, without which there is nothing to go on with.
        await player.socket.joinChat(`known-${newId()}`, ROOM, false, false);
        const asked = player.socket.joinChat(`asked-${newId()}`, ROOM, false, false);
        cutter.now.cut();
        const channel = await asked;
        await again;
        assert.equal(channel.self.user_id, player.session.user_id);
        player.socket.disconnect(false);
      });

      test("a session that is over is a disconnect, and the next one is new", async () => {
        const player = await connectPlayer(format);
        await player.socket.joinChat(`over-${newId()}`, ROOM, false, false);
        const { client } = await newPlayer(holder.server);
        await client.sessionLogout(player.session, player.session.token, player.session.refresh_token);
        await player.lost;
        assert.equal(player.disconnects, 1);
        assert.equal(player.adapter.isOpen(), false);
      });
    });
  }
});
