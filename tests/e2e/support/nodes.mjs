// Players of several nodes, and what nodes tell of themselves.

import assert from "node:assert/strict";

import { newId } from "./client.mjs";
import { cameAndWent, Player } from "./player.mjs";

const ROOM = 1;

/** What a message of a socket is refused with where it has no code of its own. */
export const RUNTIME_EXCEPTION = 0;

const UNTIL_LIMIT_MS = 60_000;
const UNTIL_INTERVAL_MS = 20;

/** Has a player join a chat room that keeps nothing, or what is said. */
export const joinRoom = (player, name, isKept = true) => player.socket.joinChat(name, ROOM, isKept, false);

/** One player on each node, in one chat room, who have seen all come. */
export async function inOneRoom(nodes, { isKept = true, online = false } = {}) {
  const players = [];
  const name = `room-${newId()}`;
  let channel;
  for (const [index, node] of nodes.entries()) {
    players.push(await Player.connect(node, index % 2 ? "protobuf" : "json", { online }));
    channel = await joinRoom(players[index], name, isKept);
    for (const player of players) {
      assert.deepEqual(cameAndWent(await player.next("channelPresence")), { came: [players[index].userId], went: [] });
    }
  }
  return { players, channel, name };
}

/** Says something, and checks that all hear it next. */
export async function hear(speaker, listeners, channel, text) {
  await speaker.socket.writeChatMessage(channel.id, { text });
  for (const listener of listeners) {
    assert.deepEqual((await listener.next("channelMessage")).content, { text });
  }
}

/** The metrics of a node, by name without the prefix. */
export async function metrics(node) {
  const page = await (await fetch(`http://127.0.0.1:${node.flags["metrics.prometheus_port"]}/`)).text();
  return (name) => Number(page.match(new RegExp(`^\\w*${name}(?:{[^}]*})? (\\S+)$`, "m"))?.[1]);
}

/** Asks until the answer is as it should be: for what a server tells nobody of by itself. Answers how long it took. */
export async function until(what, isSo) {
  const began = Date.now();
  while (!(await isSo())) {
    assert.ok(Date.now() - began < UNTIL_LIMIT_MS, `waited in vain: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, UNTIL_INTERVAL_MS));
  }
  return Date.now() - began;
}
