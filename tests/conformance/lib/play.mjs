// Plays a scenario against a server and answers what is different.

import { randomUUID } from "node:crypto";
import { deflateRawSync, deflateSync, gzipSync } from "node:zlib";

import { explanation } from "./everywhere.mjs";
import { differences } from "./expectation.mjs";
import { rawRequest } from "./raw.mjs";
import { recorded } from "./recording.mjs";
import { expectedOf, kindOf, overrideOf, setExpected, todoOf } from "./scenario.mjs";
import { EVENT_LIMIT_MS, Socket } from "./socket.mjs";
import { UnknownVariable, Variables } from "./variables.mjs";

const SERVER_KEY = process.env.CONFORMANCE_SERVER_KEY ?? "defaultkey";
const HTTP_KEY = process.env.CONFORMANCE_HTTP_KEY ?? "defaulthttpkey";

/** How often a step with `until` is tried again. */
const AGAIN_INTERVAL_MS = 100;

/** How a body is compressed, with the name that goes into the head. */
const PACKERS = {
  gzip: { encoding: "gzip", pack: gzipSync },
  deflate: { encoding: "deflate", pack: deflateSync },
  "raw deflate": { encoding: "deflate", pack: deflateRawSync },
};

/** Fields whose names game code chose: they are the same in every language. */
const OWN_FIELDS = new Set(["value", "metadata", "content", "changeset", "vars", "properties", "headers", "data"]);

const camel = (name) => name.replace(/_([a-z0-9])/g, (_, letter) => letter.toUpperCase());

/** Arguments with the names of fields as JavaScript writes them. */
function camelFields(value) {
  if (Array.isArray(value)) {
    return value.map(camelFields);
  }
  return value && typeof value === "object"
    ? Object.fromEntries(
        Object.entries(value).map(([key, each]) => [camel(key), OWN_FIELDS.has(key) ? each : camelFields(each)]),
      )
    : value;
}

/**
 * One run of a scenario. `target.url` is asked anew for each step, so that steps go round the nodes of a cluster;
 * `target.oneUrl` stays the same.
 */
export class Play {
  #sockets = new Map();
  #openers = new Map();
  #difference = [];

  constructor(scenario, language, target, { isMuster, everywhere = [], record = false, mark = null }) {
    Object.assign(this, { scenario, language, target, isMuster, everywhere, record, mark });
    this.todos = [];
    this.variables = new Variables();
    this.counts = { steps: 0, todo: 0, on_purpose: 0 };
  }

  /** Plays all steps; answers `{ differences, todos, counts }`. */
  async run() {
    this.oneUrl = this.target.url;
    try {
      this.variables.set("language", this.language ?? "");
      await this.#signIn(this.scenario.players ?? []);
      for (const [index, step] of this.scenario.steps.entries()) {
        const isLeftOut = this.isMuster ? step.muster?.skipped : step.muster?.added;
        if (isLeftOut || (step.only && step.only !== this.language)) {
          continue;
        }
        this.counts.steps += 1;
        this.#difference.push(...(await this.#step(index, step)));
      }
      await this.#leftOver();
    } finally {
      for (const socket of this.#sockets.values()) {
        await socket.close();
      }
    }
    return { differences: this.#difference, todos: this.todos, counts: this.counts };
  }

  get #url() {
    return this.scenario.one_node ? this.oneUrl : this.target.url;
  }

