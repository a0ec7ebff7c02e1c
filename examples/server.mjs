// The server of an example: built of this repository, started with the example's code, and gone when the example is.

import { spawn, spawnSync } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const READY = "Muster is ready at";
/** Of what a server has printed, the end is kept, and shown if it ends by itself. */
const PRINTED_MAX = 16 * 1024;
const root = fileURLToPath(new URL("..", import.meta.url));

/** Where players find the server. */
export const PORT = Number(process.env.MUSTER_SOCKET__PORT ?? 7350);

/** The server's program: the one that MUSTER_BIN names, or one that is built now. */
export function program() {
  if (process.env.MUSTER_BIN) {
    return process.env.MUSTER_BIN;
  }
  const { status, error } = spawnSync("cargo", ["build", "--release", "--bin", "muster"], { cwd: root, stdio: "inherit" });
  if (error) {
    stop(`cargo cannot be run (${error.code}): install Rust from https://rustup.rs, or name a server's program in MUSTER_BIN`);
  }
  if (status !== 0) {
    process.exit(1);
  }
  return join(process.env.CARGO_TARGET_DIR ?? join(root, "target"), "release", "muster");
}

/** Ends the example, and its server with it. */
export function stop(why) {
  console.error(why);
  process.exit(1);
}

/**
 * Starts a server, and resolves when players may connect. Ends this process if the server ends before it is told to.
 *
 * @param {object} options
 * @param {string} options.modules the folder of the game's code
 * @param {string} options.data the folder that the server keeps its data in
 * @param {boolean} options.isShown whether what the server prints is shown
 */
export async function startServer(file, { modules, data, isShown = false }) {
  const flags = ["--runtime.path", modules, "--data_dir", data, "--socket.port", String(PORT)];
  const child = spawn(file, ["dev", ...flags], { stdio: ["ignore", "pipe", "pipe"] });
  const kill = () => child.kill("SIGKILL");
  process.on("exit", kill);
  let printed = "";
  let isAwaited = false;
  const ended = new Promise((resolve) => {
    child.once("error", (error) => stop(`${file} cannot be started: ${error.message}`));
    // Not before all that it has printed was read.
    child.once("close", (code, signal) => {
      process.off("exit", kill);
      if (!isAwaited) {
        stop(`${isShown ? "" : printed}\nThe server ended by itself (${signal ?? `status ${code}`}).`);
      }
      resolve();
    });
  });
  await new Promise((resolve) => {
    const read = (from, to) =>
      from.on("data", (bytes) => {
        isShown && to.write(bytes);
        printed = (printed + bytes).slice(-PRINTED_MAX);
        printed.includes(READY) && resolve();
      });
    read(child.stdout, process.stdout);
    read(child.stderr, process.stderr);
  });
  return {
    /** Ends the server, and resolves when it has ended. */
    end(signal) {
      isAwaited = true;
      child.kill(signal);
      return ended;
    },
  };
}
