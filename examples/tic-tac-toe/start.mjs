// Starts the server with this game's code, and the page beside it.
//
//     npm start [lua | javascript | typescript | go]

import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, watch } from "node:fs";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { extname, join, normalize, sep } from "node:path";
import { fileURLToPath } from "node:url";

import { PORT, program, startServer, stop } from "../server.mjs";

const PAGE_PORT = Number(process.env.PAGE_PORT ?? 8080);
const TYPES = { ".html": "text/html", ".mjs": "text/javascript", ".js": "text/javascript" };
/** Editors write a file in several steps, which are one change. */
const CHANGE_MS = 100;
const here = fileURLToPath(new URL(".", import.meta.url));
const language = process.argv[2] ?? "lua";

// Only the page and the client library are shown to the browser.
const page = createServer(async (request, response) => {
  const path = normalize(new URL(request.url, "http://page").pathname);
  const file = path === sep ? "index.html" : path.slice(1);
  const isShown = file === "index.html" || file.startsWith(join("node_modules", "@heroiclabs") + sep);
  const body = isShown ? await readFile(join(here, file)).catch(() => undefined) : undefined;
  response.writeHead(body ? 200 : 404, { "content-type": TYPES[extname(file)] ?? "application/octet-stream" });
  response.end(body ?? "not found");
});

/** Builds the code in Go. The server loads the file when it has changed. */
async function buildGo(folder) {
  const env = { ...process.env, GOOS: "wasip1", GOARCH: "wasm" };
  const go = spawn("go", ["build", "-o", join(folder, "game.wasm"), "."], { cwd: join(here, "go"), env, stdio: "inherit" });
  go.once("error", (error) => stop(`go cannot be run (${error.code}): install Go 1.26 from https://go.dev/dl`));
  return (await once(go, "exit"))[0] === 0;
}

/** The folder of the game's code. Code in Go is built first, and again whenever it changes. */
async function modules() {
  if (language !== "go") {
    return existsSync(join(here, language, ".")) ? join(here, language) : stop(`no game in "${language}": lua, javascript, typescript or go`);
  }
  const folder = join(here, "data", "go");
  if (!(await buildGo(folder))) {
    process.exit(1);
  }
  let building = Promise.resolve();
  let timer;
  watch(join(here, "go"), () => {
    clearTimeout(timer);
    timer = setTimeout(() => (building = building.then(() => buildGo(folder))), CHANGE_MS);
  });
  return folder;
}

page.once("error", (error) => {
  const why = error.code === "EADDRINUSE" ? "another program listens there" : error.message;
  stop(`The page cannot be shown at port ${PAGE_PORT}: ${why}. Name another port: PAGE_PORT=8081 npm start …`);
});
await once(page.listen(PAGE_PORT, "127.0.0.1"), "listening");
let server;
for (const signal of ["SIGINT", "SIGTERM"]) {
  process.on(signal, async () => {
    await server?.end(signal);
    process.exit(0);
  });
}
server = await startServer(program(), { modules: await modules(), data: join(here, "data"), isShown: true });
const query = PORT === 7350 ? "" : `/?port=${PORT}`;
console.log(`\n  Open http://127.0.0.1:${PAGE_PORT}${query} in two tabs.\n`);
