// Sessions that survive their socket go on at whichever node their next socket reaches.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";

import { Client, WebSocketAdapterText } from "@heroiclabs/nakama-js";
import { WebSocketAdapterPb } from "@heroiclabs/nakama-js-protobuf";

import { ResumableAdapter } from "../../sdk/typescript/dist/index.js";
import { clientOf, newId, newPlayer, SERVER_KEY } from "./support/client.mjs";
import { Cluster } from "./support/cluster.mjs";
import { Cutter } from "./support/cutter.mjs";
import { metrics } from "./support/nodes.mjs";
import { connectPlayers } from "./support/player.mjs";

const ROOM = 1;
/** How long an answer may take. Far above what a busy machine needs. */
const ANSWER_LIMIT_MS = 60_000;
const SENDERS = 20;
const TRAVELLERS = 4;
const MESSAGES = 30;
const BYTES_PER_CONNECTION_MAX = 60_000;
const ADAPTERS = [WebSocketAdapterText, WebSocketAdapterPb];

/** A player whose connections go to one node after the other. */
async function travel(balancer, node, number) {
  const { session } = await newPlayer(node);
  const client = new Client(SERVER_KEY, "127.0.0.1", String(balancer.port));
  const adapter = new ResumableAdapter(() => new ADAPTERS[number % ADAPTERS.length]());
  const socket = client.createSocket(false, false, adapter, ANSWER_LIMIT_MS);
  const player = { session, userId: session.user_id, adapter, socket, heard: [], events: [], disconnects: 0 };
  socket.onchannelpresence = (event) => player.events.push(event);
  socket.ondisconnect = () => player.disconnects++;
  await socket.connect(session, false);
  return player;
}

/** Each message of each sender once, and in its sender's order. */
function checkHeard(player, senders, count) {
  for (let sender = 0; sender < senders; sender++) {
    const numbers = player.heard.filter((said) => said.sender === sender).map((said) => said.number);
    assert.deepEqual(numbers, Array.from({ length: count }, (_, number) => number), `of sender ${sender}`);
  }
}

