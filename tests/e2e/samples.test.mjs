// Every sample of the guides and READMEs: commands run, clients play, modules are loaded, configurations checked.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { promisify } from "node:util";

import typescript from "typescript";

import { clientOf, newId } from "./support/client.mjs";
import { goModule } from "./support/go.mjs";
import { allSamples, KINDS, ROOT, samplesOf } from "./support/samples.mjs";
import { createDatabase, Server } from "./support/server.mjs";
import { Machine } from "./support/shell.mjs";

const run = promisify(execFile);
const E2E = join(ROOT, "tests/e2e");
const PRELUDE = `import { Client, WebSocketAdapterText } from "@heroiclabs/nakama-js";
import WebSocket from "ws";
globalThis.WebSocket ??= WebSocket;
globalThis.window ??= undefined;
`;
const SIGN_IN = `const client = new Client("defaultkey", "127.0.0.1", "7350");
const session = await client.authenticateDevice("a-device-of-samples", true);
`;

const CONNECT = "const socket = client.createSocket();\nawait socket.connect(session, true);\n";
const HELPER = join(ROOT, "sdk/typescript/dist/index.js");

/** A client's sample as node reads it. */
function playable({ kind, text }) {
  const { module, target } = { module: typescript.ModuleKind.ESNext, target: typescript.ScriptTarget.ES2022 };
  const options = { compilerOptions: { module, target, verbatimModuleSyntax: true } };
  return kind === "ts client" ? typescript.transpileModule(text, options).outputText : text;
}

/** What pages take to be there. */
const FILES = {
  "docs/guide/operating.md": { "etc/muster.yml": "data_dir: /var/lib/muster\nsession.token_expiry_sec: 7200\n" },
  "docs/guide/configuration.md": { "game.yml": "session.token_expiry_sec: 7200\n" },
  "docs/guide/cluster.md": { "etc/nats/ca.pem": "-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----\n" },
  "docs/guide/adopting-nakama.md": { "nakama.yml": "name: nakama\nsession:\n  token_expiry_sec: 7200\nlogger:\n  level: INFO\n" },
};
/** Addresses in samples, and what stands for them. */
const DATABASES = /postgres:\/\/[a-z:]+@db[^ \n]*/g;
const NATS = /nats:\/\/nats-1:4222/g;

const all = await allSamples();

/** A folder that goes when this process does. */
async function folderOf(files) {
  const folder = await mkdtemp(join(tmpdir(), "muster-sample-"));
  after(() => rm(folder, { recursive: true, force: true }));
  for (const [name, text] of Object.entries(files)) {
    await writeFile(join(folder, name), text);
  }
  return folder;
}

/** Loads modules as a server does when it starts, which fails if they do. */
async function load(flags) {
  const server = await Server.start({ flags });
  await server.dispose();
}

const LOADED = {
  "js module": ({ text }) => ({ "index.js": /InitModule/.test(text) ? text : `${text}\nfunction InitModule() {}\n` }),
  "ts module": ({ text }) => ({ "index.ts": text }),
  "lua module": ({ text }) => ({ "sample.lua": luaOf(text) }),
};

