// Game code that TypeScript's own compiler has made one file of ES5 of, as the original's documentation tells.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

import { clientOf, newId } from "./support/client.mjs";
import { Server } from "./support/server.mjs";

const file = (path) => fileURLToPath(new URL(path, import.meta.url));
const COMPILER = file("node_modules/typescript/bin/tsc");
const SOURCES = [file("../../docs/reference/typings/muster.d.ts"), file("modules-ts/game.ts")];
const FORMS = {
  "ES5 with iterators": ["--target", "es5", "--downlevelIteration"],
  ES2015: ["--target", "es2015"],
  ES2017: ["--target", "es2017"],
};

for (const [name, options] of Object.entries(FORMS)) {
  test(`compiled to ${name}`, async () => {
    const folder = await mkdtemp(join(tmpdir(), "muster-compiled-"));
    let server;
    try {
      const all = [...options, "--lib", "es2023", "--strict", "--skipLibCheck", "--ignoreDeprecations", "5.0"];
      const { stdout } = spawnSync(process.execPath, [COMPILER, ...all, "--outFile", join(folder, "game.js"), ...SOURCES], {
        encoding: "utf8",
      });
      assert.equal(stdout, "");
      server = await Server.start({ flags: { "runtime.path": folder, "runtime.js_entrypoint": "game.js" } });
      const client = clientOf(server);
      const session = await client.authenticateDevice(newId(), true);
      const ask = async (id) => (await client.rpc(session, id, {})).payload;
      assert.deepEqual(await ask("language"), {
        total: 6,
        others: { a: 1, b: 2 },
        first: 2,
        third: "lift off",
        rest: ["x", "y"],
        names: ["ann:6", "bob?:7.5"],
        tagged: "a|b|c1,2",
        guest: "bob? of ann",
        guests: 1,
        isPlayer: true,
        optional: "none",
      });
      assert.deepEqual(await ask("async"), { told: ["2", "4", "6", "8", "Refused 11", "finally"] });
      assert.deepEqual(await ask("conflict"), { conflict: true, wrong: false });
    } finally {
      await server?.dispose();
      await rm(folder, { recursive: true, force: true });
    }
  });
}