describe("sessions between nodes", () => {
  const holder = {};
  before(async () => {
    holder.cluster = await Cluster.start({ nodes: 3, shards: 2 });
    holder.balancer = await Cutter.start(...holder.cluster.nodes.map((node) => node.port));
  });
  after(async () => {
    holder.balancer?.stop();
    await holder.cluster?.dispose();
  });

  test("players whose connections are cut come back at other nodes, and miss nothing", async () => {
    const { balancer, cluster } = holder;
    const { nodes } = cluster;
    const room = `road-${newId()}`;
    const senders = [];
    for (let number = 0; number < SENDERS; number++) {
      const [player] = await connectPlayers(nodes[number % nodes.length], ["json"], 1);
      player.channel = await player.socket.joinChat(room, ROOM, false, false);
      senders.push(player);
    }
    const travellers = [];
    for (let number = 0; number < TRAVELLERS; number++) {
      const player = await travel(balancer, nodes[0], number);
      player.channel = await player.socket.joinChat(room, ROOM, false, false);
      travellers.push(player);
    }
    const all = SENDERS * MESSAGES + TRAVELLERS * MESSAGES;
    const done = travellers.map(
      (player) =>
        new Promise((resolve) => {
          player.socket.onchannelmessage = ({ content }) => {
            player.heard.push(content);
            if (player.heard.length === all) {
              resolve();
            }
          };
        }),
    );
    balancer.budget = () => 10_000 + Math.floor(Math.random() * BYTES_PER_CONNECTION_MAX);
    balancer.cut();
    const talking = [...senders, ...travellers].map(async ({ socket, channel }, sender) => {
      for (let number = 0; number < MESSAGES; number++) {
        await socket.writeChatMessage(channel.id, { sender, number });
      }
    });
    await Promise.all([...talking, ...done]);
    balancer.budget = () => Infinity;
    for (const player of travellers) {
      checkHeard(player, SENDERS + TRAVELLERS, MESSAGES);
      assert.ok(player.adapter.resumed > 2, `${player.adapter.resumed} cuts`);
      assert.equal(player.disconnects, 0);
    }
    const left = (events) => events.flatMap((event) => event.leaves ?? []);
    assert.deepEqual(travellers.flatMap((player) => left(player.events)), []);
    assert.deepEqual(senders.flatMap((player) => left(player.unread("channelPresence"))), []);
    const moved = await Promise.all(nodes.map(async (node) => (await metrics(node))("session_moved_in_count")));
    const failed = await Promise.all(nodes.map(async (node) => (await metrics(node))("session_move_failed_count")));
    assert.ok(moved.reduce((sum, count) => sum + count) > TRAVELLERS, `${moved} moved`);
    assert.deepEqual(failed, [0, 0, 0]);
    travellers.forEach(({ socket }) => socket.disconnect(false));
    senders.forEach(({ socket }) => socket.disconnect(false));
  });

  test("whoever logs out while its session waits elsewhere does not get it back", async () => {
    const { balancer, cluster } = holder;
    const player = await travel(balancer, cluster.nodes[0], 0);
    await player.socket.joinChat(`out-${newId()}`, ROOM, false, false);
    const lost = new Promise((resolve) => (player.socket.ondisconnect = resolve));
    await clientOf(cluster.nodes[1]).sessionLogout(player.session, player.session.token, player.session.refresh_token);
    balancer.cut();
    await lost;
    assert.equal(player.adapter.isOpen(), false);
  });

  test("two of three nodes restart one after the other, and nobody misses a message or sees anybody leave", async () => {
    const { balancer, cluster } = holder;
    const { nodes } = cluster;
    // What is made on a node lies there.
    const senders = await connectPlayers(nodes[0], ["json", "protobuf"], 3);
    const { match_id: match } = await senders[0].socket.createMatch();
    for (const sender of senders.slice(1)) {
      await sender.socket.joinMatch(match);
    }
    const travellers = [];
    for (let number = 0; number < 6; number++) {
      const player = await travel(balancer, nodes[0], number);
      player.socket.onmatchdata = ({ data }) => {
        player.heard.push(JSON.parse(new TextDecoder().decode(data)));
        player.heardOne?.();
      };
      player.socket.onmatchpresence = (event) => player.events.push(event);
      await player.socket.joinMatch(match);
      travellers.push(player);
    }
    let isOver = false;
    const talking = senders.map(async ({ socket }, sender) => {
      let number = 0;
      while (!isOver) {
        await socket.sendMatchState(match, 1, JSON.stringify({ sender, number: number++ }));
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
      return number;
    });
    // The one by a signal, as a process manager does it, the other by an operator's command elsewhere.
    await nodes[1].stop();
    await nodes[1].start();
    const said = await nodes[0].command("drain", nodes[2].flags.name, "--dev");
    assert.match(said, new RegExp(`${nodes[2].flags.name} has left the cluster`));
    assert.equal(await nodes[2].ended, 0);
    await nodes[2].start();
    isOver = true;
    const counts = await Promise.all(talking);
    const total = counts.reduce((sum, count) => sum + count);
    for (const player of travellers) {
      while (player.heard.length < total && player.disconnects === 0) {
        await new Promise((resolve) => {
          player.heardOne = resolve;
          player.socket.ondisconnect = () => resolve(player.disconnects++);
        });
      }
      assert.equal(player.disconnects, 0, cluster.log);
      counts.forEach((count, sender) => {
        const numbers = player.heard.filter((said) => said.sender === sender).map((said) => said.number);
        assert.deepEqual(numbers, Array.from({ length: count }, (_, number) => number), `of sender ${sender}`);
      });
    }
    assert.ok(travellers.some((player) => player.adapter.resumed > 0), "some were on a node that restarted");
    const left = (events) => events.flatMap((event) => event.leaves ?? []);
    assert.deepEqual(travellers.flatMap((player) => left(player.events)), []);
    assert.deepEqual(senders.flatMap((player) => left(player.unread("matchPresence"))), []);
    travellers.forEach(({ socket }) => socket.disconnect(false));
    senders.forEach(({ socket }) => socket.disconnect(false));
  });
});
