// What HTTP itself is asked: encodings, origins, sizes, routes, health.

import assert from "node:assert/strict";
import { request } from "node:http";
import { describe, test } from "node:test";
import { deflateRawSync, deflateSync, gunzipSync, gzipSync } from "node:zlib";

import { call, isRefusal, newId, newPlayer, refused, SERVER_KEY } from "./support/client.mjs";
import { onEveryServer } from "./support/matrix.mjs";

/** The default of socket.max_request_size_bytes. */
const BODY_BYTES_MAX = 262_144;

onEveryServer("transport", (holder) => {
  const server = () => holder.server;
  const signIn = (body, headers = {}) =>
    call(server(), "POST", "/v2/account/authenticate/device?create=true", { key: SERVER_KEY, body, headers });

  describe("health", () => {
    test("a server that serves says so, to anybody", async () => {
      const health = await call(server(), "GET", "/healthcheck");
      assert.deepEqual([health.status, health.json], [200, {}]);
      const root = await call(server(), "GET", "/");
      assert.deepEqual([root.status, root.text], [200, ""]);
    });
  });

  describe("encodings", () => {
    test("a body may come as gzip or deflate", async () => {
      for (const [encoding, pack] of [["gzip", gzipSync], ["deflate", deflateSync], ["deflate", deflateRawSync]]) {
        const answer = await signIn(pack(JSON.stringify({ id: newId() })), { "Content-Encoding": encoding });
        assert.equal(answer.status, 200, `${encoding}: ${answer.text}`);
        assert.equal(answer.json.created, true);
      }
    });

    test("a body that is not what its encoding says is refused", async () => {
      const broken = gzipSync(JSON.stringify({ id: newId() })).subarray(0, 20);
      isRefusal(await signIn(broken, { "Content-Encoding": "gzip" }), 400, 3);
      isRefusal(await signIn("{}", { "Content-Encoding": "gzip" }), 400, 3);
    });

    test("a small body that unfolds to an enormous one is refused", async () => {
      const bomb = gzipSync(Buffer.alloc(64 * 1024 * 1024, " "));
      assert.ok(bomb.length < BODY_BYTES_MAX);
      isRefusal(await signIn(bomb, { "Content-Encoding": "gzip" }), 400, 3);
    });

    test("a long answer comes as gzip to who takes it, and plain to who does not", async () => {
      const { client, session, userId } = await newPlayer(server());
      const value = { text: "long ".repeat(2000) };
      await client.writeStorageObjects(session, [{ collection: "long", key: "one", value }]);
      const path = `/v2/storage/long/${userId}`;
      const packed = await rawGet(server(), path, session.token, { "Accept-Encoding": "gzip" });
      const plain = await rawGet(server(), path, session.token, { "Accept-Encoding": "identity" });
      assert.equal(packed.headers["content-encoding"], "gzip");
      assert.equal(plain.headers["content-encoding"], undefined);
      assert.ok(packed.body.length < plain.body.length / 10);
      assert.deepEqual(gunzipSync(packed.body), plain.body);
      assert.deepEqual(JSON.parse(JSON.parse(plain.body).objects[0].value), value);
    });
  });

  describe("origins", () => {
    test("a browser on any origin may call", async () => {
      const preflight = await call(server(), "OPTIONS", "/v2/storage", {
        headers: {
          Origin: "https://game.example.com",
          "Access-Control-Request-Method": "PUT",
          "Access-Control-Request-Headers": "authorization,content-type",
        },
      });
      assert.ok([200, 204].includes(preflight.status), String(preflight.status));
      const list = (name) => (preflight.headers.get(name) ?? "").toLowerCase().split(/\s*,\s*/);
      assert.deepEqual(list("access-control-allow-origin"), ["*"]);
      assert.ok(list("access-control-allow-methods").includes("put"));
      for (const header of ["authorization", "content-type"]) {
        assert.ok(list("access-control-allow-headers").includes(header), header);
      }
    });

    test("answers and refusals alike carry the permission", async () => {
      const headers = { Origin: "https://game.example.com" };
      for (const path of ["/healthcheck", "/v2/account", "/nowhere"]) {
        const answer = await call(server(), "GET", path, { headers });
        assert.equal(answer.headers.get("access-control-allow-origin"), "*", path);
      }
    });
  });

  describe("bodies", () => {
    test("unknown fields are passed over, and names come in both cases", async () => {
      assert.equal((await signIn({ id: newId(), unknown: { deep: [1] } })).status, 200);
      const { session } = await newPlayer(server());
      const put = await call(server(), "PUT", "/v2/account", {
        token: session.token,
        body: { displayName: "Zoë", avatar_url: "a" },
      });
      assert.deepEqual([put.status, put.json], [200, {}], put.text);
      const { json } = await call(server(), "GET", "/v2/account", { token: session.token });
      assert.deepEqual([json.user.display_name, json.user.avatar_url], ["Zoë", "a"]);
    });

    test("what cannot be read is refused", async () => {
      const bodies = ["", "{", "[]", '"text"', '{"id":7}', `{"id":"${newId()}"} trailing`, Buffer.from([0xff, 0xfe])];
      for (const body of [...bodies, "[".repeat(100_000)]) {
        isRefusal(await signIn(body), 400, 3);
      }
    });

    test("a body over the limit is refused, one below it is not", async () => {
      isRefusal(await signIn({ id: newId(), padding: "p".repeat(BODY_BYTES_MAX) }), 400, 3);
      assert.equal((await signIn({ id: newId(), padding: "p".repeat(BODY_BYTES_MAX - 200) })).status, 200);
    });

    test("an answer is JSON that nobody keeps", async () => {
      const answer = await signIn({ id: newId() });
      assert.match(answer.headers.get("content-type"), /^application\/json/);
      assert.match(answer.headers.get("cache-control"), /no-store/);
    });
  });

  describe("routes", () => {
    test("an unknown one is not found", async () => {
      for (const path of ["/nowhere", "/v2/nowhere", "/v3/account", "/v2/account/authenticate/nobody"]) {
        isRefusal(await call(server(), "GET", path), 404, 5);
      }
    });

    test("a known one does not take another method", async () => {
      isRefusal(await call(server(), "GET", "/v2/account/authenticate/device", { key: SERVER_KEY }), 501, 12);
      isRefusal(await call(server(), "DELETE", "/v2/storage", { key: SERVER_KEY }), 501, 12);
    });

    test("an operation that is not built yet says so", async () => {
      const { client, session } = await newPlayer(server());
      for (const operation of [
        () => client.listGroups(session, "name"),
        () => client.listLeaderboardRecords(session, "board"),
        () => client.authenticateSteam("ticket", true),
      ]) {
        await refused(operation(), 501, 12);
      }
    });

    test("a function that no module registered is not found, in the form of function calls", async () => {
      const { session } = await newPlayer(server());
      for (const [method, body] of [["POST", '"payload"'], ["GET", undefined]]) {
        const answer = await call(server(), method, "/v2/rpc/nothing", { token: session.token, body });
        isRefusal(answer, 404, 5);
        assert.equal(answer.json.error, answer.json.message);
      }
      isRefusal(await call(server(), "GET", "/v2/rpc/nothing?http_key=wrong"), 401, 16);
      isRefusal(await call(server(), "GET", "/v2/rpc/nothing"), 401, 16);
    });
  });
});

/** A GET that leaves the body packed, which `fetch` does not. */
function rawGet(server, path, token, headers) {
  return new Promise((resolve, reject) => {
    const options = { headers: { Authorization: `Bearer ${token}`, ...headers } };
    const sent = request(`${server.url}${path}?limit=1`, options, (response) => {
      const pieces = [];
      response.on("data", (piece) => pieces.push(piece));
      response.on("end", () => resolve({ headers: response.headers, body: Buffer.concat(pieces) }));
    });
    sent.on("error", reject).end();
  });
}
