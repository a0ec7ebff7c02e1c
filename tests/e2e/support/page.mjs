// The page of an example without a browser: its script, run on as much of a document as it uses.

import { Client } from "@heroiclabs/nakama-js";

import "./client.mjs";

const AsyncFunction = (async () => {}).constructor;

/** An element that tells who watches it when its text changes. */
class Element {
  hidden = false;
  #text = "";
  #watchers = [];

  get textContent() {
    return this.#text;
  }

  set textContent(text) {
    this.#text = String(text);
    this.#watchers.forEach((watcher) => watcher(this.#text));
  }

  appendChild(child) {
    return child;
  }

  watch(watcher) {
    this.#watchers.push(watcher);
    watcher(this.#text);
  }
}

/** A page that was opened. */
export class Page {
  #elements = { "#told": new Element(), "#again": new Element(), "#board": new Element() };
  #cells = [];

  /** Resolves when the script has run to its end, which a page of its own waits for too. */
  static async open(html, port) {
    const page = new Page();
    const [, script] = html.match(/<script type="module">([^]*?)<\/script>/);
    const own = script.replace(/^\s*import .*$/m, "");
    const document = {
      querySelector: (name) => page.#elements[name],
      createElement: () => page.#cells[page.#cells.push(new Element()) - 1],
    };
    const location = { hostname: "127.0.0.1", search: `?port=${port}` };
    await new AsyncFunction("Client", "document", "location", "sessionStorage", own)(Client, document, location, {});
    return page;
  }

  get again() {
    return this.#elements["#again"];
  }

  click(cell) {
    this.#cells[cell].onclick();
  }

  /** Resolves when the page tells its player this. */
  told(pattern) {
    return new Promise((resolve) => this.#elements["#told"].watch((text) => pattern.test(text) && resolve(text)));
  }
}
