// A script for builtins.rs. It finds every builtin, and calls one of them on a value with some arguments.
const found = new Map();

function walk(prefix, holder, seen) {
  if (holder === null || (typeof holder !== "object" && typeof holder !== "function") || seen.has(holder)) return;
  seen.add(holder);
  const keys = Reflect.ownKeys(holder);
  for (const key of keys) {
    if (holder === globalThis && ["found", "InitModule", "walk", "nkruntime"].includes(key)) continue;
    const label = `${prefix}.${String(key)}`;
    const { value, get, set } = Reflect.getOwnPropertyDescriptor(holder, key);
    for (const [kind, member] of [["", value], [" get", get], [" set", set]]) {
      if (typeof member === "function" && !seen.has(member)) found.set(label + kind, [member, holder]);
      walk(label + kind, member, seen);
    }
  }
  walk(`${prefix}.__proto__`, Reflect.getPrototypeOf(holder), seen);
}

// Objects and functions with builtins that no global name leads to.
const hidden = {
  generator: function* () {}, async: async () => {}, asyncGenerator: async function* () {},
  iterators: [[].values(), new Map().entries(), new Set().values(), "".matchAll(/x/g), ""[Symbol.iterator](),
    [].values().map((x) => x), Iterator.from({ next() { return { done: true }; } })],
  typed: Reflect.getPrototypeOf(Uint8Array),
};
const seen = new Set();
walk("globalThis", globalThis, seen);
walk("hidden", hidden, seen);

const text = "a".repeat(2 ** 22);
const big = 2n ** (2n ** 16n);
const code = "1+".repeat(2 ** 18) + "1";
const values = {
  nothing: () => undefined, null: () => null, yes: () => true, one: () => 1, less: () => -(2 ** 31), huge: () => 2 ** 32 - 1,
  most: () => 2 ** 53 - 1, million: () => 1000000, big: () => big, text: () => text, wide: () => "ä€".repeat(2 ** 20),
  needle: () => "a".repeat(2 ** 20 - 1) + "b", pieces: () => "a,".repeat(2 ** 20), comma: () => ",", empty: () => "",
  code: () => code, json: () => "[" + "1,".repeat(2 ** 20) + "1]", nested: () => "[".repeat(2 ** 20), digits: () => "9".repeat(2 ** 20),
  escapes: () => "%41".repeat(2 ** 19), few: () => "a".repeat(20000), sides: () => "$`$'".repeat(2 ** 10), list: () => new Array(100000).fill(7), texts: () => new Array(100000).fill("abcdefgh"),
  long: () => Array.from({ length: 100 }, () => "a".repeat(2 ** 14)), sparse: () => new Array(2 ** 32 - 1), liar: () => ({ length: 2 ** 53 - 1 }),
  spread: () => ({ length: 2 ** 53 - 1, [Symbol.isConcatSpreadable]: true }), deep: () => { let deep = []; for (let i = 0; i < 10000; i += 1) deep = [deep]; return deep; },
  shared: () => { let shared = [1]; for (let i = 0; i < 60; i += 1) shared = [shared, shared]; return shared; },
  record: () => Object.fromEntries(new Array(5000).fill(0).map((_, i) => ["k" + i, i])),
  endless: () => ({ [Symbol.iterator]: () => ({ next: () => ({ done: false, value: 1 }) }), next: () => ({ done: false, value: 1 }) }),
  map: () => new Map(new Array(2000).fill(0).map((_, i) => [i, i])), set: () => new Set(new Array(2000).keys()),
  bytes: () => new Uint8Array(2 ** 22), doubles: () => new Float64Array(2 ** 20), bigs: () => new BigInt64Array(2 ** 20),
  buffer: () => new ArrayBuffer(2 ** 22), view: () => new DataView(new ArrayBuffer(2 ** 22)), same: () => (x) => x, always: () => () => true,
  pattern: () => /(a+)+$/g, plain: () => /a/g, none: () => /(?:)/gu, date: () => new Date(8.64e15), symbol: () => Symbol.iterator,
  proxy: () => new Proxy([], { get: (_, key) => (key === "length" ? 2 ** 53 - 1 : 1), has: () => true, ownKeys: () => new Array(1000).fill(0).map((_, i) => "k" + i) }),
  promise: () => Promise.resolve(1), error: () => new Error(text), helper: () => new Array(2 ** 22).values().map((x) => x), numbers: () => new Array(2 ** 22).keys(),
  option: () => ({ maxByteLength: 2 ** 53 - 1 }), sources: () => ({ raw: { length: 2 ** 53 - 1 } }),
};
const given = [
  [], ["huge", "comma"], ["most", "most", "most"], ["text", "text"], ["needle", "one"], ["comma", "million"], ["empty", "text"], ["plain", "text"],
  ["pattern", "same"], ["none", "wide"], ["list", "list"], ["long", "texts"], ["sparse", "sparse"], ["liar", "same"], ["spread"], ["deep"], ["shared"],
  ["record", "record"], ["endless", "same"], ["proxy", "same"], ["bytes", "doubles"], ["buffer", "one", "million"], ["big", "big"], ["code"], ["json"],
  ["nested"], ["digits", "one"], ["escapes"], ["always", "texts"], ["million", "sources"], ["million", "option"], ["one", "huge", "million"],
  ["few", "text"], ["few", "sides"], ["empty", "sides"], ["empty", "same"],
];

