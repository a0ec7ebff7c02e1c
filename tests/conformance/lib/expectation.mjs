// Compares what a server answered with what a scenario expects: exact fields, references and matchers.

import { isDeepStrictEqual } from "node:util";

import { UnknownVariable } from "./variables.mjs";

const MATCHER = /^<([a-z][a-z.]*)(?: ~([^>]+))?(?:([:=])([\w.]+))?>$/;

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** The digit that says how a UUID was made. */
const UUID_VERSION_AT = 14;
const WHOLE_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/;
const FRACTION_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{1,9}Z$/;
const TOKEN = /^[\w-]+\.[\w-]+\.[\w-]+$/;
const DAY_SEC = 86_400;

const isText = (value) => typeof value === "string";
const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value);

/** Whether a number of seconds or milliseconds is of today. */
export function isNow(value) {
  const seconds = value > 1e11 ? value / 1_000 : value;
  return typeof value === "number" && Math.abs(seconds - Date.now() / 1_000) < DAY_SEC;
}

const isUuid = (value, version) =>
  isText(value) && UUID.test(value) && (!version || value[UUID_VERSION_AT] === version);

/** Whether a matcher of this name takes a value. */
const TAKES = {
  any: (value) => value !== undefined,
  text: isText,
  uuid: (value) => isUuid(value),
  "uuid.node": (value) => isUuid(value, "1"),
  "uuid.random": (value) => isUuid(value, "4"),
  "uuid.ordered": (value) => isUuid(value, "7"),
  "time": (value) => isText(value) && WHOLE_TIME.test(value),
  "time.fraction": (value) => isText(value) && FRACTION_TIME.test(value),
  token: (value) => isText(value) && TOKEN.test(value),
  number: (value) => typeof value === "number",
  now: isNow,
  "now.text": (value) => isText(value) && /^\d+$/.test(value) && isNow(Number(value)),
  object: isObject,
  list: Array.isArray,
  absent: (value) => value === undefined,
};

/** The matcher that takes a text of this form, for recordings; none for texts that could be anything. */
export function matcherOf(value) {
  return ["uuid", "time", "time.fraction", "token", "now", "now.text"].find((name) => TAKES[name](value));
}

/** A text that is no matcher although it looks like one has its first character doubled. */
export const literal = (text) => (/^<+[a-z]/.test(text) ? `<${text}` : text);

/**
 * Every difference between `expected` and `got`, as `{ path, expected, got }`. Matchers with a name bind a variable
 * when they see a value first, and afterwards take that value alone; with `=` they bind it anew each time.
 *
 * @param {boolean} isPartial whether objects may have more fields than are expected
 */
export function differences(expected, got, variables, isPartial = false, path = "") {
  if (isText(expected)) {
    return ofText(expected, got, variables, path);
  }
  if (Array.isArray(expected)) {
    return ofList(expected, got, variables, isPartial, path);
  }
  if (isObject(expected)) {
    if (Object.keys(expected).length === 1 && Array.isArray(expected.unordered)) {
      return ofSet(expected.unordered, got, variables, isPartial, path);
    }
    return ofObject(expected, got, variables, isPartial, path);
  }
  return expected === got ? [] : [{ path, expected, got }];
}

function ofText(expected, got, variables, path) {
  const [, name, part, sign, variable] = expected.match(MATCHER) ?? [];
  if (name) {
    if (!TAKES[name]) {
      throw new Error(`no matcher is called <${name}>`);
    }
    if (!TAKES[name](got) || (part && !got.includes(part))) {
      return [{ path, expected, got }];
    }
    if (sign === "=" || (variable && !variables.has(variable))) {
      variables.set(variable, got);
      return [];
    }
    if (variable && variables.get(variable) !== got) {
      return [{ path, expected: `${expected}, which is ${variables.get(variable)}`, got }];
    }
    return [];
  }
  let value;
  try {
    value = variables.resolve(/^<</.test(expected) ? expected.slice(1) : expected);
  } catch (error) {
    if (!(error instanceof UnknownVariable)) {
      throw error;
    }
    return [{ path, expected, got }];
  }
  return value === got || isSameJson(value, got) ? [] : [{ path, expected: value, got }];
}

/** Whether two texts are the same objects in JSON: a database may change their spaces and the order of their keys. */
function isSameJson(a, b) {
  if (![a, b].every((text) => isText(text) && /^\s*[{[]/.test(text))) {
    return false;
  }
  try {
    return isDeepStrictEqual(JSON.parse(a), JSON.parse(b));
  } catch {
    return false;
  }
}

function ofList(expected, got, variables, isPartial, path) {
  if (!Array.isArray(got) || got.length !== expected.length) {
    return [{ path, expected, got }];
  }
  return expected.flatMap((each, index) =>
    differences(each, got[index], variables, isPartial, `${path}[${index}]`),
  );
}

/** Lists whose order says nothing: each expected item takes the first item that it fits. */
function ofSet(expected, got, variables, isPartial, path) {
  if (!Array.isArray(got) || got.length !== expected.length) {
    return [{ path, expected, got }];
  }
  const left = [...got];
  for (const each of expected) {
    const fits = left.findIndex((item) => {
      const before = variables.snapshot();
      const fit = differences(each, item, variables, isPartial, path).length === 0;
      if (!fit) {
        variables.restore(before);
      }
      return fit;
    });
    if (fits < 0) {
      return [{ path, expected: each, got: left }];
    }
    left.splice(fits, 1);
  }
  return [];
}

function ofObject(expected, got, variables, isPartial, path) {
  if (!isObject(got)) {
    return [{ path, expected, got }];
  }
  const found = [];
  const keys = new Set();
  for (const [name, value] of Object.entries(expected)) {
    const key = variables.resolve(name);
    keys.add(key);
    found.push(...differences(value, got[key], variables, isPartial, path ? `${path}.${key}` : key));
  }
  for (const [key, value] of Object.entries(got)) {
    if (!keys.has(key) && !isPartial) {
      found.push({ path: path ? `${path}.${key}` : key, expected: undefined, got: value });
    }
  }
  return found;
}
