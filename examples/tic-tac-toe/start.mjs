// Starts the server with this game's code, and the page beside it.
//
//     npm start [lua | javascript | typescript | go]

import { spawn, spawnSync } from "node:child_process";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { extname, join, normalize, sep } from "node:path";
import { fileURLToPath } from "node:url";

const PAGE_PORT = 8080;
const TYPES = { ".html": "text/html", ".mjs": "text/javascript", ".js": "text/javascript" };
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

/** The folder of the game's code. Code in Go is built first. */
function modules() {
  if (language !== "go") {
    return join(here, language);
  }
  const folder = join(here, "data", "go");
  const env = { ...process.env, GOOS: "wasip1", GOARCH: "wasm" };
  const built = spawnSync("go", ["build", "-o", join(folder, "game.wasm"), "."], { cwd: join(here, "go"), env, stdio: "inherit" });
  if (built.status !== 0) {
    process.exit(1);
  }
  return folder;
}

const muster = ["dev", "--runtime.path", modules(), "--data_dir", join(here, "data")];
const server = spawn("cargo", ["run", "--release", "--bin", "muster", "--", ...muster], {
  cwd: join(here, "..", ".."),
  stdio: ["ignore", "inherit", "inherit"],
});
server.on("exit", (code) => process.exit(code ?? 0));
for (const signal of ["SIGINT", "SIGTERM"]) {
  process.on(signal, () => server.kill(signal));
}
page.listen(PAGE_PORT, "127.0.0.1", () => {
  console.log(`\n  Open http://127.0.0.1:${PAGE_PORT} in two tabs once the server is ready.\n`);
});