// Arguments for a builtin whose `length` says that it takes none: a few of each kind, since it may take some
// nevertheless.
const few = given.flatMap((names, index) => ([[], ["most", "most", "most"], ["text", "text"], ["sparse", "sparse"], ["record", "record"], ["proxy", "same"], ["million", "option"]]
  .some((one) => one.join() === names.join()) ? [index] : []));
// Arguments for `JSON.stringify`. A value in which a part stands in many places is left out: the part is written at
// each place, until memory is used up, which would make the test long.
const written = given.flatMap((names, index) => (names.includes("shared") ? [] : [index]));
// Thirteen builtins that do the same work: they put a text between two tags.
const tags = ["anchor", "big", "blink", "bold", "fixed", "fontcolor", "fontsize", "italics", "link", "small", "strike", "sub", "sup"];
// The objects whose builtins work longer on longer arguments. These builtins are tried with all arguments, all others
// with a few, since the test would otherwise take minutes.
const long = [Array.prototype, String.prototype, RegExp.prototype, JSON, hidden.typed.prototype, Iterator.prototype];
const tries = ([builtin, holder]) => {
  if (builtin.length === 0 || tags.includes(builtin.name) || !long.includes(holder)) return few;
  return builtin === JSON.stringify ? written : [...given.keys()];
};

const chains = {};
for (const name of Object.keys(values)) {
  const value = values[name]();
  chains[name] = [];
  for (let at = value === undefined || value === null ? null : Object(value); at !== null; at = Reflect.getPrototypeOf(at)) chains[name].push(at);
  chains[name].shift();
}

// The names of the values on which the functions of a holder are called: all values of its kind, or a few others.
function selves([, holder]) {
  if (typeof holder === "function" || holder === globalThis || !("constructor" in holder) || holder === Object.prototype) {
    return typeof holder === "function" ? ["nothing"] : ["list", "proxy"];
  }
  if (holder === Array.prototype) return ["list", "sparse", "liar", "proxy"];
  if (holder === String.prototype) return ["text", "pieces", "wide"];
  if (holder === RegExp.prototype) return ["pattern", "plain", "none"];
  const all = Object.keys(values).filter((name) => chains[name].includes(holder));
  return all.length > 0 ? all : ["nothing"];
}

function InitModule(ctx, logger, nk, initializer) {
  initializer.registerRpc("names", () => JSON.stringify(listed));
  initializer.registerRpc("run", (ctx, logger, nk, asked) => {
    const { name, of, given: index } = JSON.parse(asked);
    const [builtin] = found.get(name);
    const self = values[of]();
    const its = given[index].map((name) => values[name]());
    try {
      builtin.apply(self, its);
    } catch {
      new builtin(...its);
    }
  });
  // Checks that a value can be made, or answers the names of all.
  initializer.registerRpc("make", (ctx, logger, nk, name) => { if (name) values[name](); else return JSON.stringify(Object.keys(values)); });
  initializer.registerRpc("fine", () => "fine");
}

const listed = [...found].map(([name, entry]) => [name, selves(entry), tries(entry)]);
