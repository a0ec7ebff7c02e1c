// The commands of the examples, in a copy without anything that was installed or built: as after a clone.

import assert from "node:assert/strict";
import { execFile, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

import { Page } from "./support/page.mjs";
import { connectPlayers, FORMAT_ORDERS } from "./support/player.mjs";
import { freePort, Server } from "./support/server.mjs";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const GAME = join(ROOT, "examples/tic-tac-toe");

let clone;
before(async () => {
  clone = await mkdtemp(join(tmpdir(), "muster-clone-"));
  const { stdout } = await promisify(execFile)("git", ["ls-files", "--cached", "--others", "--exclude-standard", "examples", "sdk/go"], { cwd: ROOT });
  for (const file of stdout.trim().split("\n")) {
    await cp(join(ROOT, file), join(clone, file));
  }
});
after(() => rm(clone, { recursive: true }));

/** A command of an example that runs, and what it prints. */
class Running {
  printed = "";

  /** @param {string[]} words of the command line, with what the environment has more */
  constructor(words, env) {
    // A group of its own: npm and all that it starts end together.
    this.child = spawn(words[0], words.slice(1), { cwd: clone, env: { ...process.env, ...env }, detached: true });
    const kill = () => process.kill(-this.child.pid, "SIGKILL");
    process.on("exit", kill);
    this.ended = new Promise((resolve) => this.child.once("close", resolve)).finally(() => process.off("exit", kill));
    for (const stream of [this.child.stdout, this.child.stderr]) {
      stream.on("data", (bytes) => (this.printed += bytes));
    }
  }

  /** Resolves when this has been printed so often. */
  async says(words, times = 1) {
    let isEnded = false;
    this.ended.then(() => (isEnded = true));
    while (this.printed.split(words).length <= times) {
      assert.ok(!isEnded, `it ended without saying "${words}":\n${this.printed}`);
      const data = [this.child.stdout, this.child.stderr].map((stream) => once(stream, "data"));
      await Promise.race([...data, this.ended]);
    }
  }

  async end() {
    try {
      process.kill(-this.child.pid, "SIGINT");
    } catch {
      // It has ended.
    }
    await this.ended;
  }
}

const isServing = (port) => fetch(`http://127.0.0.1:${port}/healthcheck`).then(({ ok }) => ok, () => false);

async function startTicTacToe(t, language, env = {}) {
  const ports = { MUSTER_SOCKET__PORT: await freePort(), PAGE_PORT: await freePort(), ...env };
  const running = new Running(["npm", "start", "--prefix", "examples/tic-tac-toe", "--", language], ports);
  t.after(() => running.end());
  return { running, port: ports.MUSTER_SOCKET__PORT, page: ports.PAGE_PORT };
}

test("high card counts its chips from a clone", async () => {
  const running = new Running(["npm", "start", "--prefix", "examples/highcard", "--", "1"], { MUSTER_SOCKET__PORT: await freePort() });
  assert.equal(await running.ended, 0, running.printed);
  assert.match(running.printed, /after it: \d+ chips in wallets \+ \d+ on tables = 6000 of 6000/);
});

test("high card shows why its server cannot start", async (t) => {
  const port = await freePort();
  const taken = createServer().listen(port, "127.0.0.1");
  await once(taken, "listening");
  t.after(() => taken.close());
  const running = new Running(["npm", "start", "--prefix", "examples/highcard", "--", "1"], { MUSTER_SOCKET__PORT: port });
  assert.equal(await running.ended, 1);
  assert.match(running.printed, new RegExp(`${port}.*in use[^]*The server ended by itself`));
});

test("the first game ends when it has said everything", async (t) => {
  const server = await Server.start();
  t.after(() => server.dispose());
  const folder = join(clone, "examples/first-game");
  spawnSync("npm", ["install"], { cwd: folder });
  const began = performance.now();
  const { stdout } = await promisify(execFile)("node", ["index.mjs", "127.0.0.1", String(server.port)], { cwd: folder });
  assert.match(stdout, /welcome, .*\nyou have started this game 1 time\nthe server answered a ping in/);
  // The client's timer of thirty seconds does not keep it.
  assert.ok(performance.now() - began < 25_000);
});

test("tic-tac-toe names its page when players may come, and ends with its server", async (t) => {
  const { running, port, page } = await startTicTacToe(t, "javascript");
  await running.says(`Open http://127.0.0.1:${page}/?port=${port}`);
  assert.ok(await isServing(port));
  const shown = await fetch(`http://127.0.0.1:${page}/?port=${port}`);
  assert.match(await shown.text(), /Tic-tac-toe/);
  const library = await fetch(`http://127.0.0.1:${page}/node_modules/@heroiclabs/nakama-js/dist/nakama-js.esm.mjs`);
  assert.equal(library.status, 200);
  for (const hidden of ["start.mjs", "data/keys.yml", "node_modules/@heroiclabs/../../start.mjs"]) {
    assert.equal((await fetch(`http://127.0.0.1:${page}/${hidden}`)).status, 404, hidden);
  }
  await running.end();
  assert.equal(await isServing(port), false);
});

test("tic-tac-toe leaves nothing behind when its page's port is taken", async (t) => {
  const taken = createServer().listen(0, "127.0.0.1");
  await once(taken, "listening");
  t.after(() => taken.close());
  const { running, port } = await startTicTacToe(t, "lua", { PAGE_PORT: taken.address().port });
  assert.equal(await running.ended, 1);
  assert.match(running.printed, /another program listens there\. Name another port: PAGE_PORT=/);
  assert.equal(await isServing(port), false);
});

test("tic-tac-toe in Go is built again when it changes", async (t) => {
  const { running, port } = await startTicTacToe(t, "go");
  await running.says("Open http");
  const file = join(clone, "examples/tic-tac-toe/go/match.go");
  const source = await readFile(file, "utf8");
  assert.ok(source.includes("it is not your turn"));
  await writeFile(file, source.replace("it is not your turn", "wait for your turn"));
  await running.says("the new game code runs");
  const [ann, bob] = await connectPlayers({ port }, FORMAT_ORDERS[0], 2);
  const { payload } = await ann.client.rpc(ann.session, "find_match", {});
  const { match_id } = await ann.socket.joinMatch(payload.match_id);
  await bob.socket.joinMatch(match_id);
  await bob.socket.sendMatchState(match_id, 2, '{"cell":0}');
  for (;;) {
    const { op_code, data } = await bob.next("matchData");
    if (op_code === 3) {
      assert.equal(Buffer.from(data).toString(), "wait for your turn");
      break;
    }
  }
});

test("the page says when a match fails or cannot be had, and another is played", async (t) => {
  const modules = await mkdtemp(join(tmpdir(), "muster-fails-"));
  t.after(() => rm(modules, { recursive: true }));
  await cp(join(GAME, "lua"), modules, { recursive: true });
  const file = join(modules, "tictactoe.lua");
  const source = await readFile(file, "utf8");
  const failing = source.replace("local cell = message.op_code", 'if message.data:find("8") then error("broken") end\n        $&');
  assert.notEqual(failing, source);
  await writeFile(file, failing);
  const server = await Server.start({ flags: { "runtime.path": modules } });
  t.after(() => server.dispose());
  const html = await readFile(join(GAME, "index.html"), "utf8");
  const [ann, bob] = [await Page.open(html, server.port), await Page.open(html, server.port)];
  await bob.told(/thinks/);
  await ann.told(/^Your turn/);
  ann.click(0);
  await bob.told(/^Your turn/);
  bob.click(8);
  for (const page of [ann, bob]) {
    await page.told(/ended before the game did/);
    assert.equal(page.again.hidden, false);
  }
  ann.again.onclick();
  await ann.told(/Waiting for another player/);
  assert.equal(ann.again.hidden, true);
  await writeFile(join(modules, "find_match.lua"), 'require("nakama").register_rpc(function() error("no table") end, "find_match")');
  await server.logged("the new game code runs");
  bob.again.onclick();
  await bob.told(/^No match: /);
  assert.equal(bob.again.hidden, false);
});
