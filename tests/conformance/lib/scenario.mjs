// Scenario files: reading, checking, and writing them back with what a server answered.

import { readFile, readdir, writeFile } from "node:fs/promises";
import { join, relative } from "node:path";

import { isNode, parseDocument } from "yaml";

import { recorded } from "./recording.mjs";

export const LANGUAGES = ["lua", "javascript"];

/** Each kind of step is known by its first field; these are the fields that it may have. */
const STEPS = {
  http: ["as", "auth", "body", "text", "pack", "headers", "shows", "until"],
  raw: ["text"],
  open: ["as", "query", "headers"],
  send: ["envelope", "frame"],
  event: ["kind"],
  quiet: [],
  close: [],
  closed: [],
  tick: [],
  call: ["arguments", "until"],
};
const COMMON = ["about", "expect", "lua", "javascript", "only", "partial", "muster", "todo", "one_node"];
const SCENARIO = ["about", "players", "languages", "partial", "one_node", "steps", "rows"];

export const kindOf = (step) => Object.keys(STEPS).find((kind) => kind in step);

/** The names of the files, relative to `folder`, sorted. */
export async function scenarioFiles(folder) {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile() && entry.name.endsWith(".yaml"));
  return files.map((file) => relative(folder, join(file.parentPath ?? file.path, file.name))).sort();
}

/** A scenario with the document that it was read from. */
export async function readScenario(folder, file) {
  const document = parseDocument(await readFile(join(folder, file), "utf8"));
  if (document.errors.length > 0) {
    throw new Error(`${file}: ${document.errors[0].message}`);
  }
  const scenario = document.toJS();
  check(file, scenario, SCENARIO);
  scenario.steps.forEach((step, index) => {
    const kind = kindOf(step);
    if (!kind) {
      throw new Error(`${file}: step ${index + 1} is of no kind`);
    }
    check(`${file}: step ${index + 1}`, step, [kind, ...STEPS[kind], ...COMMON]);
  });
  const callsCode = scenario.steps.some((step) => "call" in step);
  const languages = scenario.languages ?? (callsCode ? LANGUAGES : [null]);
  return { ...scenario, file, name: file.replace(/\.yaml$/, ""), languages, document, path: join(folder, file) };
}

function check(where, fields, known) {
  for (const name of Object.keys(fields)) {
    if (!known.includes(name)) {
      throw new Error(`${where}: a field is called ${name}; it may have ${known.join(", ")}`);
    }
  }
}

/** What the original answers to a step, for a language where languages differ. */
export const expectedOf = (step, language) => (language && language in step ? step[language] : step.expect);

/** What Muster answers where that is different on purpose. */
export function overrideOf(step, language) {
  const { muster } = step;
  if (!muster) {
    return undefined;
  }
  if (muster.skipped || muster.added) {
    return muster.expect;
  }
  return language && language in muster ? muster[language] : muster.expect;
}

/** The paths at which Muster must still mend a difference. */
export function todoOf(step, language) {
  const todo = (language && step.todo?.[language]) ?? step.todo;
  return new Set(Array.isArray(todo) ? todo : []);
}

export function setField(scenario, index, name, value) {
  scenario.document.setIn(["steps", index, name], scenario.document.createNode(value));
  scenario.steps[index][name] = value;
  scenario.isChanged = true;
}

/** Writes what a step expects: as one for both languages, unless the other language's is different. */
export function setExpected(scenario, index, language, expected) {
  const step = scenario.steps[index];
  const other = LANGUAGES.find((each) => each !== language);
  const write = (name, value) => {
    setField(scenario, index, name, value);
  };
  const isShared = "expect" in step && scenario.languages.includes(other) && language !== null;
  if (isShared && scenario.recorded?.has(`${index} ${other}`)) {
    write(other, step.expect);
    write(language, expected);
    scenario.document.deleteIn(["steps", index, "expect"]);
    delete step.expect;
    scenario.isChanged = true;
  } else {
    write(language !== null && language in step ? language : "expect", expected);
  }
}

/**
 * Notes a difference in the file: as what Muster answers on purpose where the step names a row, else as something to
 * mend.
 */
export function markDifference(scenario, index, language, paths, got, variables) {
  const step = scenario.steps[index];
  if (step.muster) {
    const field = language !== null && language in step ? language : "expect";
    if (step.muster.skipped || field in step.muster) {
      return;
    }
    setField(scenario, index, "muster", { ...step.muster, [field]: recorded(got, variables) });
  } else if (language === null) {
    setField(scenario, index, "todo", paths);
  } else {
    setField(scenario, index, "todo", { ...step.todo, [language]: paths });
  }
}

/** Longest value that stands on one line, as JSON. */
const LINE_LEN_MAX = 118;

/** Values that fit stand on one line, the others have a line for each of their parts. */
function style(node) {
  if (isNode(node) && "items" in node) {
    node.flow = JSON.stringify(node).length < LINE_LEN_MAX;
    if (!node.flow) {
      node.items.forEach((item) => style(item.value ?? item));
    }
  }
}

export async function writeScenario(scenario) {
  scenario.document.get("steps").flow = false;
  scenario.document.get("steps").items.forEach(style);
  const format = { lineWidth: 120, flowCollectionPadding: false, indentSeq: false };
  await writeFile(scenario.path, scenario.document.toString(format));
}
