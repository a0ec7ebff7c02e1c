// Variables of a scenario: what a player is called, what a server answered before, and texts that nobody used yet.

import { randomUUID } from "node:crypto";

const REFERENCE = /\$\$|\$\{([\w.]+)\}|\$([a-z]\w*(?:\.[a-z]\w*)*)/g;

/**
 * Makers of values that nobody has used: `$new.x` is a text, `$uuid.x` an id, `$email.x` an address. `${long.9}` is a
 * text of 9 bytes, `${nest.9}` JSON that is 9 levels deep.
 */
const MAKERS = {
  new: (name) => `${name.replaceAll("_", "-")}-${randomUUID().slice(0, 13)}`,
  uuid: () => randomUUID(),
  email: (name) => `${name}-${randomUUID()}@example.com`,
  long: (bytes) => "x".repeat(Number(bytes)),
  nest: (levels) => `${"[".repeat(Number(levels))}${"]".repeat(Number(levels))}`,
};

/** Shortest value that a recording replaces by a variable: shorter ones may be there by chance. */
const REPLACED_LEN_MIN = 8;

/** A reference to something that a server did not answer before. */
export class UnknownVariable extends Error {}

/** The variables of one run of a scenario. */
export class Variables {
  #values = new Map();

  has(name) {
    return this.#values.has(name);
  }

  set(name, value) {
    this.#values.set(name, value);
  }

  /** The value of a variable; names that begin with a maker's get a value at their first use. */
  get(name) {
    if (!this.#values.has(name)) {
      const [maker, rest] = name.split(/\.(.*)/);
      if (!rest || !MAKERS[maker]) {
        throw new UnknownVariable(`nothing was called ${name}`);
      }
      this.set(name, MAKERS[maker](rest));
    }
    return this.#values.get(name);
  }

  /** `value` with every reference replaced. A text that is one reference becomes the variable's value, of its type. */
  resolve(value) {
    if (typeof value === "string") {
      const whole = value.match(/^\$(?:\{([\w.]+)\}|([a-z]\w*(?:\.[a-z]\w*)*))$/);
      if (whole) {
        return this.get(whole[1] ?? whole[2]);
      }
      return value.replace(REFERENCE, (found, braced, bare) => (found === "$$" ? "$" : this.get(braced ?? bare)));
    }
    if (Array.isArray(value)) {
      return value.map((each) => this.resolve(each));
    }
    if (value && typeof value === "object") {
      return Object.fromEntries(Object.entries(value).map(([key, each]) => [this.resolve(key), this.resolve(each)]));
    }
    return value;
  }

  /** The text as a scenario writes it: values of variables become references. */
  refer(text) {
    const isReplaced = ([name, value]) =>
      name !== "language" && typeof value === "string" && value.length >= REPLACED_LEN_MIN;
    const known = [...this.#values].filter(isReplaced);
    for (const [name, value] of known) {
      if (value === text) {
        return `$${name}`;
      }
    }
    known.sort(([, a], [, b]) => b.length - a.length);
    let referred = text.replaceAll("$", "$$$$");
    for (const [name, value] of known) {
      referred = referred.replaceAll(value.replaceAll("$", "$$$$"), () => `\${${name}}`);
    }
    return referred;
  }

  /** The name itself, or with the lowest number that makes it new. */
  free(name) {
    for (let number = 1; ; number += 1) {
      const free = number === 1 ? name : `${name}${number}`;
      if (!this.has(free)) {
        return free;
      }
    }
  }

  snapshot() {
    return new Map(this.#values);
  }

  restore(snapshot) {
    this.#values = new Map(snapshot);
  }
}
