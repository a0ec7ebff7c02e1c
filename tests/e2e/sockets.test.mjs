// What a socket itself is asked: how it opens, what it answers, when it closes.

import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { claims, newPlayer, WebSocket } from "./support/client.mjs";
import { onEveryServer } from "./support/matrix.mjs";
import { RawSocket } from "./support/raw-socket.mjs";

/** The default of socket.max_message_size_bytes. */
const MESSAGE_BYTES_MAX = 4096;
const BURST = 5000;
/** A burst is a flood. The other tests of sockets send no more than games do. */
const NO_LIMIT = { "limits.session_pings_per_sec": 0 };

onEveryServer("sockets", (holder) => {
  const open = async (query = "") => {
    const { session } = await newPlayer(holder.server);
    return RawSocket.open(holder.server, `token=${session.token}${query}`);
  };

  describe("opening", () => {
    test("only with a token that holds", async () => {
      const node = holder.server.oneNode;
      const { client, session } = await newPlayer(node);
      for (const query of ["", "token=", "token=nonsense", `token=${session.refresh_token}`]) {
        assert.equal(await refusal(node, query), 401, query);
      }
      await client.sessionLogout(session, session.token, session.refresh_token);
      assert.equal(await refusal(node, `token=${session.token}`), 401, "after a logout");
    });

    test("only in a format that is spoken here", async () => {
      const { session } = await newPlayer(holder.server);
      assert.equal(await refusal(holder.server, `token=${session.token}&format=xml`), 400);
    });

    test("the token may stand in the header", async () => {
      const { session } = await newPlayer(holder.server);
      const socket = await RawSocket.open(holder.server, "", { Authorization: `Bearer ${session.token}` });
      assert.deepEqual(await socket.ask({ cid: "1", ping: {} }), { cid: "1", pong: {} });
      socket.close();
    });
  });

  describe("answers", () => {
    test("a request with an id gets an answer with it, one without an answer without", async () => {
      const socket = await open();
      assert.deepEqual(await socket.ask({ cid: "a b", ping: {} }), { cid: "a b", pong: {} });
      assert.deepEqual(await socket.ask({ ping: {} }), { pong: {} });
      socket.close();
    });

    test(`${BURST} requests sent before the first answer is read are answered in order`, async () => {
      const socket = await open();
      const expected = Array.from({ length: BURST }, (_, number) => ({ cid: String(number), pong: {} }));
      expected.forEach(({ cid }) => socket.send(JSON.stringify({ cid, ping: {} })));
      const answers = [];
      while (answers.length < BURST) {
        answers.push(JSON.parse(await socket.next()));
      }
      assert.deepEqual(answers, expected);
      socket.close();
    });

    test("the formats differ in their frames", async () => {
      const socket = await open("&format=protobuf");
      // An envelope with `cid` (field 1) "7" and an empty `ping` (field 32).
      socket.send(Buffer.from([0x0a, 1, 0x37, 0x82, 0x02, 0]));
      // The same with `pong` (field 33).
      assert.deepEqual(Buffer.from(await socket.next()), Buffer.from([0x0a, 1, 0x37, 0x8a, 0x02, 0]));
      socket.close();
    });
  });

  describe("closing", () => {
    test("what cannot be read closes the socket without an answer", async () => {
      for (const text of ["{", "[]", "", '{"unknown":{}}', '{"cid":"1","ping":{"unknown":1}}', '{"ping":7}']) {
        const socket = await open();
        socket.send(text);
        await socket.closed;
        assert.deepEqual(socket.unread, [], text);
      }
    });

    test("a frame of the wrong kind closes the socket", async () => {
      const text = await open();
      text.send(Buffer.from('{"ping":{}}'));
      await text.closed;
      const binary = await open("&format=protobuf");
      binary.send('{"ping":{}}');
      await binary.closed;
    });

    test("an envelope without a message is told so, then closed", async () => {
      const socket = await open();
      const { cid, error } = await socket.ask({ cid: "1" });
      assert.deepEqual([cid, error.code], ["1", 2]);
      await socket.closed;
    });

    test("a message that only servers send is told so, then closed", async () => {
      const socket = await open();
      const { cid, error } = await socket.ask({ cid: "1", match: { match_id: "x" } });
      assert.deepEqual([cid, error.code], ["1", 1]);
      await socket.closed;
    });

    test("a message over the limit closes the socket with the code for that", async () => {
      const socket = await open();
      socket.send(JSON.stringify({ cid: "c".repeat(MESSAGE_BYTES_MAX), ping: {} }));
      assert.equal((await socket.closed).code, 1009);
    });

    test("a logout closes the sockets of its sign-in", async () => {
      const { client, session } = await newPlayer(holder.server);
      const socket = await RawSocket.open(holder.server, `token=${session.token}`);
      assert.ok(claims(session.token).tid);
      await client.sessionLogout(session, session.token, session.refresh_token);
      await socket.closed;
    });

    test("a deleted account's sockets are closed", async () => {
      const { client, session } = await newPlayer(holder.server);
      const socket = await RawSocket.open(holder.server, `token=${session.token}`);
      await client.deleteAccount(session);
      await socket.closed;
    });
  });
}, NO_LIMIT);

/** The HTTP status with which an upgrade is refused. */
function refusal(server, query) {
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(`ws://127.0.0.1:${server.port}/ws?${query}`);
    socket.once("unexpected-response", (_, response) => {
      resolve(response.statusCode);
      socket.terminate();
    });
    socket.once("open", () => reject(new Error(`opened with ${query}`)));
    socket.on("error", () => {});
  });
}