  /** Makes accounts, and gives them to the names in the order of their ids, so that the smaller id is known. */
  async #signIn(names) {
    const accounts = [];
    for (const {} of names) {
      const unique = randomUUID();
      const [device, username] = [`device-${unique}`, `player-${unique.slice(0, 13)}`];
      const path = `/v2/account/authenticate/device?create=true&username=${username}`;
      const { status, body } = await this.#http("POST", path, { auth: "server_key", body: { id: device } });
      if (status !== 200) {
        throw new Error(`a player could not sign in: ${status} ${JSON.stringify(body)}`);
      }
      const claims = JSON.parse(Buffer.from(body.token.split(".")[1], "base64url").toString());
      accounts.push({ id: claims.uid, name: username, device, token: body.token, refresh: body.refresh_token });
    }
    accounts.sort((a, b) => (a.id < b.id ? -1 : 1));
    names.forEach((name, index) =>
      Object.entries(accounts[index]).forEach(([key, value]) => this.variables.set(`${name}.${key}`, value)),
    );
  }

  async #step(index, step) {
    const where = `${this.scenario.name}${this.language ? ` [${this.language}]` : ""} step ${index + 1}`;
    const named = (found) => found.map((each) => ({ where, about: step.about, ...each }));
    const original = expectedOf(step, this.language);
    const purpose = this.isMuster ? overrideOf(step, this.language) : undefined;
    const { got, compare } = await this.#answer(step, purpose ?? original);
    if (this.record) {
      return this.#record(index, step, original, got, compare);
    }
    const found = compare(purpose ?? original ?? "nothing was recorded", got);
    if (!this.isMuster) {
      return named(found);
    }
    if (step.muster && this.mark) {
      this.mark(this.scenario, index, this.language, [], got, this.variables);
      return [];
    }
    if (purpose !== undefined) {
      this.counts.on_purpose += 1;
      if (original !== undefined && compare(original, got).length === 0) {
        const [expected, like] = ["a difference on purpose", "what the original answers"];
        return named([{ path: "muster", expected, got: like }]);
      }
      // The variables are those that Muster's answer binds.
      return named(compare(purpose, got));
    }
    return named(this.#judge(index, step, named(found), got));
  }

  /** Takes a step, again where it waits for something, and answers what came with a way to compare it. */
  async #answer(step, wanted) {
    const limit = Date.now() + EVENT_LIMIT_MS;
    for (;;) {
      const got = await this.#do(step).catch((error) => {
        // A step that builds on a difference cannot be taken.
        if (this.isMuster && error instanceof UnknownVariable) {
          return error.message;
        }
        throw error;
      });
      const before = this.variables.snapshot();
      const compare = (expected, value) => {
        this.variables.restore(before);
        return differences(expected, value, this.variables, Boolean(step.partial ?? this.scenario.partial));
      };
      if (!step.until || Date.now() > limit || (wanted !== undefined && compare(wanted, got).length === 0)) {
        return { got, compare };
      }
      await new Promise((resolve) => setTimeout(resolve, AGAIN_INTERVAL_MS));
    }
  }

  #record(index, step, original, got, compare) {
    if (original === undefined || compare(original, got).length > 0) {
      compare(undefined, undefined);
      setExpected(this.scenario, index, this.language, recorded(got, this.variables));
    }
    this.scenario.recorded.add(`${index} ${this.language}`);
    return [];
  }

  /** The differences that nobody has named, and the names of differences that are not there any more. */
  #judge(index, step, found, got) {
    const todo = todoOf(step, this.language);
    const [scenario, language, original] = [this.scenario, this.language, expectedOf(step, this.language)];
    const isNew = [];
    for (const difference of found) {
      const fact = { scenario, language, step, original, difference };
      const entry = todo.has(difference.path) ? { todo: true } : explanation(this.everywhere, fact);
      if (!entry) {
        isNew.push(difference);
      } else if (entry.todo) {
        this.counts.todo += 1;
        this.todos.push(difference);
      } else {
        this.counts.on_purpose += 1;
      }
    }
    if (this.mark && isNew.length > 0) {
      this.mark(scenario, index, language, [...todo, ...isNew.map(({ path }) => path)], got, this.variables);
      return [];
    }
    const paths = new Set(found.map(({ path }) => path));
    const mended = [...todo].filter((path) => !paths.has(path));
    const [expected, like] = ["a difference to mend", "what the original answers"];
    return [...isNew, ...mended.map((path) => ({ path, expected, got: like }))];
  }

  async #do(step) {
    switch (kindOf(step)) {
      case "http": {
        const [method, ...path] = step.http.split(" ");
        return this.#http(method, this.variables.resolve(path.join(" ")), step);
      }
      case "raw":
        return rawRequest(this.#url, this.variables.resolve(step.raw), this.variables.resolve(step.text ?? []));
      case "call":
        return this.#call(step);
      case "open":
        return this.#open(step);
      case "send":
        return this.#send(step);
      case "event":
        return (await this.#socket(step.event).event(step.kind)) ?? "none";
      case "quiet": {
        await this.#socket(step.quiet).settled();
        return this.#socket(step.quiet).unread();
      }
      case "close":
        await this.#socket(step.close).close();
        return "closed";
      case "tick":
        await new Promise((resolve) => setTimeout(resolve, 1_010 - (Date.now() % 1_000)));
        return "next second";
      case "closed":
        return this.#socket(step.closed).end();
    }
  }

  #socket(name) {
    const socket = this.#sockets.get(name);
    if (!socket) {
      throw new Error(`${this.scenario.name}: no socket is called ${name}`);
    }
    return socket;
  }

  async #http(method, path, { as, auth, body, text, pack, headers = {}, shows }) {
    const basic = (key) => `Basic ${Buffer.from(`${key}:`).toString("base64")}`;
    const authorization = as
      ? `Bearer ${this.variables.get(`${as}.token`)}`
      : { server_key: basic(SERVER_KEY), http_key: basic(HTTP_KEY) }[auth] ?? this.variables.resolve(auth);
    const resolved = this.variables.resolve(text ?? body);
    const plain = text === undefined && body ? JSON.stringify(resolved) : resolved;
    const request = {
      method,
      headers: {
        "Content-Type": "application/json",
        ...(authorization ? { Authorization: authorization } : {}),
        ...(pack ? { "Content-Encoding": PACKERS[pack].encoding } : {}),
        ...this.variables.resolve(headers),
      },
      body: pack ? PACKERS[pack].pack(plain) : plain,
    };
    // Some calls make the original end the connection without an answer.
    const response = await fetch(`${this.#url}${path}`, request).catch(() => null);
    if (!response) {
      return "closed";
    }
    const answer = await response.text();
    const shown = shows?.map((name) => [name, response.headers.get(name) ?? "none"]);
    const told = { status: response.status, ...(shown ? { headers: Object.fromEntries(shown) } : {}) };
    try {
      return { ...told, body: JSON.parse(answer) };
    } catch {
      return answer === "" ? told : { ...told, text: answer };
    }
  }

  /** Calls a function of the server through the module that both languages have. */
  async #call({ call, arguments: given = [] }) {
    const isLua = this.language === "lua";
    const name = typeof call === "string" ? call : call[this.language];
    const values = this.variables.resolve(Array.isArray(given) ? given : given[this.language]);
    const wrap = (value) => {
      if (value === null || value === undefined) {
        return {};
      }
      const isBytes = typeof value === "object" && Object.keys(value).join() === "bytes";
      return isBytes ? { bytes: value.bytes } : { value: isLua || !Array.isArray(given) ? value : camelFields(value) };
    };
    const isPlain = typeof call === "string" && !call.includes(":") && !isLua;
    const body = JSON.stringify({ function: isPlain ? camel(name) : name, arguments: values.map(wrap) });
    const path = `/v2/rpc/conformance_${this.language}?unwrap`;
    const answer = await this.#http("POST", path, { auth: "http_key", text: body.replaceAll("$", "$$$$") });
    return answer.status === 200 && typeof answer.body === "object" ? answer.body : answer;
  }

  async #open({ open, as = open, query = "", headers = {} }) {
    const token = this.variables.get(`${as}.token`);
    const parameters = new URLSearchParams({ token, format: "json" });
    const ask = query.includes("token=") ? query : `${parameters}&${query}`;
    const [question, heads] = [ask, headers].map((each) => this.variables.resolve(each));
    const { status, socket } = await Socket.open(this.#url, question, heads);
    if (status === 101) {
      this.#sockets.set(open, socket);
      return "open";
    }
    return { status };
  }

  async #send({ send, envelope, frame }) {
    const socket = this.#socket(send);
    if (frame !== undefined) {
      socket.send(this.variables.resolve(frame));
      await socket.settled();
      return socket.closed ? "closed" : "none";
    }
    return socket.ask(this.variables.resolve(envelope));
  }

  /** Events that no step has read are differences, and steps of a recording. */
  async #leftOver() {
    for (const [name, socket] of this.#sockets) {
      await socket.settled();
      for (const event of socket.unread()) {
        if (this.record) {
          const step = { event: name, expect: recorded(event, this.variables) };
          this.scenario.document.addIn(["steps"], this.scenario.document.createNode(step));
          this.scenario.steps.push(step);
          this.scenario.isChanged = true;
        } else {
          const where = `${this.scenario.name} at its end`;
          this.#difference.push({ where, path: name, expected: undefined, got: event });
        }
      }
    }
  }
}
