// The rows of COMPAT.md that say where Muster differs, and whether each is held by a test.

import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";

import { parse } from "yaml";

import { readEverywhere } from "./everywhere.mjs";
import { readScenario, scenarioFiles } from "./scenario.mjs";

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));
const TESTS = fileURLToPath(new URL("../rows.yaml", import.meta.url));

/** How tests are declared: in Rust, in Go, and in JavaScript with a text or a template. */
const DECLARATIONS = [
  (name) => `fn ${name}(`,
  (name) => `func ${name}(`,
  (name) => `"${name}"`,
  (name) => `\`${name}\``,
];

const FIRST_HEADING = "## Differences on purpose";
const END_HEADING = "## Not there";

/** The part of the page whose rows are differences, as lines with their numbers. */
async function differenceLines() {
  const lines = (await readFile(`${ROOT}COMPAT.md`, "utf8")).split("\n");
  const [first, end] = [FIRST_HEADING, END_HEADING].map((heading) => lines.indexOf(heading));
  return lines.slice(first, end).map((text, index) => ({ text, number: first + index + 1 }));
}

/** Whether a line begins a row: an item of a list, or a row of a table that is not its head. */
const beginsRow = (text) => /^- /.test(text) || (/^\s*\| *[^\s|-]/.test(text) && !/^\s*\|[-| ]+\|$/.test(text));

const idOf = (text) => text.match(/<a id="([a-z0-9-]+)"><\/a>/)?.[1];

/** The ids of all rows, and the names of operations that are better than the original's. */
export async function rowIds() {
  const operations = (await readFile(`${ROOT}COMPAT.md`, "utf8")).matchAll(/^\| (\w+) \| (?:better|partly) \|/gm);
  const rows = (await differenceLines()).map(({ text }) => idOf(text)).filter(Boolean);
  return new Set([...rows, ...[...operations].map(([, name]) => name)]);
}

/**
 * Faults of the rows: no id, the id of another row, neither a scenario nor a test, a test that is not there. Answers
 * the number of rows, too.
 */
export async function wrongRows(folder) {
  const wrong = [];
  const ids = new Set();
  for (const { text, number } of await differenceLines()) {
    const id = idOf(text);
    if (!id && beginsRow(text)) {
      wrong.push(`COMPAT.md:${number}: the row has no id`);
    }
    if (ids.has(id)) {
      wrong.push(`COMPAT.md:${number}: a second row is called ${id}`);
    }
    id && ids.add(id);
  }
  const { tests } = parse(await readFile(TESTS, "utf8"));
  const inScenarios = await rowsOfScenarios(folder);
  for (const id of ids) {
    if (!inScenarios.has(id) && !(id in tests)) {
      wrong.push(`${id}: no scenario and no test holds this row`);
    }
  }
  for (const id of Object.keys(tests)) {
    if (!ids.has(id)) {
      wrong.push(`rows.yaml: no row of COMPAT.md is called ${id}`);
    }
  }
  for (const [id, place] of Object.entries(tests)) {
    const [file, name] = place.split(/: (.*)/);
    const text = await readFile(ROOT + file, "utf8").catch(() => "");
    if (!DECLARATIONS.some((declaration) => text.includes(declaration(name)))) {
      wrong.push(`rows.yaml: ${id}: there is no test "${name}" in ${file}`);
    }
  }
  return { wrong, count: ids.size };
}

async function rowsOfScenarios(folder) {
  const ids = new Set((await readEverywhere()).map(({ row }) => row));
  for (const file of await scenarioFiles(folder)) {
    const scenario = await readScenario(folder, file);
    (scenario.rows ?? []).forEach((id) => ids.add(id));
    scenario.steps.forEach((step) => step.muster && ids.add(step.muster.row));
  }
  return ids;
}
