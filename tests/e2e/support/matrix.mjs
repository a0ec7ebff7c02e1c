// Runs a group of tests once per kind of server.

import { after, before, describe } from "node:test";

import { Cluster } from "./cluster.mjs";
import { Server } from "./server.mjs";

/** Every kind of server that must behave the same. Of several nodes each client gets the next one. */
export const SERVERS = [
  { database: "sqlite", shards: 1, name: "sqlite, 1 shard" },
  { database: "sqlite", shards: 4, name: "sqlite, 4 shards" },
  { database: "postgres", shards: 1, name: "postgres, 1 shard" },
  { database: "postgres", shards: 4, name: "postgres, 4 shards" },
  { database: "postgres", shards: 2, nodes: 3, name: "postgres, 3 nodes of 2 shards" },
];

/** Starts a server of this kind. */
export const startServer = (kind, flags = {}) => (kind.nodes ? Cluster : Server).start({ ...kind, flags });

/** Every format a socket can speak. */
export const FORMATS = ["json", "protobuf"];

/**
 * Declares the tests of `declare` for each kind of server. `declare` gets a holder whose `server` is there once tests
 * run.
 */
export function onEveryServer(subject, declare, flags = {}) {
  for (const kind of SERVERS) {
    describe(`${subject} (${kind.name})`, () => {
      const holder = { server: null };
      before(async () => {
        holder.server = await startServer(kind, flags);
      });
      after(() => holder.server?.dispose());
      declare(holder);
    });
  }
}
