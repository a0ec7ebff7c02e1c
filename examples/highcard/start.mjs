// Starts the server with this game, lets players play, and kills it again and again: no chip may be lost or doubled.
//
//     npm start [-- how often]

import { randomUUID } from "node:crypto";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import { Client } from "@heroiclabs/nakama-js";
import WebSocket from "ws";

import { PORT, program, startServer } from "../server.mjs";
import { Bots } from "./bots.mjs";

globalThis.WebSocket ??= WebSocket; // node has a WebSocket of its own from version 22 on
globalThis.window ??= undefined; // the client looks at it without asking whether there is one

const PLAYERS = 6;
const HANDS_BETWEEN = 3;
const KILLED_WITHIN_MS = 2_000;
const kills = Number(process.argv[2] ?? 5);
const here = fileURLToPath(new URL(".", import.meta.url));
const server = { modules: join(here, "lua"), data: join(here, "data") };

async function count(bots, when) {
  const { inWallets, onTables, expected, isRight } = await bots.count();
  console.log(`${when}: ${inWallets} chips in wallets + ${onTables} on tables = ${inWallets + onTables} of ${expected}`);
  if (!isRight || bots.faults.length > 0) {
    console.error(isRight ? bots.faults.join("\n") : "chips were lost, or made");
    process.exit(1);
  }
}

for (const signal of ["SIGINT", "SIGTERM"]) {
  process.on(signal, () => process.exit(1));
}

const file = program();
rmSync(server.data, { recursive: true, force: true });
let running = await startServer(file, server);
const connects = Array.from({ length: PLAYERS }, () => {
  const device = randomUUID();
  return async () => {
    const client = new Client("defaultkey", "127.0.0.1", String(PORT));
    return { client, session: await client.authenticateDevice(device, true), socket: client.createSocket() };
  };
});
const bots = await Bots.come(connects);
for (let killed = 1; killed <= kills; killed += 1) {
  await bots.play(HANDS_BETWEEN);
  await count(bots, `${bots.hands} hands seen`);
  await new Promise((resolve) => setTimeout(resolve, Math.random() * KILLED_WITHIN_MS));
  await running.end("SIGKILL");
  const began = performance.now();
  running = await startServer(file, server);
  console.log(`kill -9, number ${killed}; the server is back after ${(performance.now() - began).toFixed(0)} ms`);
  await count(bots, "after it");
}
await bots.play(HANDS_BETWEEN);
await count(bots, "in the end");
await bots.end();
await running.end("SIGTERM");
process.exit(0);
