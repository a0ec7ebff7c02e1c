// Starts the server with this game, lets players play, and kills it again and again: no chip may be lost or doubled.
//
//     npm start [-- how often]

import { spawn, spawnSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import { Client } from "@heroiclabs/nakama-js";
import WebSocket from "ws";

import { Bots } from "./bots.mjs";

globalThis.WebSocket ??= WebSocket; // node has a WebSocket of its own from version 22 on
globalThis.window ??= undefined; // the client looks at it without asking whether there is one

const PLAYERS = 6;
const PORT = 7350;
const HANDS_BETWEEN = 3;
const KILLED_WITHIN_MS = 2_000;
const kills = Number(process.argv[2] ?? 5);
const here = fileURLToPath(new URL(".", import.meta.url));
const root = join(here, "..", "..");
const data = join(here, "data");

function build() {
  if (process.env.MUSTER_BIN) {
    return process.env.MUSTER_BIN;
  }
  const { status } = spawnSync("cargo", ["build", "--release", "--bin", "muster"], { cwd: root, stdio: "inherit" });
  if (status !== 0) {
    process.exit(status ?? 1);
  }
  return join(process.env.CARGO_TARGET_DIR ?? join(root, "target"), "release", "muster");
}

let server;
let isLeaving = false;

async function start(program) {
  const flags = ["--runtime.path", join(here, "lua"), "--data_dir", data, "--socket.port", String(PORT)];
  server = spawn(program, ["dev", ...flags], { stdio: "ignore" });
  server.ended = new Promise((resolve) => server.once("exit", resolve));
  server.ended.then(() => isLeaving || server.killed || (console.error("the server ended by itself"), process.exit(1)));
  while (!(await fetch(`http://127.0.0.1:${PORT}/healthcheck`).catch(() => undefined))?.ok) {
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

async function count(bots, when) {
  const { inWallets, onTables, expected, isRight } = await bots.count();
  console.log(`${when}: ${inWallets} chips in wallets + ${onTables} on tables = ${inWallets + onTables} of ${expected}`);
  if (!isRight || bots.faults.length > 0) {
    console.error(isRight ? bots.faults.join("\n") : "chips were lost, or made");
    process.exit(1);
  }
}

process.on("exit", () => server?.kill("SIGKILL"));
for (const signal of ["SIGINT", "SIGTERM"]) {
  process.on(signal, () => process.exit(1));
}

const program = build();
rmSync(data, { recursive: true, force: true });
await start(program);
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
  server.kill("SIGKILL");
  await server.ended;
  const began = performance.now();
  await start(program);
  console.log(`kill -9, number ${killed}; the server is back after ${(performance.now() - began).toFixed(0)} ms`);
  await count(bots, "after it");
}
await bots.play(HANDS_BETWEEN);
await count(bots, "in the end");
isLeaving = true;
await bots.end();
process.exit(0);
