// The samples of the documents: fenced blocks, whose info string says what they are, such as ```js client.

import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

export const ROOT = fileURLToPath(new URL("../../..", import.meta.url));

/** What a sample may be. `tests/e2e/README.md` says what is done with each. */
export const KINDS = [
  "sh",
  "sh arguments",
  "js client",
  "js client alone",
  "html page",
  "ts client",
  "js module",
  "ts module",
  "json module",
  "lua module",
  "go module",
  "go init",
  "yaml config",
  "sql",
  "text",
];

/** Pages by hand beside the guides, with samples that are copied. */
const OTHERS = ["docs/reference/rooms.md", "docs/reference/matchmaker.md", "sdk/typescript/README.md"];

/** The pages whose samples are run, relative to the repository. */
export async function pages() {
  const guides = (await readdir(join(ROOT, "docs/guide"))).filter((name) => name.endsWith(".md")).map((name) => `docs/guide/${name}`);
  const examples = await readdir(join(ROOT, "examples"), { withFileTypes: true });
  const readmes = examples.filter((entry) => entry.isDirectory()).map(({ name }) => `examples/${name}/README.md`);
  return ["README.md", ...guides.sort(), ...readmes.sort(), ...OTHERS];
}

/**
 * The samples of a page in their order, and its faults: blocks of a kind that nobody knows, and blocks by indentation,
 * which cannot say their kind.
 *
 * A sample that is not run says so: ```ini not run: systemd is not at hand.
 */
export function samplesOf(page, text) {
  const samples = [];
  const faults = [];
  let open;
  let isInList = false;
  for (const [index, line] of text.split("\n").entries()) {
    const fence = line.match(/^(\s*)```(.*)$/);
    const where = `${page}:${index + 1}`;
    if (fence && open) {
      samples.push({ ...open, text: `${open.lines.join("\n")}\n` });
      open = undefined;
    } else if (fence) {
      const [info, reason] = fence[2].split(/: (.*)/);
      const file = info.match(/ file=(\S+)/)?.[1];
      const kind = info.replace(/ file=\S+/, "").trim();
      const isRun = !kind.endsWith(" not run");
      if (isRun && !KINDS.includes(kind)) {
        faults.push(`${where}: a sample of no kind that is known: "${fence[2]}"`);
      }
      if ((!isRun || kind === "sh arguments") && !reason) {
        faults.push(`${where}: the sample does not say why it is not run: "${fence[2]}"`);
      }
      open = { where, kind, file, isRun: isRun && kind !== "text", indent: fence[1].length, lines: [] };
    } else if (open) {
      open.lines.push(line.slice(open.indent));
    } else {
      isInList = /^\s*([-*]|\d+\.) /.test(line) || (isInList && /^\s|^$/.test(line));
      if (/^ {4}\S/.test(line) && !isInList) {
        faults.push(`${where}: a sample without a fence`);
      }
    }
  }
  return { samples, faults };
}

/** The samples of all pages, by page. */
export async function allSamples() {
  const found = await Promise.all((await pages()).map(async (page) => [page, samplesOf(page, await readFile(join(ROOT, page), "utf8"))]));
  return new Map(found);
}
