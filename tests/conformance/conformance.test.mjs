// Every scenario against Muster: on SQLite, on PostgreSQL, and on three nodes. Differences that the scenarios name are
// no failures; the run prints how many there are.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";

import { Cluster } from "../e2e/support/cluster.mjs";
import { Server } from "../e2e/support/server.mjs";
import { readEverywhere } from "./lib/everywhere.mjs";
import { described } from "./lib/differences.mjs";
import { Play } from "./lib/play.mjs";
import { rowIds, wrongRows } from "./lib/rows.mjs";
import { readScenario, scenarioFiles } from "./lib/scenario.mjs";

const SCENARIOS = fileURLToPath(new URL("./scenarios", import.meta.url));
const MODULES = fileURLToPath(new URL("./modules", import.meta.url));

const SERVERS = [
  { database: "sqlite", shards: 2, name: "sqlite" },
  { database: "postgres", shards: 2, name: "postgres" },
  { database: "postgres", shards: 2, nodes: 3, name: "postgres, 3 nodes" },
];

/** The settings that the scenarios were recorded with. */
const FLAGS = {
  "runtime.path": MODULES,
  "runtime.js_entrypoint": "conformance.js",
  "runtime.env": "GAME=conformance",
  "matchmaker.interval_sec": 1,
};

const rows = await rowIds();
const scenarios = await Promise.all((await scenarioFiles(SCENARIOS)).map((file) => readScenario(SCENARIOS, file)));

test("rows of COMPAT.md are held by scenarios or tests", async () => {
  const { wrong } = await wrongRows(SCENARIOS);
  assert.deepEqual(wrong, []);
});

for (const kind of SERVERS) {
  describe(`scenarios (${kind.name})`, () => {
    const total = { steps: 0, on_purpose: 0, todo: 0 };
    let server;
    let everywhere;
    before(async () => {
      everywhere = await readEverywhere();
      server = await (kind.nodes ? Cluster : Server).start({ ...kind, flags: FLAGS });
      await server.shared?.();
    });
    after(async () => {
      await server?.dispose();
      console.log(`${kind.name}: ${total.steps} steps, ${total.on_purpose} different on purpose, ${total.todo} todo`);
    });
    for (const scenario of scenarios) {
      for (const language of scenario.languages) {
        test(`${scenario.name}${language ? `, ${language}` : ""}`, async () => {
          for (const { muster } of scenario.steps) {
            assert.ok(!muster || rows.has(muster.row), `COMPAT.md has no row ${muster?.row}`);
          }
          const play = new Play(scenario, language, server, { isMuster: true, everywhere, server: kind.name });
          const { differences, counts } = await play.run();
          Object.keys(total).forEach((name) => (total[name] += counts[name]));
          assert.equal(differences.map(described).join("\n"), "");
        });
      }
    }
    test("every entry of everywhere.yaml explains a difference", () => {
      const idle = everywhere.filter(({ count }) => count === 0);
      assert.deepEqual(idle.map(({ row, todo, path }) => `${row ?? todo}: ${path}`), []);
    });
  });
}
