// Starts real servers for tests and stops them: a data folder, a database and ports of their own, signals by process id.
// Nothing of a server outlives the test process.

import { execFile, spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

const START_LIMIT_MS = 120_000;
const STOP_LIMIT_MS = 30_000;
const POLL_INTERVAL_MS = 25;
const LOG_BYTES_MAX = 1024 * 1024;

/** Where servers listen: below the ports that the system hands out, so that a server which starts again finds its own. */
const PORTS = { first: 10_000, count: 20_000 };

/** Servers that run now, for the case that the test process is told to end. */
const running = new Set();

process.on("exit", () => running.forEach((child) => child.kill("SIGKILL")));
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
  process.once(signal, () => process.exit(1));
}

/** A server program with its folder. `stop` and `start` keep the data, `dispose` removes it. */
export class Server {
  #child = null;
  #ended = null;
  #log = "";

  /**
   * @param {object} options
   * @param {"sqlite"|"postgres"} options.database
   * @param {number} options.shards
   * @param {Record<string, string|number|string[]>} options.flags further flags, by configuration key
   */
  static async start({ database = "sqlite", shards = 1, flags = {} } = {}) {
    const server = new Server();
    server.folder = await mkdtemp(join(tmpdir(), "muster-e2e-"));
    try {
      server.port = await freePort();
      server.flags = {
        data_dir: server.folder,
        "socket.port": server.port,
        "console.port": await freePort(),
        "live.shards": shards,
        "session.token_expiry_sec": 7200,
        ...(database === "postgres" ? { "database.address": await createDatabase(server.port) } : {}),
        ...flags,
      };
      await server.start();
    } catch (error) {
      await server.dispose();
      throw error;
    }
    return server;
  }

  /** Starts the program on the data it had; returns once it is ready to serve. */
  async start() {
    const child = spawn(program(), ["dev", ...this.#arguments()], { stdio: ["ignore", "pipe", "pipe"] });
    this.#child = child;
    running.add(child);
    const remember = (bytes) => (this.#log = (this.#log + bytes).slice(-LOG_BYTES_MAX));
    child.stdout.on("data", remember);
    child.stderr.on("data", remember);
    this.#ended = new Promise((resolve) => {
      child.once("error", (error) => resolve(String(error)));
      child.once("exit", (code, signal) => resolve(signal ?? code));
    }).finally(() => running.delete(child));
    await this.ready();
  }

  /** Runs another command of the program on this server's data, and answers what it printed. */
  async command(...words) {
    return (await promisify(execFile)(program(), [...words, ...this.#arguments()])).stdout;
  }

  #arguments() {
    const flagsOf = ([key, value]) => [value].flat().flatMap((each) => [`--${key}`, String(each)]);
    return Object.entries(this.flags).flatMap(flagsOf);
  }

  /** Resolves when it serves. There is no event to wait for across processes, so this asks until it is told. */
  async ready() {
    let ended = null;
    this.#ended.then((how) => (ended = how));
    const limit = Date.now() + START_LIMIT_MS;
    while (Date.now() < limit) {
      if (ended !== null) {
        throw new Error(`the server ended while it started (${ended}):\n${this.log}`);
      }
      const response = await fetch(`${this.url}/healthcheck`).catch(() => null);
      if (response?.ok) {
        return;
      }
      await new Promise((resolve) => setTimeout(resolve, POLL_INTERVAL_MS));
    }
    throw new Error(`the server was not ready within ${START_LIMIT_MS} ms:\n${this.log}`);
  }

  /** Where what was said to a server is known to it at once. */
  get oneNode() {
    return this;
  }

  get url() {
    return `http://127.0.0.1:${this.port}`;
  }

  /** What the server has printed, the latest part of it. */
  get log() {
    return this.#log;
  }

  /** Resolves when the server has printed this since it was started last. */
  async logged(words) {
    while (!this.#log.includes(words)) {
      if (!running.has(this.#child)) {
        throw new Error(`the server ended without saying "${words}":\n${this.#log}`);
      }
      const { stdout, stderr } = this.#child;
      const printed = [stdout, stderr].map((stream) => new Promise((resolve) => stream.once("data", resolve)));
      await Promise.race([...printed, this.#ended]);
    }
  }

  /** Resolves with the status or the signal with which the server ended. */
  get ended() {
    return this.#ended;
  }

  get pid() {
    return this.#child.pid;
  }

  /** Asks the server to end and waits for it. A server that does not, or ends badly, fails the test. */
  async stop(signal = "SIGTERM") {
    this.#child.kill(signal);
    let timer;
    const late = new Promise((resolve) => (timer = setTimeout(resolve, STOP_LIMIT_MS, "late")));
    const how = await Promise.race([this.#ended, late]);
    clearTimeout(timer);
    if (how === "late") {
      this.#child.kill("SIGKILL");
      throw new Error(`the server still ran ${STOP_LIMIT_MS} ms after ${signal}:\n${this.log}`);
    }
    if (how !== 0 && how !== signal) {
      throw new Error(`the server ended with ${how} after ${signal}:\n${this.log}`);
    }
  }

  /** Stops the server if it runs, and removes its data. */
  async dispose() {
    try {
      if (running.has(this.#child)) {
        // One that a test has stopped would not hear the other signal.
        this.#child.kill("SIGCONT");
        await this.stop();
      }
    } finally {
      await rm(this.folder, { recursive: true, force: true });
    }
  }
}

function program() {
  if (!process.env.MUSTER_BIN) {
    throw new Error("MUSTER_BIN names no server program; `cargo xtask test --e2e` builds one and runs these tests");
  }
  return process.env.MUSTER_BIN;
}

/** A port that nobody listens on. Held only while it is asked for; the server binds it a moment later. */
export async function freePort() {
  for (;;) {
    const port = PORTS.first + Math.floor(Math.random() * PORTS.count);
    const listener = createServer();
    const isFree = await new Promise((resolve) => {
      listener.once("error", () => resolve(false)).listen(port, "127.0.0.1", () => resolve(true));
    });
    if (isFree) {
      await new Promise((resolve) => listener.close(resolve));
      return port;
    }
  }
}

/** A new, empty database on the server that the whole run shares, and goes with that. */
export async function createDatabase(unique) {
  const address = process.env.MUSTER_TEST_POSTGRES;
  if (!address) {
    throw new Error("MUSTER_TEST_POSTGRES names no server; `cargo xtask test --e2e` starts one and runs these tests");
  }
  const name = `muster_e2e_${process.pid}_${unique}_${Date.now()}`;
  await promisify(execFile)("createdb", ["--template=template0", "--maintenance-db", address, name]);
  const url = new URL(address);
  url.pathname = `/${name}`;
  return url.toString();
}

/** A copy of a database that nobody uses meanwhile. */
export async function copyDatabase(address) {
  const name = new URL(address).pathname.slice(1);
  const url = new URL(address);
  url.pathname = `/${name}_copy`;
  await promisify(execFile)("createdb", [`--template=${name}`, "--maintenance-db", process.env.MUSTER_TEST_POSTGRES, `${name}_copy`]);
  return url.toString();
}
