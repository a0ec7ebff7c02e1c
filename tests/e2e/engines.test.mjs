// The official clients of game engines, unmodified, by the programs that Debian has for them. No package registry has the
// clients themselves: whoever has their sources names the folders, and the games of `engines/` are played.
//
//     MUSTER_TEST_GODOT3_CLIENT   a clone of heroiclabs/nakama-godot, branch godot-3 (Debian: godot3-server)
//     MUSTER_TEST_DOTNET_CLIENT   a clone of heroiclabs/nakama-dotnet, up to v3.14.0 (Debian: mono-mcs and libraries)

import assert from "node:assert/strict";
import { execFile, spawnSync } from "node:child_process";
import { cp, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

import { onEveryServer } from "./support/matrix.mjs";

const run = promisify(execFile);
const ENGINES = fileURLToPath(new URL("engines", import.meta.url));
const GAME = fileURLToPath(new URL("../../examples/tic-tac-toe/lua", import.meta.url));

const exists = (program) => spawnSync("which", [program]).status === 0;

/** A client's engine: the variable that names the client's folder, its program, and how a game is made of both. */
const CLIENTS = [
  {
    name: "Godot 3",
    variable: "MUSTER_TEST_GODOT3_CLIENT",
    program: "godot3-server",
    async prepare(client, folder) {
      await cp(join(client, "addons"), join(folder, "addons"), { recursive: true });
      await cp(join(ENGINES, "godot3/main.gd"), join(folder, "main.gd"));
      // The client's classes are known by name through the project file of its own tests.
      const project = await readFile(join(client, "test_suite/project.godot"), "utf8");
      const [classes] = project.match(/_global_script_classes=[^]*?\n\}[^\n]*\]/);
      const icons = project.match(/_global_script_class_icons=\{[^]*?\n\}/)?.[0] ?? "";
      await writeFile(join(folder, "project.godot"), `config_version=4\n${classes}\n${icons}\n`);
      return ["godot3-server", "--path", folder, "-s", "res://main.gd"];
    },
  },
  {
    name: ".NET on Mono",
    variable: "MUSTER_TEST_DOTNET_CLIENT",
    program: "mcs",
    async prepare(client, folder) {
      const sources = (await readdir(join(client, "Nakama"), { recursive: true }))
        .filter((name) => name.endsWith(".cs") && !name.startsWith("Console"))
        .map((name) => join(client, "Nakama", name));
      const game = join(folder, "game.exe");
      const libraries = ["System.Net.Http", "System.Runtime.Serialization"].map((name) => `-r:${name}.dll`);
      await run("mcs", ["-langversion:latest", `-out:${game}`, ...libraries, join(ENGINES, "dotnet/Game.cs"), ...sources]);
      return ["mono", game];
    },
  },
];

for (const { name, variable, program, prepare } of CLIENTS) {
  const client = process.env[variable];
  if (!client || !exists(program)) {
    console.log(`not run: ${name}: ${client ? `there is no ${program}` : `${variable} names no folder with the client's source`}`);
    continue;
  }
  describe(name, () => {
    let folder;
    let command;
    before(async () => {
      folder = await mkdtemp(join(tmpdir(), "muster-engine-"));
      command = await prepare(client, folder);
    });
    after(() => rm(folder, { recursive: true, force: true }));
    onEveryServer(
      name,
      (holder) => {
        test("two players sign in, save, talk and play", async () => {
          const env = { ...process.env, MUSTER_SOCKET__PORT: String(holder.server.port), HOME: folder };
          const { stdout, stderr } = await run(command[0], command.slice(1), { env });
          assert.match(stdout, /^all is well$/m, stderr);
        });
      },
      { "runtime.path": GAME },
    );
  });
}
