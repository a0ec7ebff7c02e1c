// Bounds for builtins of JavaScript. QuickJS cannot interrupt a builtin written in C while it runs. A builtin whose
// work grows with a length that costs nothing to claim checks the length first; the work of all others is bounded by
// the machine's memory. QuickJS looks at the time after a fixed number of steps, however long each step is. So builtins
// that work on much data count the data, and call `look` to look at the time when it has become enough. Game code may
// replace every builtin, so the functions below use none by its global name once the modules run, nor iterate arrays.
((look, isDeeper) => {
  "use strict";
  // Limit on the places of an array or array-like object. A machine's memory holds no more real elements.
  const PLACES_MAX = 4_194_304;
  const TEXT_MAX = 16_777_216;
  // Limit on the characters of a text that becomes code.
  const CODE_MAX = 1_048_576;
  // Limit on the characters of a text that becomes a pattern. QuickJS looks at the time after a number of attempts to
  // match, each of which may compare the whole pattern.
  const PATTERN_MAX = 131_072;
  // Limit on the characters of a text that is normalized.
  const NORMALIZED_MAX = 1_048_576;
  // Limit on the comparisons of characters when one text is searched for another.
  const COMPARISONS_MAX = 1_000_000_000;
  // Limit on the characters of all replacements of matches together.
  const EXPANSION_MAX = 268_435_456;
  // Limit on the brackets within each other of a text in JSON. For each bracket that it writes, QuickJS compares the
  // object with all around it.
  const PARSED_DEPTH_MAX = 10_000;
  // Number of characters and places worked on, after which the time is looked at.
  const WORK_MAX = 1_000_000;

  const NumberOfHost = Number;
  const ObjectOfHost = Object;
  const PatternOfHost = RegExp;
  const { trunc } = Math;
  const { unshift } = Array.prototype;
  const { asyncIterator, isConcatSpreadable, iterator, match } = Symbol;
  const { apply, construct, defineProperty, ownKeys, getOwnPropertyDescriptor, set } = Reflect;
  const { isArray } = Array;
  const { isView } = ArrayBuffer;
  const TypeErrorOfHost = TypeError;
  const RangeErrorOfHost = RangeError;
  const typed = Object.getPrototypeOf(Uint8Array.prototype);

  const isObject = (value) => value !== null && (typeof value === "object" || typeof value === "function");

  // A proxy cannot be told from its target, so each proxy that is made is noted.
  const ProxyOfHost = Proxy;
  const { has: isAmong, add: note } = WeakSet.prototype;
  const proxies = new WeakSet();
  let areProxies = false;
  const noted = (proxy) => {
    areProxies = true;
    apply(note, proxies, [proxy]);
    return proxy;
  };
  const { revocable } = ProxyOfHost;
  globalThis.Proxy = new ProxyOfHost(ProxyOfHost, {
    construct: (target, given, made) => noted(construct(target, given, made)),
  });
  defineProperty(ProxyOfHost, "revocable", {
    value: {
      revocable(target, handler) {
        const made = apply(revocable, ProxyOfHost, [target, handler]);
        noted(made.proxy);
        return made;
      },
    }.revocable,
    writable: true,
    configurable: true,
  });
  const isProxy = (value) => areProxies && apply(isAmong, proxies, [value]);

  // A getter may answer another length each time. This handler of a proxy checks every length that a builtin reads.
  const telling = (name) => ({
    get(target, key) {
      const value = target[key];
      if (key !== "length" || value === undefined) {
        return value;
      }
      const length = NumberOfHost(value);
      return length > PLACES_MAX ? tooLong(name) : length;
    },
    // Setters see the value itself, not the proxy.
    set: (target, key, value) => set(target, key, value),
  });
  const tooLong = (name) => {
    throw new RangeErrorOfHost(`${name}: more than ${PLACES_MAX} places`);
  };

  // Checks that a value has no more places than a builtin may work on. Returns the value that the builtin is to work on
  // instead.
  const places = (value, name) => {
    if (!isObject(value)) {
      return value;
    }
    if (!isProxy(value)) {
      if (isArray(value)) {
        return value.length > PLACES_MAX ? tooLong(name) : value;
      }
      const descriptor = getOwnPropertyDescriptor(value, "length");
      if (descriptor && "value" in descriptor) {
        const { value: length } = descriptor;
        if (!isObject(length)) {
          return NumberOfHost(length) > PLACES_MAX ? tooLong(name) : value;
        }
      }
    }
    return new ProxyOfHost(value, telling(name));
  };

  let worked = 0;
  const rest = () => {
    worked = 0;
    look();
  };
  const work = (value) => {
    const size = typeof value === "string" ? value.length : isArray(value) || isView(value) ? value.length : 0;
    if (size > 100) {
      worked += size;
      if (worked > WORK_MAX) {
        rest();
      }
    }
  };

  // Replaces a builtin by one that runs `check` first. `check` may change the arguments, and returns the value on which
  // the builtin is called.
  const replace = (holder, name, check) => {
    const descriptor = getOwnPropertyDescriptor(holder, name);
    if (!descriptor || typeof descriptor.value !== "function") {
      return;
    }
    const original = descriptor.value;
    const label = typeof name === "symbol" ? name.description : name;
    const bounded = {
      [name](...given) {
        const self = check(this, given, label);
        work(self);
        work(given[0]);
        const answer = apply(original, self, given);
        work(answer);
        return answer === self && isObject(self) ? this : answer;
      },
    }[name];
    defineProperty(bounded, "length", { value: original.length, configurable: true });
    defineProperty(bounded, "name", { value: original.name, configurable: true });
    descriptor.value = bounded;
    defineProperty(holder, name, descriptor);
  };

  // Methods that work on one place or none, and methods that are replaced below.
  const cheap = ["constructor", "at", "push", "pop", "toString", "flat", "flatMap", "concat"];
  for (const holder of [Array.prototype, typed]) {
    for (const name of ownKeys(holder)) {
      if (!cheap.includes(name)) {
        replace(holder, name, (called, given, label) => {
          // Methods of typed arrays accept no other objects.
          const self = holder === typed ? called : places(called, label);
          if (label === "fill" && typeof given[0] === "string" && given[0].length * self.length > TEXT_MAX) {
            // A typed array converts the text to a number once for each place.
            throw new RangeErrorOfHost(`${label}: a text of many characters for many places`);
          }
          if (label === "set" && typeof given[0] === "string" && given[0].length > WORK_MAX) {
            throw new RangeErrorOfHost(`${label}: a text of more than ${WORK_MAX} characters`);
          }
          return self;
        });
      }
    }
  }
  // Checks an argument of `concat`. A value that is not spread is wrapped in an array, so that it becomes one element.
  const apart = (value, label) => {
    if (!isObject(value) || (isArray(value) && !isProxy(value))) {
      return places(value, label);
    }
    const told = value[isConcatSpreadable];
    return (told === undefined ? isArray(value) : told) ? places(value, label) : [value];
  };
  replace(Array.prototype, "concat", (called, given, label) => {
    for (let i = 0; i < given.length; i += 1) {
      given[i] = apart(given[i], label);
    }
    if (isArray(called) && !isProxy(called)) {
      return places(called, label);
    }
    apply(unshift, given, [isObject(called) ? apart(called, label) : called]);
    return [];
  });
  // `Symbol.iterator` and `values` must remain the same function.
  for (const [holder, name] of [[Array.prototype, "values"], [typed, "values"]]) {
    const descriptor = getOwnPropertyDescriptor(holder, Symbol.iterator);
    descriptor.value = holder[name];
    defineProperty(holder, Symbol.iterator, descriptor);
  }
  for (const name of ["from", "fromAsync"]) {
    replace(Array, name, (self, given, label) => {
      const from = given[0];
      if (!isObject(from) || (isArray(from) && !isProxy(from))) {
        places(from, label);
        return self;
      }
      const ways = [iterator, asyncIterator];
      let isIterable = false;
      const iterable = {};
      for (let i = 0; i < ways.length; i += 1) {
        const iterate = from[ways[i]];
        if (iterate !== undefined && iterate !== null) {
          isIterable = true;
          iterable[ways[i]] = () => apply(iterate, from, []);
        }
      }
      given[0] = isIterable ? iterable : places(from, label);
      return self;
    });
  }

  // `flat` and `flatMap` read nested arrays of any length, so they are written anew.
  const flatten = (given, depth, into, label) => {
    const from = places(given, label);
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
      return flatten(ObjectOfHost(this), trunc(NumberOfHost(depth)) || 0, [], "flat");
    },
    flatMap(each, self) {
      if (typeof each !== "function") {
        throw new TypeErrorOfHost("not a function");
      }
      const from = places(ObjectOfHost(this), "flatMap");
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
  // Converts a value to a text once, since its own conversion may answer another text each time.
  const asText = (value) => (value === undefined || value === null || typeof value === "string" ? value : `${value}`);
  const search = (called, given, label) => {
    const self = asText(called);
    short(self, label);
    if (isObject(given[0]) && !(label === "includes" && isPattern(given[0]))) {
      given[0] = `${given[0]}`;
    }
    const needle = given[0];
    if (typeof self === "string" && typeof needle === "string" && self.length * needle.length > COMPARISONS_MAX) {
      throw new RangeErrorOfHost(`${label}: too much to compare`);
    }
    return self;
  };
  // Whether ECMAScript takes a value for a pattern.
  const isPattern = (value) => {
    const told = value[match];
    return told === undefined ? value instanceof PatternOfHost : !!told;
  };
  for (const name of ["includes", "indexOf", "lastIndexOf"]) {
    replace(String.prototype, name, search);
  }
  // Replaces a method that hands the work to its argument if that has a method of its own for it; other arguments are
  // converted to texts.
  const dispatching = (name, symbol, most, check) => {
    const descriptor = getOwnPropertyDescriptor(String.prototype, name);
    replace(String.prototype, name, check);
    const bounded = getOwnPropertyDescriptor(String.prototype, name).value;
    descriptor.value = {
      [name](...given) {
        const needle = given[0];
        if (this === undefined || this === null || !isObject(needle)) {
          return apply(bounded, this, given);
        }
        if ((name === "replaceAll" || name === "matchAll") && isPattern(needle) && !apply(includes, `${needle.flags}`, ["g"])) {
          throw new TypeErrorOfHost(`${name}: the pattern must have the flag g`);
        }
        const way = needle[symbol];
        if (way !== undefined && way !== null) {
          work(this);
          return apply(way, needle, most === 1 ? [this] : [this, given[1]]);
        }
        given[0] = `${needle}`;
        return apply(bounded, this, given);
      },
    }[name];
    for (const property of ["length", "name"]) {
      defineProperty(descriptor.value, property, getOwnPropertyDescriptor(bounded, property));
    }
    defineProperty(String.prototype, name, descriptor);
  };
  dispatching("split", Symbol.split, 2, search);

  // Checks the replacement of matches. QuickJS composes the result in one go, and continues even without memory for it.
  // A function as replacement is interrupted between matches, so a long text is replaced by a function that returns it.
  const { includes, split } = String.prototype;
  const stand = (text, given, matches, label) => {
    if (typeof given[1] === "function") {
      const each = given[1];
      given[1] = (...found) => {
        const answer = apply(each, undefined, found);
        work(answer);
        return answer;
      };
      return;
    }
    const by = (given[1] = `${given[1]}`);
    if (!apply(includes, by, ["$"])) {
      if (by.length > 100) {
        given[1] = () => {
          work(by);
          return by;
        };
      }
    } else if (typeof text === "string") {
      // Occurrences of the whole text before a match, and of the whole text behind it.
      const sides = apply(split, by, ["$`"]).length + apply(split, by, ["$'"]).length - 2;
      if (matches * (by.length + sides * text.length) > EXPANSION_MAX) {
        throw new RangeErrorOfHost(`${label}: too much to put together`);
      }
    }
  };
  for (const name of ["replace", "replaceAll"]) {
    dispatching(name, Symbol.replace, 2, (called, given, label) => {
      const self = search(called, given, label);
      const length = typeof self === "string" ? self.length : 0;
      stand(self, given, label === "replace" ? 1 : length / (given[0]?.length || 1) + 1, label);
      return self;
    });
  }
  replace(RegExp.prototype, Symbol.replace, (self, given, label) => {
    given[0] = `${given[0]}`;
    stand(given[0], given, given[0].length + 1, label);
    return self;
  });
  for (const name of ["toLowerCase", "toUpperCase", "toLocaleLowerCase", "toLocaleUpperCase"]) {
    replace(String.prototype, name, (called, _, label) => {
      const self = asText(called);
      short(self, label);
      return self;
    });
  }
  for (const name of ["normalize", "localeCompare"]) {
    replace(String.prototype, name, (called, given, label) => {
      const self = asText(called);
      if (given.length > 0) {
        given[0] = asText(given[0]);
      }
      short(self, label, NORMALIZED_MAX);
      short(given[0], label, NORMALIZED_MAX);
      return self;
    });
  }
  for (const name of ["match", "matchAll", "search"]) {
    dispatching(name, Symbol[name], 1, (called, given, label) => {
      const self = asText(called);
      short(self, label);
      short(given[0], label, PATTERN_MAX);
      return self;
    });
  }
  // Checks the length of a pattern's source. A value that is no pattern is converted to a text first.
  const pattern = (given, label) => {
    const of = given[0];
    if (!isObject(of)) {
      return short(of, label, PATTERN_MAX);
    }
    if (!isPattern(of)) {
      given[0] = `${of}`;
      return short(given[0], label, PATTERN_MAX);
    }
    short(asText(of.source), label, PATTERN_MAX);
  };
  replace(RegExp.prototype, "compile", (self, given, label) => {
    pattern(given, label);
    return self;
  });
  for (const name of ["padStart", "padEnd"]) {
    replace(String.prototype, name, (called, given, label) => {
      const self = asText(called);
      if (isObject(given[0])) {
        given[0] = NumberOfHost(given[0]);
      }
      if (NumberOfHost(given[0]) > TEXT_MAX) {
        throw new RangeErrorOfHost(`${label}: a text of more than ${TEXT_MAX} characters`);
      }
      return self;
    });
  }
  replace(String.prototype, "repeat", (called, given, label) => {
    const self = asText(called);
    if (isObject(given[0])) {
      given[0] = NumberOfHost(given[0]);
    }
    if (`${self}`.length * NumberOfHost(given[0]) > TEXT_MAX) {
      throw new RangeErrorOfHost(`${label}: a text of more than ${TEXT_MAX} characters`);
    }
    return self;
  });
  for (const name of ["encodeURI", "encodeURIComponent", "decodeURI", "decodeURIComponent", "escape", "unescape"]) {
    replace(globalThis, name, (self, given, label) => {
      given[0] = asText(given[0]);
      short(given[0], label);
      return self;
    });
  }
  const bounding = (original, check) => {
    const bounded = new ProxyOfHost(original, {
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
  globalThis.RegExp = bounding(RegExp, (given) => pattern(given, "RegExp"));
  // QuickJS cannot interrupt its parser.
  const parsed = (texts) => {
    for (let i = 0; i < texts.length; i += 1) {
      texts[i] = `${texts[i]}`;
      if (texts[i].length > CODE_MAX) {
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

  // `join` of an iterator that may be a builtin too: nothing looks at the time between its values.
  if (Iterator.prototype.join) {
    const descriptor = getOwnPropertyDescriptor(Iterator.prototype, "join");
    descriptor.value = {
      join(separator = ",") {
        const between = `${separator}`;
        let text = "";
        let before = "";
        for (const value of { [iterator]: () => this }) {
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

  // Iterators that QuickJS makes of others. It calls `next` of one that is written in C without a look at the native
  // stack, which a long chain of them would overflow.
  const chained = [[].values().map((value) => value), Iterator.from({ next() {} })];
  if (Iterator.concat) {
    chained[chained.length] = Iterator.concat([]);
  }
  for (const each of chained) {
    replace(Object.getPrototypeOf(each), "next", (self) => self);
  }

  // `JSON.parse` and `JSON.stringify`: the amount of work is known only afterwards. Almost every call of game code uses
  // both, and the wrapper that `replace` makes would cost more than they do.
  const { parse, stringify } = JSON;
  // The engine's error knows the place in the text, but not the code that called.
  const failed = (error) => {
    if (error instanceof SyntaxError) {
      const stack = new Error().stack.split("\n").slice(2).join("\n");
      defineProperty(error, "stack", { value: stack, writable: true, configurable: true, enumerable: false });
    }
    return error;
  };
  const shallow = (text) => {
    if (text.length > PARSED_DEPTH_MAX && isDeeper(text, PARSED_DEPTH_MAX)) {
      throw new RangeErrorOfHost(`parse: the text has more than ${PARSED_DEPTH_MAX} brackets within each other`);
    }
  };
  const written = {
    parse(text, reviver) {
      if (reviver === undefined && typeof text === "string" && (worked += text.length) < WORK_MAX) {
        shallow(text);
        try {
          return parse(text);
        } catch (error) {
          throw failed(error);
        }
      }
      if (worked >= WORK_MAX) {
        rest();
      }
      const asked = asText(text);
      short(asked, "parse");
      shallow(asked);
      work(asked);
      const answer = reviver === undefined ? parse(asked) : parse(asked, reviver);
      work(answer);
      return answer;
    },
    stringify(value, replacer, space) {
      const called = isArray(value) ? places(value, "stringify") : value;
      let answer;
      try {
        answer = stringify(called, isArray(replacer) ? places(replacer, "stringify") : replacer, space);
      } catch (error) {
        // The amount of work until the error is not known.
        rest();
        throw error;
      }
      if (answer !== undefined && (worked += answer.length) >= WORK_MAX) {
        rest();
      }
      return answer;
    },
  };
  for (const name of ["parse", "stringify"]) {
    defineProperty(JSON, name, { value: written[name], writable: true, configurable: true, enumerable: false });
  }
  replace(String, "raw", (self, given, label) => {
    if (isObject(given[0])) {
      given[0] = { raw: places(given[0].raw, label) };
    }
    return self;
  });
})
