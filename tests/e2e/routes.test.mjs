// Paths of the server's address that game code answers itself, in Lua and in JavaScript.

import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";

import { call, isRefusal, newPlayer } from "./support/client.mjs";
import { startServer } from "./support/matrix.mjs";
import { metrics } from "./support/nodes.mjs";
import { freePort, Server } from "./support/server.mjs";

const folder = (language) => fileURLToPath(new URL(`./routes/${language}`, import.meta.url));
const BODY_BYTES_MAX = 64 * 1024;

for (const language of ["lua", "javascript"]) {
  for (const shards of [1, 4]) {
    describe(`routes in ${language} (${shards} shards)`, () => {
      let server;
      before(async () => {
        server = await startServer(
          { database: "sqlite", shards },
          {
            "runtime.path": folder(language),
            "metrics.prometheus_port": await freePort(),
            "socket.max_request_size_bytes": BODY_BYTES_MAX,
          },
        );
      });
      after(() => server.dispose());

      test("a request is seen whole, and its answer is the function's", async () => {
        const asked = await call(server, "POST", "/shop/a%20b/c/d%2Fe?tag=x&tag=y%20z&http_key=secret", {
          headers: { "X-Asked": "yes", "Content-Type": "application/octet-stream" },
          body: Uint8Array.from([0, 200, 65]),
        });
        assert.deepEqual([asked.status, asked.headers.get("content-type")], [201, "application/json"]);
        assert.equal(asked.headers.get("x-many"), "one, two");
        assert.deepEqual(asked.json, {
          mode: "http",
          method: "POST",
          path: "/shop/a%20b/c/d%2Fe",
          params: { item: "a b", rest: "c/d/e" },
          query: ["x", "y z"],
          header: ["yes"],
          body: Buffer.from([0, 200, 65]).toString("base64"),
          has_address: true,
        });
        assert.equal(asked.headers.get("access-control-allow-origin"), "*");
        assert.match(asked.headers.get("cache-control"), /no-store/);
      });

      test("the route that names more of the path takes it", async () => {
        const best = await call(server, "GET", "/shop/best/of");
        assert.deepEqual([best.status, best.text], [200, "the best"]);
        assert.equal(best.headers.get("content-type"), "text/plain; charset=utf-8");
      });

      test("bytes, and an answer that may be kept", async () => {
        const response = await fetch(`${server.url}/bytes`, { method: "PATCH" });
        const bytes = Buffer.from(await response.arrayBuffer());
        assert.deepEqual(bytes, Buffer.concat([Buffer.from([0, 255]), Buffer.from("bytes")]));
        assert.equal(response.headers.get("cache-control"), "max-age=60");
        assert.equal((await call(server, "DELETE", "/nothing")).status, 204);
      });

      test("what is not there, or not so, is refused as the API refuses it", async () => {
        isRefusal(await call(server, "GET", "/nowhere"), 404, 5);
        isRefusal(await call(server, "GET", "/nothing"), 501, 12);
        isRefusal(await call(server, "GET", "/shop"), 404, 5);
        isRefusal(await call(server, "POST", "/shop/a/b", { body: "x".repeat(BODY_BYTES_MAX + 1) }), 400, 3);
        const preflight = await call(server, "OPTIONS", "/shop/a/b");
        assert.deepEqual([preflight.status, preflight.headers.get("access-control-allow-origin")], [200, "*"]);
      });

      test("what it says of caches stays when its answer is compressed", async () => {
        const response = await fetch(`${server.url}/large`, { headers: { "Accept-Encoding": "gzip" } });
        assert.equal(await response.text(), "a".repeat(4000));
        const { headers } = response;
        assert.deepEqual([headers.get("content-encoding"), headers.get("vary")], ["gzip", "Origin, Accept-Encoding"]);
      });

      test("it goes on to its end when its client has left, and when the server stops then", async (t) => {
        const other = await Server.start({ shards, flags: { "runtime.path": folder(language) } });
        t.after(() => other.dispose());
        const leaves = new AbortController();
        const asked = [];
        let stop;
        const stopped = new Promise((resolve) => {
          stop = () => resolve(other.stop());
        });
        const studio = createServer(async (request, response) => {
          asked.push(request.url);
          if (request.url === "/first") {
            leaves.abort();
            // The server has seen by now that the client is gone.
            await call(other, "GET", "/shop/best/of");
            stop();
            await other.logged("stopping");
          }
          response.end();
        });
        await new Promise((listening) => studio.listen(0, "127.0.0.1", listening));
        t.after(() => studio.close());
        const url = encodeURIComponent(`http://127.0.0.1:${studio.address().port}`);
        await assert.rejects(fetch(`${other.url}/calls?url=${url}`, { signal: leaves.signal }), { name: "AbortError" });
        await stopped;
        assert.deepEqual(asked, ["/first", "/second"]);
      });

      test("what fails is told to the log alone", async () => {
        for (const path of ["/broken", "/unfit", "/endless"]) {
          const failed = await call(server, "GET", path);
          isRefusal(failed, 500, 13);
          assert.equal(failed.json.message, "An internal error occurred.");
        }
        assert.match(server.log, /a secret of the studio/);
        assert.match(server.log, /a status that is none from 200 to 599/);
      });

      test("it may use all that functions use", async () => {
        const { client, session, userId } = await newPlayer(server);
        const body = { user: userId, gems: 5 };
        assert.equal((await call(server, "POST", "/hooks/paid", { body })).status, 403);
        const paid = await call(server, "POST", "/hooks/paid", { body, headers: { "X-Signature": "s" } });
        assert.deepEqual([paid.status, paid.json], [200, { gems: 5 }]);
        assert.deepEqual(JSON.parse((await client.getAccount(session)).wallet), { gems: 5 });
        const page = await (await fetch(`http://127.0.0.1:${server.flags["metrics.prometheus_port"]}/`)).text();
        assert.match(page, /script_route_count{[^}]*route="\/hooks\/paid"} 2/);
        assert.match(page, /script_route_error_count{[^}]*route="\/hooks\/paid"} 1/);
        assert.equal((await metrics(server))("script_route_failed_count"), 3);
      });
    });
  }
}

test("a path that the server has itself stops the start, with the line", async (t) => {
  const modules = await mkdtemp(join(tmpdir(), "muster-routes-"));
  t.after(() => rm(modules, { recursive: true }));
  for (const [path, told] of [
    ["/v2/account", "is the server's own"],
    ["/{any}", "must begin with a name"],
    ["/twice", "another route takes what '/twice' takes"],
  ]) {
    const lines = [
      'local nk = require("nakama")',
      'nk.register_http(function() end, "/twice")',
      `nk.register_http(function() end, "${path}")`,
    ];
    await writeFile(join(modules, "web.lua"), lines.join("\n"));
    const started = Server.start({ flags: { "runtime.path": modules } });
    const error = await started.then(() => assert.fail("it started"), (error) => error);
    assert.match(error.message, /web\.lua:3/);
    assert.ok(error.message.includes(told), error.message);
  }
});
