// A proxy that loses connections, for tests of what survives that.

import { connect, createServer } from "node:net";

/** Passes connections on, to one port after the other, and cuts each after so many bytes as `budget` says, or when it is told to. */
export class Cutter {
  budget = () => Infinity;
  connections = 0;
  #pairs = new Set();

  /** @param {number[]} ports of servers on this machine */
  static async start(...ports) {
    const cutter = new Cutter();
    const next = () => ports[cutter.connections++ % ports.length];
    cutter.server = createServer((client) => cutter.#pass(client, connect(next(), "127.0.0.1")));
    await new Promise((resolve) => cutter.server.listen(0, "127.0.0.1", resolve));
    cutter.port = cutter.server.address().port;
    return cutter;
  }

  #pass(client, server) {
    let budget = this.budget();
    const end = () => {
      client.destroy();
      server.destroy();
      this.#pairs.delete(end);
    };
    this.#pairs.add(end);
    const pass = (from, to) => {
      from.on("data", (bytes) => {
        to.write(bytes.subarray(0, Math.max(0, Math.min(budget, bytes.length))));
        budget -= bytes.length;
        if (budget <= 0) {
          // What was written still leaves; then both ends are gone.
          to.end(end);
          from.destroy();
        }
      });
      from.on("error", end);
      from.on("close", end);
    };
    pass(client, server);
    pass(server, client);
  }

  cut() {
    this.#pairs.forEach((end) => end());
  }

  stop() {
    this.cut();
    this.server.close();
  }
}
