// Several servers as one, for tests that do not care to which of them their players connect.

import { randomUUID } from "node:crypto";

import { metrics, until } from "./nodes.mjs";
import { createDatabase, freePort, Server } from "./server.mjs";

/** Nodes of a cluster: one database, one NATS. Whoever asks for a port gets the next node's. */
export class Cluster {
  #next = 0;

  /** @param {object} options as for a server, with how many `nodes`, `nats` for all or for each of them, and flags `of` each by its index */
  static async start({ nodes, shards, flags = {}, of = () => ({}), nats = process.env.MUSTER_TEST_NATS }) {
    if (!nats) {
      throw new Error("MUSTER_TEST_NATS names no server; `cargo xtask test --e2e` starts one and runs these tests");
    }
    const unique = randomUUID().replaceAll("-", "").slice(0, 12);
    const shared = {
      "database.address": flags["database.address"] ?? (await createDatabase(unique)),
      "cluster.name": `e2e-${unique}`,
      ...flags,
    };
    const cluster = new Cluster();
    const start = async (index) => {
      const own = {
        name: `node-${index}`,
        "metrics.prometheus_port": await freePort(),
        "cluster.nats": [nats].flat().at(index) ?? nats,
      };
      return Server.start({ shards, flags: { ...own, ...shared, ...of(index) } });
    };
    const started = await Promise.allSettled(Array.from({ length: nodes }, (_, index) => start(index)));
    cluster.nodes = started.filter((node) => node.status === "fulfilled").map((node) => node.value);
    const failed = started.find((node) => node.status === "rejected");
    if (failed) {
      await cluster.dispose();
      throw failed.reason;
    }
    return cluster;
  }

  /** Resolves when every node has its share: within a sixteenth of that, nothing of a node's moves any more. */
  async shared() {
    const share = 1_024 / this.nodes.length;
    await until("every node has its share", async () => {
      const owned = await Promise.all(this.nodes.map(async (node) => (await metrics(node))("cluster_partitions")));
      return owned.every((count) => Math.abs(count - share) <= share / 16 + 1);
    });
  }

  #node() {
    this.#next += 1;
    return this.nodes[this.#next % this.nodes.length];
  }

  /** A node on which what was said to it is known at once; others hear of revoked tokens within a second. */
  get oneNode() {
    return this.#node();
  }

  get port() {
    return this.#node().port;
  }

  get url() {
    return this.#node().url;
  }

  /** What all nodes have printed, one behind the other. */
  get log() {
    return this.nodes.map((node) => node.log).join("\n");
  }

  async command(...words) {
    return this.nodes[0].command(...words);
  }

  async stop(signal) {
    await Promise.all(this.nodes.map((node) => node.stop(signal)));
  }

  async start() {
    await Promise.all(this.nodes.map((node) => node.start()));
  }

  async dispose() {
    await Promise.all(this.nodes.map((node) => node.dispose()));
  }
}
