// Differences that many steps have for one reason. Each is written once, with a row of COMPAT.md where it is on
// purpose.

import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";

import { parse } from "yaml";

const FILE = fileURLToPath(new URL("../everywhere.yaml", import.meta.url));
const CONDITIONS = ["scenario", "language", "call", "original", "path", "expected", "got"];

const json = (value) => (value === undefined ? "absent" : JSON.stringify(value));

/** The entries of the file, each with a count of the differences that it has explained. */
export async function readEverywhere() {
  const entries = parse(await readFile(FILE, "utf8"));
  return entries.map((entry) => {
    for (const name of Object.keys(entry)) {
      if (![...CONDITIONS, "row", "todo"].includes(name)) {
        throw new Error(`everywhere.yaml: a field is called ${name}`);
      }
    }
    const conditions = CONDITIONS.filter((name) => name in entry).map((name) => [name, new RegExp(entry[name])]);
    return { ...entry, conditions, count: 0 };
  });
}

/** The entry that explains a difference, if one does. */
export function explanation(entries, { scenario, language, step, original, difference }) {
  const facts = {
    scenario: scenario.name,
    language: language ?? "",
    call: typeof step.call === "string" ? step.call : (step.call?.[language] ?? ""),
    original: json(original),
    path: difference.path,
    expected: json(difference.expected),
    got: json(difference.got),
  };
  const entry = entries.find(({ conditions }) => conditions.every(([name, pattern]) => pattern.test(facts[name])));
  if (entry) {
    entry.count += 1;
  }
  return entry;
}
