// Builtins of C are not interrupted while they run. Those whose work grows with a length that costs nothing to claim look
// at it first; what is left of the others' work is bounded by the machine's memory. QuickJS asks for the time every so many
// steps, however long each is: builtins that work on much count it, and ask when it has become enough (`look`).
((look) => {
  "use strict";
  // A machine's memory holds no more real elements.
  const PLACES_MAX = 4_194_304;
  const TEXT_MAX = 16_777_216;
  // Of a text that is to be code.
  const CODE_MAX = 1_048_576;
  // Of a text that is to be a pattern: time is asked for after so many attempts, each of which may compare all of it.
  const PATTERN_MAX = 131_072;
  // Of a text whose characters are taken apart and put together.
  const NORMALIZED_MAX = 1_048_576;
  // Characters to compare when a text is looked for in another.
  const COMPARISONS_MAX = 1_000_000_000;
  // Of texts put together from what stands for matches, at most.
  const EXPANSION_MAX = 268_435_456;
  // Characters and places, after which the time is asked for.
  const WORK_MAX = 1_000_000;

  const { apply, construct, defineProperty, ownKeys, getOwnPropertyDescriptor } = Reflect;
  const { isArray } = Array;
  const { isView } = ArrayBuffer;
  const TypeErrorOfHost = TypeError;
  const RangeErrorOfHost = RangeError;
  const typed = Object.getPrototypeOf(Uint8Array.prototype);

  const places = (value, name) => {
    if (value !== null && typeof value === "object" && value.length > PLACES_MAX) {
      throw new RangeErrorOfHost(`${name}: more than ${PLACES_MAX} places`);
    }
  };

  let worked = 0;
  const work = (value) => {
    const size = typeof value === "string" ? value.length : isArray(value) || isView(value) ? value.length : 0;
    if (size > 100) {
      worked += size;
      if (worked > WORK_MAX) {
        worked = 0;
        look();
      }
    }
  };

  const replace = (holder, name, check) => {
    const descriptor = getOwnPropertyDescriptor(holder, name);
    if (!descriptor || typeof descriptor.value !== "function") {
      return;
    }
    const original = descriptor.value;
    const label = typeof name === "symbol" ? name.description : name;
    const bounded = {
      [name](...given) {
        check(this, given, label);
        work(this);
        work(given[0]);
        const answer = apply(original, this, given);
        work(answer);
        return answer;
      },
    }[name];
    defineProperty(bounded, "length", { value: original.length, configurable: true });
    defineProperty(bounded, "name", { value: original.name, configurable: true });
    descriptor.value = bounded;
    defineProperty(holder, name, descriptor);
  };

  // What works on one place, or on none.
  const cheap = ["constructor", "at", "push", "pop", "toString", "flat", "flatMap"];
  for (const holder of [Array.prototype, typed]) {
    for (const name of ownKeys(holder)) {
      if (!cheap.includes(name)) {
        replace(holder, name, (self, given, label) => {
          places(self, label);
          if (label === "fill" && typeof given[0] === "string" && given[0].length * self.length > TEXT_MAX) {
            // Where it becomes a number it does so for each place.
            throw new RangeErrorOfHost(`${label}: a text of many characters for many places`);
          }
          if (label === "set" && typeof given[0] === "string" && given[0].length > WORK_MAX) {
            throw new RangeErrorOfHost(`${label}: a text of more than ${WORK_MAX} characters`);
          }
          if (label === "concat") {
            for (let i = 0; i < given.length; i += 1) {
              places(given[i], label);
            }
          }
        });
      }
    }
  }
  // The same values by the same function, as before.
  for (const [holder, name] of [[Array.prototype, "values"], [typed, "values"]]) {
    const descriptor = getOwnPropertyDescriptor(holder, Symbol.iterator);
    descriptor.value = holder[name];
    defineProperty(holder, Symbol.iterator, descriptor);
  }
  for (const name of ["from", "fromAsync"]) {
    replace(Array, name, (_, given, label) => places(given[0], label));
  }

  // These go into what they find, whatever its length is.
  const flatten = (from, depth, into, label) => {
    places(from, label);
    for (let i = 0; i < from.length; i += 1) {
      if (i in from) {
        const value = from[i];
        if (depth > 0 && isArray(value)) {
          flatten(value, depth - 1, into, label);
        } else {
          defineProperty(into, into.length, { value, writable: true, enumerable: true, configurable: true });
        }
      }
    }
    return into;
  };
  const flattening = {
    flat(depth = 1) {
      return flatten(Object(this), Math.trunc(Number(depth)) || 0, [], "flat");
    },
    flatMap(each, self) {
      if (typeof each !== "function") {
        throw new TypeErrorOfHost("not a function");
      }
      const from = Object(this);
      places(from, "flatMap");
      const mapped = [];
      for (let i = 0; i < from.length; i += 1) {
        if (i in from) {
          mapped[mapped.length] = apply(each, self, [from[i], i, from]);
        }
      }
      return flatten(mapped, 1, [], "flatMap");
    },
  };
  for (const name of ["flat", "flatMap"]) {
    const descriptor = getOwnPropertyDescriptor(Array.prototype, name);
    descriptor.value = flattening[name];
    defineProperty(Array.prototype, name, descriptor);
  }

  const short = (value, label, most = TEXT_MAX) => {
    if (typeof value === "string" && value.length > most) {
      throw new RangeErrorOfHost(`${label}: a text of more than ${most} characters`);
    }
  };
  const search = (self, given, label) => {
    short(self, label);
    let [needle] = given;
    if (isArray(needle) || isView(needle)) {
      // As a text it may be long.
      needle = given[0] = `${needle}`;
    }
    if (typeof self === "string" && typeof needle === "string" && self.length * needle.length > COMPARISONS_MAX) {
      throw new RangeErrorOfHost(`${label}: too much to compare`);
    }
  };
  for (const name of ["includes", "indexOf", "lastIndexOf", "split"]) {
    replace(String.prototype, name, search);
  }

  // What stands for matches is put together in one go, which goes on even when there is no memory for it. Functions are
  // asked between, so that a long text is given by one.
  const { includes, split } = String.prototype;
  const stand = (text, given, matches, label) => {
    const by = given[1];
    if (typeof by === "function") {
      given[1] = (...found) => {
        const answer = apply(by, undefined, found);
        work(answer);
        return answer;
      };
    } else if (typeof by === "string" && !apply(includes, by, ["$"])) {
      if (by.length > 100) {
        given[1] = () => {
          work(by);
          return by;
        };
      }
    } else if (typeof by === "string" && typeof text === "string") {
      // All of the text that is before a match, and behind it.
      const sides = apply(split, by, ["$`"]).length + apply(split, by, ["$'"]).length - 2;
      if (matches * (by.length + sides * text.length) > EXPANSION_MAX) {
        throw new RangeErrorOfHost(`${label}: too much to put together`);
      }
    }
  };
  for (const name of ["replace", "replaceAll"]) {
    replace(String.prototype, name, (self, given, label) => {
      search(self, given, label);
      const [needle] = given;
      // Objects have a way of their own to replace.
      if (needle === null || typeof needle !== "object") {
        const length = typeof self === "string" ? self.length : 0;
        stand(self, given, label === "replace" ? 1 : length / (needle?.length || 1) + 1, label);
      }
    });
  }
  replace(RegExp.prototype, Symbol.replace, (_, given, label) => {
    const length = typeof given[0] === "string" ? given[0].length : 0;
    stand(given[0], given, length + 1, label);
  });
  for (const name of ["toLowerCase", "toUpperCase"]) {
    replace(String.prototype, name, (self, _, label) => short(self, label));
  }
  for (const name of ["normalize", "localeCompare"]) {
    replace(String.prototype, name, (self, [other], label) => {
      short(self, label, NORMALIZED_MAX);
      short(other, label, NORMALIZED_MAX);
    });
  }
  for (const name of ["match", "matchAll", "search"]) {
    replace(String.prototype, name, (self, [pattern], label) => {
      short(self, label);
      short(pattern, label, PATTERN_MAX);
    });
  }
  replace(RegExp.prototype, "compile", (_, [pattern], label) => short(pattern, label, PATTERN_MAX));
  for (const name of ["padStart", "padEnd"]) {
    replace(String.prototype, name, (_, [length], label) => {
      if (Number(length) > TEXT_MAX) {
        throw new RangeErrorOfHost(`${label}: a text of more than ${TEXT_MAX} characters`);
      }
    });
  }
  replace(String.prototype, "repeat", (self, [count], label) => {
    if (`${self}`.length * Number(count) > TEXT_MAX) {
      throw new RangeErrorOfHost(`${label}: a text of more than ${TEXT_MAX} characters`);
    }
  });
  for (const name of ["encodeURI", "encodeURIComponent", "decodeURI", "decodeURIComponent", "escape", "unescape"]) {
    replace(globalThis, name, (_, [value], label) => short(value, label));
  }
  replace(JSON, "parse", (_, [value], label) => short(value, label));
  const bounding = (original, check) => {
    const bounded = new Proxy(original, {
      apply(target, self, given) {
        check(given);
        return apply(target, self, given);
      },
      construct(target, given, made) {
        check(given);
        return construct(target, given, made === bounded ? target : made);
      },
    });
    const descriptor = getOwnPropertyDescriptor(original.prototype, "constructor");
    defineProperty(original.prototype, "constructor", { ...descriptor, value: bounded });
    return bounded;
  };
  globalThis.RegExp = bounding(RegExp, ([pattern]) => short(pattern, "RegExp", PATTERN_MAX));
  // Parsing is not interrupted.
  const parsed = (texts) => {
    for (let i = 0; i < texts.length; i += 1) {
      if (typeof texts[i] === "string" && texts[i].length > CODE_MAX) {
        throw new RangeErrorOfHost(`Function: a text of more than ${CODE_MAX} characters`);
      }
      work(texts[i]);
    }
  };
  for (const prototype of [Function.prototype, ...[async () => {}, function* () {}, async function* () {}].map(Reflect.getPrototypeOf)]) {
    const original = prototype.constructor;
    const bounded = bounding(original, parsed);
    if (original === Function) {
      globalThis.Function = bounded;
    }
  }

  // Of an iterator that may be of C as well: nothing is asked between its values.
  if (Iterator.prototype.join) {
    const descriptor = getOwnPropertyDescriptor(Iterator.prototype, "join");
    descriptor.value = {
      join(separator = ",") {
        const between = `${separator}`;
        let text = "";
        let before = "";
        for (const value of { [Symbol.iterator]: () => this }) {
          const piece = before + (value === undefined || value === null ? "" : `${value}`);
          work(piece);
          text += piece;
          before = between;
        }
        return text;
      },
    }.join;
    defineProperty(Iterator.prototype, "join", descriptor);
  }

  // What it works on is known when it has.
  replace(JSON, "stringify", (_, [value, only], label) => {
    places(value, label);
    places(only, label);
  });
  replace(String, "raw", (_, [strings], label) => places(strings && strings.raw, label));
})
