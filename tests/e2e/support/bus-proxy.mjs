// A way to NATS that a test can cut and mend.

import { connect, createServer } from "node:net";

/** Passes connections on to a server until it is cut. */
export class BusProxy {
  #pairs = new Set();
  #isCut = false;

  /** In front of `nats`, a URL. */
  static async start(nats) {
    const { hostname, port } = new URL(nats);
    const proxy = new BusProxy();
    proxy.listener = createServer((near) => {
      if (proxy.#isCut) {
        near.destroy();
        return;
      }
      const far = connect(Number(port), hostname);
      const pair = [near, far];
      proxy.#pairs.add(pair);
      const end = () => {
        pair.forEach((socket) => socket.destroy());
        proxy.#pairs.delete(pair);
      };
      pair.forEach((socket) => socket.setNoDelay().on("error", end).on("close", end));
      near.pipe(far).pipe(near);
    });
    await new Promise((resolve) => proxy.listener.listen(0, "127.0.0.1", resolve));
    proxy.url = `nats://127.0.0.1:${proxy.listener.address().port}`;
    return proxy;
  }

  /** Ends all connections and lets none in. */
  cut() {
    this.#isCut = true;
    this.#pairs.forEach((pair) => pair.forEach((socket) => socket.destroy()));
  }

  mend() {
    this.#isCut = false;
  }

  stop() {
    this.cut();
    return new Promise((resolve) => this.listener.close(resolve));
  }
}
