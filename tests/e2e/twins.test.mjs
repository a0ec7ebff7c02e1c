// The same game code in several languages: every function of it is called with the same, every match is played alike, and
// what clients see must be what the original's documentation says, and the same in all.

import assert from "node:assert/strict";
import { createHmac, createVerify, generateKeyPairSync } from "node:crypto";
import { createServer } from "node:http";
import { cp, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";

import { claims, clientOf, newId } from "./support/client.mjs";
import { goModule } from "./support/go.mjs";
import { SERVERS, startServer } from "./support/matrix.mjs";
import { until } from "./support/nodes.mjs";
import { connectPlayers, FORMAT_ORDERS, list, Player, refusedWith, userIds } from "./support/player.mjs";
import { CALLS } from "./twins/calls.mjs";
import { PLAYS } from "./twins/plays.mjs";

const SOURCES = fileURLToPath(new URL("./twins", import.meta.url));
const MATCH_JOIN_REJECTED = 5;
const inGo = await goModule(join(SOURCES, "go"));
const NAMES = ["ann", "bob", "carl"];

/** The languages, and how a folder of modules comes of their sources. */
const TWINS = {
  lua: (folder) => cp(join(SOURCES, "lua"), folder, { recursive: true }),
  // The server runs one script: as a bundler does, the files become one.
  javascript: async (folder) => {
    const names = (await readdir(join(SOURCES, "javascript"))).sort();
    const texts = await Promise.all(names.map((name) => readFile(join(SOURCES, "javascript", name), "utf8")));
    await writeFile(join(folder, "index.js"), texts.join("\n"));
  },
  go: (folder) => cp(inGo["runtime.path"], folder, { recursive: true }),
};

const { publicKey, privateKey } = generateKeyPairSync("rsa", {
  modulusLength: 2048,
  publicKeyEncoding: { type: "spki", format: "pem" },
  privateKeyEncoding: { type: "pkcs1", format: "pem" },
});

/** What game code asks by `http_request`. */
const outside = createServer((request, response) => {
  let body = "";
  request.on("data", (bytes) => (body += bytes));
  request.on("end", () => {
    response.writeHead(201, { "X-Answer": `${request.method} ${request.url} ${request.headers["x-asked"]}` });
    response.end(`heard ${body}`);
  });
});
before(() => new Promise((resolve) => outside.listen(0, "127.0.0.1", resolve)));
after(() => outside.close());

/** A server with a twin's modules. */
async function startTwin(language, kind, flags = {}) {
  const folder = await mkdtemp(join(tmpdir(), `muster-twins-${language}-`));
  await TWINS[language](folder);
  await cp(join(SOURCES, "data"), join(folder, "data"), { recursive: true });
  // Nodes of a cluster have names of their own.
  const name = kind.nodes ? {} : { name: "twins" };
  const ours = { "runtime.path": folder, "runtime.env": "GAME=twins", ...name };
  const server = await startServer(kind, { ...inGo, ...ours, ...flags });
  const dispose = async () => {
    await server.dispose();
    await rm(folder, { recursive: true });
  };
  return { language, server, dispose };
}

/** Replaces every text of a value. */
function mapTexts(value, map) {
  if (typeof value === "string") {
    return map(value);
  }
  if (Array.isArray(value)) {
    return value.map((each) => mapTexts(each, map));
  }
  return value && typeof value === "object"
    ? Object.fromEntries(Object.entries(value).map(([name, each]) => [name, mapTexts(each, map)]))
    : value;
}

const TIMES = /^(create|update|verify|disable)_?[tT]ime$/;
const underscored = (name) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/**
 * An answer as Lua writes it, without what differs from server to server and what languages cannot tell apart: nothing from
 * what is left out, and an empty list from a table without names. Names that game code chose stay.
 */
function normal(value, ids, isChosen = false) {
  if (Array.isArray(value)) {
    return value.length === 0 ? {} : value.map((each) => normal(each, ids, isChosen));
  }
  if (typeof value === "string") {
    const known = Object.keys(ids).find((name) => ids[name] === value);
    // Each twin's player may be on another node.
    return known ? `{${known}}` : value.replace(/^node-\d$/, "twins");
  }
  if (value === null || typeof value !== "object") {
    return value;
  }
  const entries = Object.entries(value)
    .filter(([, each]) => each !== null && each !== undefined)
    .map(([name, each]) => {
      const written = isChosen ? name : underscored(name);
      if (TIMES.test(written) && typeof each === "number") {
        return [written, "{time}"];
      }
      if (written === "version" && /^[0-9a-f]{32}$/.test(each)) {
        return [written, "{version}"];
      }
      return [written, normal(each, ids, isChosen || ["value", "metadata", "content"].includes(written))];
    });
  return Object.fromEntries(entries);
}

/** Checks what must be in an answer, which may hold more. */
function isLike(answer, expected, path) {
  for (const [name, each] of Object.entries(expected)) {
    if (each && typeof each === "object" && !Array.isArray(each)) {
      isLike(answer[name], each, `${path}.${name}`);
    } else {
      assert.deepEqual(answer[name], each, `${path}.${name}`);
    }
  }
}

const ackOf = ({ collection, key, user_id, version }) => ({ collection, key, user_id, version });

/** What all languages answer, of functions whose answers have further parts in some: the scenarios of `conformance` tell. */
const SHARED = {
  account_change: ({ user, wallet, custom_id }) => ({ user, wallet, custom_id }),
  storage_write: ({ acks }) => ({ acks: acks.map(ackOf) }),
  wallet: ({ updated, previous }) => ({ updated, previous }),
  multi: ({ acks, name, wallets }) => ({ acks: acks.map(ackOf), name, wallets }),
};

/** Calls a function, and answers what came of it in one form for all languages. */
async function callTwin(twin, step) {
  const { ann, ids } = twin;
  const words = { ...ids, url: `http://127.0.0.1:${outside.address().port}`, rsa: privateKey };
  const fill = (text) => text.replace(/\{(\w+)\}/g, (whole, name) => words[name] ?? whole);
  const given = mapTexts(step.given ?? {}, (text) => (text === "{now}" ? Date.now() : fill(text)));
  try {
    const { payload } =
      step.over === "socket"
        ? await ann.socket.rpc(step.call, JSON.stringify(given))
        : await ann.client.rpc(ann.session, step.call, given);
    const answer = typeof payload === "string" ? JSON.parse(payload) : payload;
    const told = normal(answer, ids);
    return { raw: answer, answer: SHARED[step.call]?.(told) ?? told };
  } catch (refused) {
    if (!(refused instanceof Response)) {
      throw refused;
    }
    const { code, message } = await refused.json();
    return { refusal: { status: refused.status, code, message } };
  }
}

/** What is checked by what else it means. */
const CHECKS = {
  web_token: ({ token }) => {
    const [head, body, signature] = token.split(".");
    assert.deepEqual(JSON.parse(Buffer.from(head, "base64url")), { alg: "HS256", typ: "JWT" });
    assert.equal(signature, createHmac("sha256", "secret").update(`${head}.${body}`).digest("base64url"));
  },
  signed_token: ({ token }) => {
    const [head, body, signature] = token.split(".");
    const verify = createVerify("RSA-SHA256").update(`${head}.${body}`);
    assert.ok(verify.verify(publicKey, signature, "base64url"));
    assert.deepEqual(claims(token), { claim: "seven" });
  },
  session_token: ({ token }, ids) => {
    const { uid, usn, exp, vrs } = claims(token);
    assert.deepEqual({ uid, usn, exp, vrs }, { uid: ids.bob, usn: "bob", exp: 4102444800, vrs: { mood: "glad" } });
  },
};

/** What differs in each language: signatures of tokens whose members stand in another order, and words of errors. */
const comparable = ({ answer, refusal }) => {
  const { token, ...rest } = answer ?? {};
  return { answer: answer && rest, refusal: refusal && { status: refusal.status, code: refusal.code } };
};

for (const kind of SERVERS) {
  describe(`twins (${kind.name})`, () => {
    const twins = [];
    before(async () => {
      for (const language of Object.keys(TWINS)) {
        const twin = await startTwin(language, kind);
        twins.push(twin);
        const client = clientOf(twin.server);
        const players = {};
        for (const name of NAMES) {
          const session = await client.authenticateCustom(`twins-${name}`, true, name, { mood: "calm" });
          players[name] = await Player.connect(twin.server, "json", { session, online: true });
        }
        const ids = Object.fromEntries(NAMES.map((name) => [name, players[name].userId]));
        Object.assign(twin, { ...players, ids });
      }
    });
    after(() => Promise.all(twins.map((twin) => twin.dispose())));

    test("functions answer the same, and as documented", async () => {
      for (const step of CALLS) {
        const found = await Promise.all(twins.map((twin) => callTwin(twin, step)));
        const [first] = found;
        for (const [index, { raw, answer, refusal }] of found.entries()) {
          const where = `${step.call} in ${twins[index].language}: ${JSON.stringify(answer ?? refusal)}`;
          assert.deepEqual([refusal?.status, refusal?.code], [step.status, step.code], where);
          assert.equal(step.message ?? refusal?.message, refusal?.message, where);
          if (CHECKS[step.call]) {
            CHECKS[step.call](raw, twins[index].ids);
          } else if ("answer" in step) {
            assert.deepEqual(answer, step.answer, where);
          }
          if (step.like) {
            isLike(answer, step.like, where);
          }
          assert.deepEqual(comparable(found[index]), comparable(first), where);
          if (step.heard) {
            const [who, kind, texts] = step.heard;
            assert.deepEqual(await heardBy(twins[index][who], kind, texts.length), texts, where);
          }
        }
      }
      for (const { server, language } of twins) {
        for (const level of ["i", "w", "e"]) {
          assert.ok(server.log.includes(`a line of the twins ${level}`), language);
        }
      }
    });

    for (const formats of FORMAT_ORDERS) {
      for (const [handler, { params, steps }] of Object.entries(PLAYS)) {
        test(`the match ${handler}: ${formats.join(" and ")}`, async () => {
          for (const twin of twins) {
            await play(twin, formats, handler, params, steps);
          }
        });
      }
    }

    test("a session is disconnected, and logged out", async () => {
      for (const { ann, bob, ids } of twins) {
        const [closed] = await Promise.all([bob.disconnected, bob.socket.rpc("disconnect", "").catch(() => {})]);
        assert.ok(closed);
        await ann.client.rpc(ann.session, "logout", { id: ids.bob });
        const refused = () => bob.client.getAccount(bob.session).then(() => 200, (response) => response.status);
        // Other nodes hear of it a moment later.
        await until("the token is void", async () => (await refused()) === 401);
      }
    });
  });
}

const TEXT_OF = { notification: ({ subject }) => subject, streamData: ({ data }) => data };

/** What came first, in order. */
async function heardBy(player, kind, count) {
  const heard = [];
  for (let number = 0; number < count; number++) {
    heard.push(TEXT_OF[kind](await player.next(kind)));
  }
  return heard;
}

/** Plays a match step by step. */
async function play(twin, formats, handler, params, steps) {
  const topic = `t${newId().replaceAll("-", "")}`;
  const players = await connectPlayers(twin.server, formats, NAMES.length);
  const [ann, bob, carl] = players;
  const who = { ann, bob, carl };
  const words = { topic, ann: ann.username, bob: bob.username, carl: carl.username };
  const fill = (value) => mapTexts(value, (text) => text.replace(/\{(\w+)\}/g, (whole, name) => words[name] ?? whole));
  const ask = async (id, given) => (await ann.client.rpc(ann.session, id, given)).payload;
  const { id } = await ask("match_make", { handler, params: fill(params) });
  const idsOf = (names) => names.map((name) => who[name].userId);
  const does = {
    joins: async (player, metadata = {}) => {
      const joined = await player.socket.joinMatch(id, undefined, metadata);
      assert.equal(joined.authoritative, true);
    },
    "is refused": async (player, metadata, reason) => {
      const refused = await refusedWith(player.socket.joinMatch(id, undefined, metadata), MATCH_JOIN_REJECTED);
      assert.equal(refused.message, reason);
    },
    sends: (player, code, text) => player.socket.sendMatchState(id, code, text),
    leaves: (player) => player.socket.leaveMatch(id),
    hears: async (player, code, text, sender) => {
      const heard = await player.next("matchData");
      const said = Buffer.from(heard.data ?? []).toString();
      assert.deepEqual([heard.match_id, heard.op_code, sorted(said)], [id, code, sorted(text)]);
      assert.equal(heard.presence?.user_id, sender && who[sender].userId);
    },
    sees: async (player, came, went) => {
      const { joins, leaves } = await player.next("matchPresence");
      assert.deepEqual([userIds(joins), userIds(leaves)], [idsOf(came), idsOf(went)]);
    },
    signals: async (_, data, answer) => {
      assert.deepEqual(sorted((await ask("match_tell", { id, data })).answer), sorted(answer));
    },
    finds: async (_, query, labels) => {
      const found = await ask("match_find", { query });
      assert.deepEqual(Object.values(list(found.labels)), labels);
    },
  };
  for (const [index, [name, verb, ...rest]] of steps.entries()) {
    try {
      await does[verb](who[name], ...fill(rest));
    } catch (error) {
      error.message = `${handler} in ${twin.language}, step ${index + 1} (${name} ${verb}): ${error.message}`;
      throw error;
    }
  }
  await Promise.all(players.map((player) => player.disconnect()));
}

/** A text, or what it says in JSON, whose names languages write in an order of their own. */
function sorted(text) {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

for (const language of Object.keys(TWINS)) {
  test(`a match counts down when the server stops: ${language}`, async () => {
    const twin = await startTwin(language, { database: "sqlite", shards: 2 }, { shutdown_grace_sec: 5 });
    try {
      const [ann] = await connectPlayers(twin.server, ["protobuf"], 1);
      const { id } = (await ann.client.rpc(ann.session, "match_make", { handler: "warden", params: {} })).payload;
      await ann.socket.joinMatch(id);
      const stopped = twin.server.stop();
      for (const said of ["within 5", "2", "1", "0"]) {
        const { op_code, data } = await ann.next("matchData");
        assert.deepEqual([op_code, Buffer.from(data).toString()], [4, said]);
      }
      await stopped;
    } finally {
      await twin.dispose();
    }
  });
}
