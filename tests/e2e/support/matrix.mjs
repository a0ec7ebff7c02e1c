// Runs a group of tests once per kind of server.

import { after, before, describe } from "node:test";

import { Server } from "./server.mjs";

/** Every kind of server that must behave the same. */
export const SERVERS = ["sqlite", "postgres"].flatMap((database) =>
  [1, 4].map((shards) => ({ database, shards, name: `${database}, ${shards} shard${shards > 1 ? "s" : ""}` })),
);

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
        holder.server = await Server.start({ ...kind, flags });
      });
      after(() => holder.server?.dispose());
      declare(holder);
    });
  }
}
