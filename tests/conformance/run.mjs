// Plays scenarios against any server of the protocol and prints every difference.
//
//     node run.mjs --url http://127.0.0.1:7350 [--files scenarios/chat …] [--record] [--as muster|original]
//     node run.mjs --rows

import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

import { described } from "./lib/differences.mjs";
import { readEverywhere } from "./lib/everywhere.mjs";
import { Play } from "./lib/play.mjs";
import { markDifference, readScenario, scenarioFiles, writeScenario } from "./lib/scenario.mjs";
import { rowIds, wrongRows } from "./lib/rows.mjs";

const SCENARIOS = fileURLToPath(new URL("./scenarios", import.meta.url));

/** Muster answers a path that the original does not have. */
async function kindOf(url) {
  return (await fetch(`${url}/readycheck`)).status === 404 ? "original" : "muster";
}

const print = (difference) => console.log(described(difference));

async function play(target, options) {
  const everywhere = await readEverywhere();
  const total = { scenarios: 0, steps: 0, differences: 0, todo: 0, on_purpose: 0 };
  const rows = await rowIds();
  const files = await scenarioFiles(SCENARIOS);
  const wanted = options.files?.map((name) => name.replace(/^(.*\/)?scenarios\//, ""));
  const isWanted = (file) => !wanted?.length || wanted.some((name) => file.startsWith(name));
  for (const file of files.filter(isWanted)) {
    const scenario = await readScenario(SCENARIOS, file);
    scenario.recorded = new Set();
    for (const step of scenario.steps) {
      if (step.muster && !rows.has(step.muster.row)) {
        print({ where: scenario.name, path: "row", expected: "a row of COMPAT.md", got: step.muster.row });
        total.differences += 1;
      }
    }
    for (const language of scenario.languages) {
      const playing = new Play(scenario, language, target, { ...options, everywhere });
      const result = await playing.run().catch((error) => ({
        differences: [{ where: scenario.name, path: language ?? "", expected: "no failure", got: String(error.stack) }],
        todos: [],
        counts: { steps: 0, todo: 0, on_purpose: 0 },
      }));
      result.differences.forEach(print);
      if (options.todos) {
        result.todos.forEach(print);
      }
      total.scenarios += 1;
      total.differences += result.differences.length;
      for (const name of ["steps", "todo", "on_purpose"]) {
        total[name] += result.counts[name];
      }
    }
    if ((options.record || options.mark) && scenario.isChanged) {
      await writeScenario(scenario);
      console.log(`wrote ${file}`);
    }
  }
  for (const entry of everywhere) {
    if (options.isMuster && !options.files?.length && entry.count === 0) {
      print({ where: "everywhere.yaml", path: entry.todo ?? entry.row, expected: "a difference", got: "none" });
      total.differences += 1;
    }
    if (entry.row && !rows.has(entry.row)) {
      print({ where: "everywhere.yaml", path: "row", expected: "a row of COMPAT.md", got: entry.row });
      total.differences += 1;
    }
  }
  return total;
}

const { values } = parseArgs({
  options: {
    url: { type: "string" },
    files: { type: "string", multiple: true },
    record: { type: "boolean" },
    as: { type: "string" },
    rows: { type: "boolean" },
    todos: { type: "boolean" },
    mark: { type: "boolean" },
  },
  allowPositionals: true,
});

if (values.rows) {
  const { wrong, count } = await wrongRows(SCENARIOS);
  wrong.forEach((sentence) => console.log(sentence));
  console.log(`${count} rows of COMPAT.md, ${wrong.length} wrong`);
  process.exit(wrong.length > 0 ? 1 : 0);
}
const kind = values.as ?? (await kindOf(values.url));
if (values.record && kind === "muster") {
  throw new Error("expected parts are always the original's: record from that");
}
const mark = values.mark ? markDifference : null;
const total = await play({ url: values.url }, { ...values, mark, isMuster: kind === "muster" });
console.log(
  `${kind}: ${total.scenarios} scenarios, ${total.steps} steps, ${total.on_purpose} different on purpose, ` +
    `${total.todo} todo, ${total.differences} differences`,
);
process.exit(total.differences > 0 ? 1 : 0);
