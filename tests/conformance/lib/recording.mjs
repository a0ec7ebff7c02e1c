// Turns what a server answered into the expected part of a scenario: ids, times and tokens become references and
// matchers, and sentences become any text. Facts stay, words go.

import { literal, matcherOf } from "./expectation.mjs";

/** Fields whose values a server makes up, so that a scenario can only name them. */
const NAMED = /(^|_)(ticket|match_?id|party_?id|session_?id|channel_?id|node|node_?id)$|(Id|Ticket)$/i;

/** Lists whose order is whatever the database or a hash table made of it. */
const UNORDERED = new Set(["devices", "users", "presences", "joins", "leaves"]);

/** A word that scenarios put into errors of their own, so that their way through a server can be seen. */
const OWN_WORD = "boom";

const snake = (name) => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** Binds a new variable to `value`, and answers the matcher that does so when the scenario is run. */
function bound(matcher, key, value, variables) {
  const name = variables.free(snake(key).replace(/\W/g, "_").replace(/^_+|^\d+/, "") || "value");
  variables.set(name, value);
  return `<${matcher}:${name}>`;
}

function ofText(value, key, beside, variables) {
  const isServers = key === "subject" && beside?.code < 0;
  const isSentence = isServers || /^(error|message|stackTrace)$/.test(key);
  if (isSentence) {
    return value.includes(OWN_WORD) ? `<text ~${OWN_WORD}>` : "<text>";
  }
  if (matcherOf(value) === "token") {
    return "<token>";
  }
  const isSecond = /^results_[12]$/.test(key) && /^[\w+/=-]{40,}$/.test(value) && !/^[0-9a-f]+$/.test(value);
  if ((/cursor$/i.test(key) && value !== "") || isSecond) {
    const name = isSecond ? { results_1: "cursor", results_2: "prev_cursor" }[key] : snake(key);
    variables.set(name, value);
    return `<text=${name}>`;
  }
  if (/\.(lua|js):\d+/.test(value)) {
    return value.includes(OWN_WORD) ? `<text ~${OWN_WORD}>` : "<text>";
  }
  const referred = variables.refer(value);
  if (/^\$[a-z][\w.]*$/.test(referred)) {
    return referred;
  }
  const matcher = matcherOf(value);
  if (matcher === "uuid") {
    return bound(matcher, key, value, variables);
  }
  if (matcher) {
    return `<${matcher}>`;
  }
  if (NAMED.test(key) && value !== "") {
    return bound("text", key, value, variables);
  }
  const isMadeUp = /^[A-Za-z]{10}$/.test(value) && /[A-Z]/.test(value) && /[a-z]/.test(value);
  const isUnknownId = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}/.test(referred.replaceAll(/\$\{[\w.]+\}/g, ""));
  if (isMadeUp || isUnknownId || /\d{4}-\d\d-\d\dT\d\d:\d\d/.test(value)) {
    return "<text>";
  }
  return literal(referred);
}

/** Fields that accounts and presences have beside their name. */
const PERSONAL = ["displayName", "display_name", "sessionId", "session_id"];

/** Accounts and presences are listed in no order. */
const isAccount = (item) =>
  item?.user !== undefined ||
  (item?.username !== undefined && PERSONAL.some((name) => name in item));

/** The expected part for `value`. */
export function recorded(value, variables, key = "", beside = null) {
  if (typeof value === "string") {
    return ofText(value, key, beside, variables);
  }
  if (typeof value === "number") {
    return matcherOf(value) ? `<${matcherOf(value)}>` : value;
  }
  if (Array.isArray(value)) {
    // Languages with several results have a list of them; in the others they have names.
    const keyOf = (index) => (key === "results" ? `results_${index}` : key);
    const items = value.map((each, index) => recorded(each, variables, keyOf(index)));
    const isUnordered = UNORDERED.has(key) || value.every(isAccount);
    return isUnordered && items.length > 1 ? { unordered: items } : items;
  }
  if (value && typeof value === "object") {
    const nameOf = (name) => variables.refer(name);
    return Object.fromEntries(
      Object.entries(value).map(([name, each]) => [nameOf(name), recorded(each, variables, name, value)]),
    );
  }
  return value;
}
