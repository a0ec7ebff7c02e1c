// Commands of documents, run in a folder that stands for the machine: its programs, its files, its ports.

import { execFile, spawn } from "node:child_process";
import { chmod, cp, mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";

import { ROOT } from "./samples.mjs";
import { freePort } from "./server.mjs";

/** What a server says when players may come: the second of `muster serve`, whose output nobody looks at. */
const READY = /Muster is ready at|"muster serves"/;
/** Folders of the system that documents name. */
const SYSTEM = ["/var/lib", "/etc/muster.yml", "/etc/nats", "/backups", "/usr/local/bin", "/tmp/practice"];
/** Commands that go on until they are ended. */
const SERVES = /\bmuster (?:-- )?(?:serve|dev|match record)\b|\bnpm start\b/;
/** The program that is under test takes the place of one that would be built. */
const CARGO = `#!/bin/sh
case "$*" in
  "build --release"* | "build --profile dist"*) exit 0 ;;
  "run --release --bin muster -- "*) shift 5; exec muster "$@" ;;
  *) echo "a sample runs cargo $*, which nobody prepared" >&2; exit 1 ;;
esac
`;

/** A folder that stands for a machine. */
export class Machine {
  /** @param {Record<string, string>} files that documents take to be there, by their paths */
  static async start(files = {}) {
    const machine = new Machine();
    machine.folder = await mkdtemp(join(tmpdir(), "muster-samples-"));
    const inside = (path) => join(machine.folder, path);
    for (const folder of ["bin", "target/dist", "target/release", "backups", "var/lib", "usr/local/bin", "etc"]) {
      await mkdir(inside(folder), { recursive: true });
    }
    for (const [path, text] of Object.entries(files)) {
      await mkdir(dirname(inside(path)), { recursive: true });
      await writeFile(inside(path), machine.here(text));
    }
    const muster = process.env.MUSTER_BIN;
    for (const name of ["muster", "muster-bench"]) {
      const program = join(dirname(muster), name);
      await symlink(program, inside(`bin/${name}`));
      await symlink(program, inside(`target/dist/${name}`));
      await symlink(program, inside(`target/release/${name}`));
    }
    await writeFile(inside("target/dist/muster.debug"), "");
    await writeFile(inside("bin/cargo"), CARGO);
    await chmod(inside("bin/cargo"), 0o755);
    const { stdout } = await promisify(execFile)("git", ["ls-files", "--cached", "--others", "--exclude-standard", "examples"], { cwd: ROOT });
    for (const file of stdout.trim().split("\n")) {
      await cp(join(ROOT, file), inside(file));
    }
    machine.env = { ...process.env, PATH: `${inside("bin")}:${process.env.PATH}`, MUSTER_LIVE__SHARDS: "1" };
    return machine;
  }

  /** A text with this folder in place of the system's. */
  here(text) {
    return SYSTEM.reduce((changed, path) => changed.replaceAll(path, `${this.folder}${path}`), text);
  }

  /**
   * Runs the lines of a sample one by one in one shell. A line whose server is ready has succeeded, and is ended.
   *
   * @param {Record<string, string>} words that stand for others in this sample
   */
  async run(text, words = {}, env = {}) {
    const others = { ...words, 7360: String(await freePort()) };
    const changed = Object.entries(others).reduce((all, [word, by]) => all.replaceAll(word, by), this.here(text));
    let before = "";
    for (const line of changed.replaceAll("\\\n", " ").trim().split("\n")) {
      if (SERVES.test(line)) {
        await this.#serve(`${before}${line}`, env);
      } else {
        await this.#finish(`${before}${line}`, env);
        // Later lines are in the same folder and know the same variables.
        before += /^(cd|[A-Z]+=)/.test(line) ? `${line}\n` : "";
      }
    }
  }

  async #finish(script, env) {
    try {
      await promisify(execFile)("bash", ["-euo", "pipefail", "-c", script], { cwd: this.folder, env: { ...this.env, ...env } });
    } catch (error) {
      throw new Error(`"${script}" failed:\n${error.stdout}${error.stderr}`);
    }
  }

  async #serve(script, env) {
    const ports = { MUSTER_SOCKET__PORT: String(await freePort()), MUSTER_CONSOLE__PORT: String(await freePort()) };
    const own = { ...this.env, ...ports, PAGE_PORT: String(await freePort()), ...env };
    const child = spawn("bash", ["-euo", "pipefail", "-c", script], { cwd: this.folder, env: own, detached: true });
    const kill = () => process.kill(-child.pid, "SIGKILL");
    process.on("exit", kill);
    let printed = "";
    const ended = new Promise((resolve) => child.once("close", resolve)).finally(() => process.off("exit", kill));
    const isReady = new Promise((resolve) => {
      for (const stream of [child.stdout, child.stderr]) {
        stream.on("data", (bytes) => {
          printed += bytes;
          READY.test(printed) && resolve(true);
        });
      }
    });
    // A command such as the one that kills its own servers ends by itself, and well.
    const how = await Promise.race([isReady, ended]);
    if (how === true) {
      process.kill(-child.pid, "SIGTERM");
      await ended;
    } else if (how !== 0) {
      throw new Error(`"${script}" ended with ${how}:\n${printed}`);
    }
  }

  dispose() {
    return rm(this.folder, { recursive: true, force: true });
  }
}
