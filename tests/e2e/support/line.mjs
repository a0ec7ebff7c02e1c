// A line to a server that a test can break and mend: what comes through it is TCP, whatever it says.

import { connect, createServer } from "node:net";

/** Passes connections on to a server, until it is cut or halted. */
export class Line {
  #pairs = new Set();
  #state = "sound";

  /** In front of the server of a URL. `url` is the same with this in its place. */
  static async start(target) {
    const { hostname, port } = new URL(target);
    const line = new Line();
    line.listener = createServer((near) => line.#accept(near, connect(Number(port), hostname)));
    await new Promise((resolve) => line.listener.listen(0, "127.0.0.1", resolve));
    const url = new URL(target);
    url.host = `127.0.0.1:${line.listener.address().port}`;
    line.url = url.toString();
    return line;
  }

  #accept(near, far) {
    const pair = [near, far];
    this.#pairs.add(pair);
    const end = () => {
      pair.forEach((socket) => socket.destroy());
      this.#pairs.delete(pair);
    };
    pair.forEach((socket) => socket.setNoDelay().on("error", end).on("close", end));
    if (this.#state === "cut") {
      end();
    } else if (this.#state === "sound") {
      near.pipe(far).pipe(near);
    }
  }

  /** Ends all connections and lets none in. */
  cut() {
    this.#state = "cut";
    this.#pairs.forEach((pair) => pair.forEach((socket) => socket.destroy()));
  }

  /** Nothing comes through any more, and nobody is told: connections stay, and new ones are taken. */
  halt() {
    this.#state = "halted";
    this.#pairs.forEach(([near, far]) => {
      [near, far].forEach((socket) => socket.unpipe().pause());
    });
  }

  /** Lets everything through again, also what was held back. */
  mend() {
    const wasHalted = this.#state === "halted";
    this.#state = "sound";
    if (wasHalted) {
      this.#pairs.forEach(([near, far]) => near.pipe(far).pipe(near));
    }
  }

  stop() {
    this.cut();
    return new Promise((resolve) => this.listener.close(resolve));
  }
}