const luaOf = (text) => (/require\(?"nakama"/.test(text) ? text : `local nk = require("nakama")\n${text}`);

/** The imports that a part of a file of Go needs. */
function importsOf(text) {
  const known = {
    context: "context.",
    "database/sql": "sql.",
    fmt: "fmt.",
    "net/http": "http.",
    "github.com/heroiclabs/nakama-common/runtime": "runtime.",
  };
  return Object.entries(known).filter(([, used]) => text.includes(used)).map(([name]) => `import "${name}"\n`).join("");
}

const INIT = "func InitModule(ctx context.Context, logger runtime.Logger, db *sql.DB, nk runtime.NakamaModule, initializer runtime.Initializer) error";

/** The files of a module in Go of a sample that is a file, or the inside of `InitModule`. */
function goFiles({ kind, text }) {
  const main = 'package main\n\nimport muster "github.com/muster-server/muster/sdk/go"\n\nfunc main() { muster.Run(InitModule) }\n';
  const init = `${INIT} {\n${kind === "go init" ? text : ""}\nreturn nil\n}\n`;
  return {
    "main.go": kind === "go init" ? main : text,
    ...(/func InitModule/.test(text) ? {} : { "init.go": `package main\n\n${importsOf(init)}\n${init}` }),
  };
}

describe("samples", () => {
  test("every sample says what it is", () => {
    const faults = [...all.values()].flatMap((page) => page.faults);
    assert.deepEqual(faults, []);
    const samples = [...all.values()].flatMap((page) => page.samples);
    const count = (pick) => samples.filter(pick).length;
    const kinds = KINDS.map((kind) => `${count((sample) => sample.kind === kind)} ${kind}`).join(", ");
    console.log(`samples: ${count(({ isRun }) => isRun)} of ${samples.length} are run: ${kinds}`);
    for (const { where, kind } of samples.filter(({ kind }) => kind.endsWith(" not run"))) {
      console.log(`not run: ${where} (${kind})`);
    }
  });

  test("the page on operating names every command", async () => {
    const { stdout } = await run(process.env.MUSTER_BIN, ["--help"]);
    const commands = [...stdout.matchAll(/^ {2}muster ([a-z]+(?: (?:record|replay|verify))?)/gm)].map(([, command]) => command);
    const page = await readFile(join(ROOT, "docs/guide/operating.md"), "utf8");
    assert.ok(commands.length > 10);
    assert.deepEqual(commands.filter((command) => !page.includes(`muster ${command}`)), []);
  });

  test("samples of no kind are faults, and those that are not run give a reason", () => {
    const check = (text, faults) => assert.equal(samplesOf("p.md", text).faults.length, faults, text);
    check("```js client\nlet a;\n```", 0);
    check("```\nls\n```", 1);
    check("```brainfuck\n+\n```", 1);
    check("```ini not run\n[a]\n```", 1);
    check("```ini not run: systemd is not at hand\n[a]\n```", 0);
    check("text\n\n    npm start\n", 1);
    check("1. a list\n\n    with a paragraph\n", 0);
  });
});

for (const [page, { samples }] of all) {
  const of = (...kinds) => samples.filter(({ kind }) => kinds.includes(kind));
  describe(`samples of ${page}`, () => {
    let machine;
    let server;
    let player;
    const ofServer = () => [":7350", `:${server.port}`];

    before(async () => {
      if (samples.every(({ isRun }) => !isRun)) {
        return;
      }
      machine = await Machine.start(FILES[page]);
      const modules = join(machine.folder, "page-modules");
      await mkdir(modules);
      for (const [index, { file, text }] of of("lua module").entries()) {
        await writeFile(join(modules, file ?? `sample_${index}.lua`), luaOf(text));
      }
      // Players' accounts are changed beside a server that runs, which SQLite does not allow.
      const database = of("sh").some(({ text }) => text.includes("muster account")) ? "postgres" : "sqlite";
      server = await Server.start({ database, flags: { "runtime.path": modules, "runtime.env": "SHOP_KEY=secret" } });
      machine.env.MUSTER_SOCKET__PORT = String(server.port);
      const client = clientOf(server);
      player = await client.authenticateDevice(newId(), true);
    });
    after(async () => {
      await server?.dispose();
      await machine?.dispose();
    });

    /** A text with this machine's addresses in place of those that the page has. */
    async function addressed(text) {
      const database = text.match(DATABASES) ? await createDatabase(server.port) : "";
      const nats = process.env.MUSTER_TEST_NATS;
      return text.replace(DATABASES, database).replace(NATS, nats);
    }

    /** Runs a client's program against the page's server. */
    async function play(where, text) {
      const own = text.replaceAll("@muster/helper", HELPER).replace(/^import .*(nakama-js"|"ws").*\n/gm, "").replace(/^globalThis\..*\n/gm, "");
      const imports = [...own.matchAll(/^import .*$/gm)].map(([line]) => line).join("\n");
      const program = own.replace(/^import .*$/gm, "");
      const declares = (name) => new RegExp(`^\\s*const ${name} = `, "m").test(program);
      const signIn = `${declares("client") ? "" : SIGN_IN}${declares("socket") || declares("client") ? "" : CONNECT}`;
      const file = join(E2E, `.sample-${process.pid}-${where.replace(/\W/g, "_")}.mjs`);
      // A program of tests ends by its runner. Others are done when they have come to their end.
      const isTest = text.includes('from "node:test"');
      const end = isTest ? "" : "setTimeout(() => process.exit(), 0);\n";
      const whole = `${PRELUDE}${imports}\n${signIn}${program}\n${end}`;
      await writeFile(file, whole.replaceAll('"7350"', `"${server.port}"`).replaceAll(...ofServer()));
      try {
        const { NODE_TEST_CONTEXT, ...env } = process.env;
        const port = { MUSTER_SOCKET__PORT: String(server.port) };
        await run("node", [...(isTest ? ["--test", "--test-force-exit"] : []), file], { cwd: E2E, env: { ...env, ...port } });
      } finally {
        await rm(file);
      }
    }

    const joined = of("js client", "ts client");
    if (joined.length > 0) {
      test("its client plays", () => play(joined[0].where, joined.map(playable).join("\n")));
    }
    for (const { where, text } of of("js client alone")) {
      test(`${where} plays`, () => play(where, text));
    }
    for (const { where, text } of of("html page")) {
      const [, script] = text.match(/<script type="module">([^]*?)<\/script>/) ?? [];
      const own = `const document = { body: { append(text) { console.log(text); } } };\n${script?.replace(/^\s*import .*$/gm, "")}`;
      test(`${where} plays`, () => play(where, own));
    }

    const named = samples.filter(({ file, kind }) => file && / module$/.test(kind) && kind !== "lua module");
    if (named.length > 0) {
      test("its named files are loaded together", async () => {
        await load({ "runtime.path": await folderOf(Object.fromEntries(named.map(({ file, text }) => [file, text]))) });
      });
    }
    for (const sample of of("js module", "ts module", "lua module").filter(({ file }) => !file)) {
      test(`${sample.where} is loaded`, async () => load({ "runtime.path": await folderOf(LOADED[sample.kind](sample)) }));
    }
    for (const sample of of("go module", "go init")) {
      test(`${sample.where} is built and loaded`, async () => {
        const folder = await folderOf(goFiles(sample));
        const game = join(ROOT, "examples/tic-tac-toe/go");
        const go = join(ROOT, "sdk/go");
        await cp(join(game, "go.sum"), join(folder, "go.sum"));
        await cp(join(game, "go.mod"), join(folder, "go.mod"));
        await run("go", ["mod", "edit", "-replace", `github.com/muster-server/muster/sdk/go=${go}`], { cwd: folder });
        await load(await goModule(folder));
      });
    }

    for (const { where, text } of of("yaml config")) {
      test(`${where} is a configuration`, async () => {
        const folder = await folderOf({ "sample.yml": machine.here(text) });
        await run(process.env.MUSTER_BIN, ["check", "--config", join(folder, "sample.yml")]);
      });
    }
    for (const { where, text } of of("sql")) {
      test(`${where} is carried out`, async () => {
        const address = await createDatabase(server.port);
        await run(process.env.MUSTER_BIN, ["migrate", "up", "--database.address", address]);
        await run("psql", ["--set", "ON_ERROR_STOP=1", "--command", text, address]);
        const { stdout } = await run("psql", ["-At", "--command", "SELECT count(*) FROM pg_tables WHERE tablename LIKE 'muster\\_%'", address]);
        assert.equal(stdout.trim(), "0", "tables of ours are left");
      });
    }
    for (const { where, text, kind } of of("sh", "sh arguments")) {
      test(`${where} ${kind === "sh" ? "runs" : "has arguments that its programs know"}`, async () => {
        const words = Object.fromEntries([ofServer()]);
        if (kind === "sh arguments") {
          const given = text.replace(/\bPIDS?(_[A-Z])?\b/g, "1").replace(/\b[A-D](,[A-D])*\b|127\.0\.0\.1:7350\S*/g, "127.0.0.1:1");
          await machine.run(given.replace(/^(\S.*)$/gm, "$1 --help"));
          return;
        }
        const env = / ID\b/.test(text) ? { MUSTER_DATABASE__ADDRESS: server.flags["database.address"] } : {};
        await machine.run(await addressed(text.replaceAll(" ID ", ` ${player.user_id} `)), words, env);
      });
    }
  });
}
