// Builds modules in Go for tests, each once in a process, into folders that go with it. Compiled forms are shared by all
// servers, of this process and others.

import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

const folders = [];
process.on("exit", () => folders.forEach((folder) => rmSync(folder, { recursive: true, force: true })));

/**
 * A folder with the module that is built of a folder of Go, and the flags of a server that runs it. `version` becomes
 * the value of the module's variable of that name.
 */
export async function goModule(source, version = "first") {
  const folder = mkdtempSync(join(tmpdir(), "muster-e2e-go-"));
  folders.push(folder);
  const env = { ...process.env, GOOS: "wasip1", GOARCH: "wasm" };
  await promisify(execFile)("go", ["build", "-ldflags", `-X main.version=${version}`, "-o", join(folder, "game.wasm"), "."], { cwd: source, env });
  return { "runtime.path": folder, "script.compiled_dir": COMPILED };
}

/** Under the name of the user: what one user has compiled no other one should run. */
const COMPILED = join(tmpdir(), `muster-e2e-compiled-${process.getuid?.() ?? "user"}`);
