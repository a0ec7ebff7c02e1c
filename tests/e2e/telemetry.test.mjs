// What a server says to others of its own accord: nothing.

import assert from "node:assert/strict";
import { readFile, readdir, readlink } from "node:fs/promises";
import { test } from "node:test";

import { newPlayer } from "./support/client.mjs";
import { Server } from "./support/server.mjs";

/** The address of nobody, of a socket that listens, and those of this machine, as the system writes them. */
const NEARBY = /^(0+|0100007F|.*0100007F|0{24}01000000):/;

/** Sockets of a process whose other end is not on this machine, and sockets that could ask for an address. */
async function farSockets(pid) {
  const folder = `/proc/${pid}/fd`;
  const files = await readdir(folder).catch(() => []);
  const links = await Promise.all(files.map((file) => readlink(`${folder}/${file}`).catch(() => "")));
  const own = new Set(links.map((link) => link.match(/^socket:\[(\d+)\]$/)?.[1]).filter(Boolean));
  const far = [];
  for (const kind of ["tcp", "tcp6", "udp", "udp6"]) {
    const [, ...lines] = (await readFile(`/proc/net/${kind}`, "utf8").catch(() => "")).trim().split("\n");
    for (const line of lines) {
      const fields = line.trim().split(/\s+/);
      if (own.has(fields[9]) && (kind.startsWith("udp") || !NEARBY.test(fields[2]))) {
        far.push(`${kind} to ${fields[2]}`);
      }
    }
  }
  return { far, count: own.size };
}

test("a server speaks to nobody but its database", { skip: process.platform !== "linux" }, async (t) => {
  const server = await Server.start();
  t.after(() => server.dispose());
  await server.stop();
  let isOver = false;
  const seen = new Set();
  let most = 0;
  const life = (async () => {
    await server.start();
    await newPlayer(server);
    isOver = true;
  })();
  while (!isOver) {
    const { far, count } = await Promise.race([farSockets(server.pid), life.then(() => ({ far: [], count: 0 }))]);
    far.forEach((socket) => seen.add(socket));
    most = Math.max(most, count);
  }
  await life;
  // A start may be over before anybody has looked.
  const { far, count } = await farSockets(server.pid);
  far.forEach((socket) => seen.add(socket));
  most = Math.max(most, count);
  assert.ok(most > 0, "its sockets were seen");
  assert.deepEqual([...seen], []);
});
