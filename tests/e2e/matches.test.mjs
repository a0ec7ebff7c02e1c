// Matches whose players talk to each other through the server.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";

import { newId } from "./support/client.mjs";
import { onEveryServer } from "./support/matrix.mjs";
import { cameAndWent, connectPlayers, FORMAT_ORDERS, isPresenceOf, list, refusedWith, userIds } from "./support/player.mjs";
import { RawSocket } from "./support/raw-socket.mjs";

const MATCH_NOT_FOUND = 4;
const BAD_INPUT = 3;
const MATCH_ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\.$/;

onEveryServer("matches", (holder) => {
  const each = (subject, run) => {
    for (const formats of FORMAT_ORDERS) {
      test(`${subject}: ${formats.join(" and ")}`, () => run(formats));
    }
  };

  /** Players in a new match, who have seen each other come. */
  const inMatch = async (formats, count) => {
    const players = await connectPlayers(holder.server, formats, count);
    const match = await players[0].socket.createMatch();
    await players[0].next("matchPresence");
    const selves = [match.self];
    for (const [index, player] of players.entries()) {
      if (index > 0) {
        selves.push((await player.socket.joinMatch(match.match_id)).self);
        await Promise.all(players.slice(0, index + 1).map((present) => present.next("matchPresence")));
      }
    }
    return { players, match, selves };
  };
  const text = (data) => Buffer.from(data ?? []).toString();

  each("a match is created, joined and left", async (formats) => {
    const [ann, bob] = await connectPlayers(holder.server, formats, 2);
    const match = await ann.socket.createMatch();
    assert.match(match.match_id, MATCH_ID);
    assert.deepEqual([match.authoritative ?? false, match.size, list(match.presences)], [false, 1, []]);
    isPresenceOf(match.self, ann);
    const own = await ann.next("matchPresence");
    assert.deepEqual([own.match_id, cameAndWent(own)], [match.match_id, { came: [ann.userId], went: [] }]);
    isPresenceOf(own.joins[0], ann);

    const joined = await bob.socket.joinMatch(match.match_id, undefined, { colour: "red" });
    assert.equal(joined.match_id, match.match_id);
    // Who joins does not count yet, and is not among those who are there.
    assert.equal(joined.size, 1);
    assert.deepEqual(userIds(joined.presences), [ann.userId]);
    isPresenceOf(joined.self, bob);
    for (const player of [ann, bob]) {
      assert.deepEqual(cameAndWent(await player.next("matchPresence")), { came: [bob.userId], went: [] });
    }
    const again = await bob.socket.joinMatch(match.match_id);
    assert.deepEqual([again.size, userIds(again.presences).sort()], [2, [ann.userId, bob.userId].sort()]);

    await bob.socket.leaveMatch(match.match_id);
    assert.deepEqual(cameAndWent(await ann.next("matchPresence")), { came: [], went: [bob.userId] });
    await bob.socket.joinMatch(match.match_id);
    // Bob heard nothing of his going: what he hears next is that he came.
    assert.deepEqual(cameAndWent(await bob.next("matchPresence")), { came: [bob.userId], went: [] });
    assert.deepEqual(cameAndWent(await ann.next("matchPresence")), { came: [bob.userId], went: [] });
    bob.disconnect();
    assert.deepEqual(cameAndWent(await ann.next("matchPresence")), { came: [], went: [bob.userId] });
  });

  // In JSON: the client's protobuf adapter (1.4.0) leaves the name out.
  test("a name leads everyone to the same match", async () => {
    const [ann, bob] = await connectPlayers(holder.server, ["json"], 2);
    const name = `arena-${newId()}`;
    const first = await ann.socket.createMatch(name);
    assert.equal(first.match_id, `${uuidOfName(name)}.`);
    assert.deepEqual([first.size, list(first.presences)], [1, []]);
    await ann.next("matchPresence");
    const second = await bob.socket.createMatch(name);
    assert.equal(second.match_id, first.match_id);
    assert.deepEqual([second.size, userIds(second.presences)], [2, [ann.userId]]);
    assert.deepEqual(cameAndWent(await ann.next("matchPresence")), { came: [bob.userId], went: [] });
  });

  each("data goes to the others", async (formats) => {
    const { players, match } = await inMatch(formats, 3);
    const [ann, bob, carl] = players;
    await ann.socket.sendMatchState(match.match_id, 7, "from ann");
    for (const player of [bob, carl]) {
      const received = await player.next("matchData");
      assert.deepEqual([received.match_id, received.op_code, text(received.data)], [match.match_id, 7, "from ann"]);
      isPresenceOf(received.presence, ann);
    }
    await bob.socket.sendMatchState(match.match_id, Number.MAX_SAFE_INTEGER, new Uint8Array([0, 255, 128]));
    // Had Ann's data come back to her, it would come first.
    for (const player of [ann, carl]) {
      const { op_code, data } = await player.next("matchData");
      assert.deepEqual([op_code, [...data]], [Number.MAX_SAFE_INTEGER, [0, 255, 128]]);
    }
    await carl.socket.sendMatchState(match.match_id, -1, "");
    const empty = await ann.next("matchData");
    assert.deepEqual([empty.op_code, text(empty.data)], [-1, ""]);
  });

  each("data goes to those who were chosen", async (formats) => {
    const { players, match, selves } = await inMatch(formats, 3);
    const [ann, bob, carl] = players;
    const send = (op_code, to) => ann.socket.sendMatchState(match.match_id, op_code, "x", to);
    await send(1, [selves[1]]);
    await send(2, [selves[0], selves[2]]);
    await send(3, [{ ...selves[1], session_id: newId() }]);
    await send(4, [{ ...selves[1], session_id: "nonsense" }]);
    // Who is not there, or no longer, keeps nobody else from receiving.
    await send(5, [selves[1], { ...selves[1], session_id: newId() }]);
    await send(6);
    // A match has one order, but it begins where messages reach it.
    assert.equal((await carl.next("matchData")).op_code, 2);
    assert.equal((await carl.next("matchData")).op_code, 6);
    await bob.socket.sendMatchState(match.match_id, 7, "x", []);
    const received = async (player, count) => {
      const codes = [];
      while (codes.length < count) {
        codes.push((await player.next("matchData")).op_code);
      }
      return codes;
    };
    assert.deepEqual(await received(bob, 3), [1, 5, 6]);
    assert.deepEqual(await received(carl, 1), [7]);
    assert.deepEqual(await received(ann, 2), [2, 7]);
    assert.deepEqual(players.flatMap((player) => player.unread("matchData")), []);
  });

  each("what one sends arrives in the order of sending", async (formats) => {
    const sent = 300;
    const { players, match } = await inMatch(formats, 4);
    await Promise.all(
      players.map(async (player) => {
        // Not from 0: JSON leaves it out, and the client reads that as no number.
        for (let number = 1; number <= sent; number += 1) {
          await player.socket.sendMatchState(match.match_id, number, player.userId);
        }
      }),
    );
    const orders = await Promise.all(
      players.map(async (player) => {
        const received = [];
        while (received.length < sent * 3) {
          const { op_code, presence } = await player.next("matchData");
          received.push([presence.user_id, op_code]);
        }
        return received;
      }),
    );
    for (const [at, player] of players.entries()) {
      for (const sender of players.filter((other) => other !== player)) {
        const numbers = orders[at].filter(([user]) => user === sender.userId).map(([, number]) => number);
        assert.deepEqual(numbers, Array.from({ length: sent }, (_, number) => number + 1));
      }
    }
    // And all see one order, as far as they see the same senders.
    const [ann, bob, carl, dave] = players;
    const from = (order, ...senders) => order.filter(([user]) => senders.some((sender) => sender.userId === user));
    assert.deepEqual(from(orders[0], carl, dave), from(orders[1], carl, dave));
    assert.deepEqual(from(orders[2], ann, bob), from(orders[3], ann, bob));
  });

  each("a match ends with its last player", async (formats) => {
    const { players, match } = await inMatch(formats, 2);
    const [ann, bob] = players;
    await ann.socket.leaveMatch(match.match_id);
    await bob.next("matchPresence");
    await bob.socket.leaveMatch(match.match_id);
    await refusedWith(ann.socket.joinMatch(match.match_id), MATCH_NOT_FOUND);
    // Leaving where one is not is nothing.
    await ann.socket.leaveMatch(match.match_id);
  });

  each("what is malformed or unknown is refused", async (formats) => {
    const [ann] = await connectPlayers(holder.server, formats, 1);
    await refusedWith(ann.socket.joinMatch(`${newId()}.`), MATCH_NOT_FOUND);
    await refusedWith(ann.socket.joinMatch(`${newId()}.somewhere`), MATCH_NOT_FOUND);
    for (const id of ["nonsense", newId(), "nonsense.", "."]) {
      await refusedWith(ann.socket.joinMatch(id), BAD_INPUT);
      await refusedWith(ann.socket.leaveMatch(id), BAD_INPUT);
    }
    await refusedWith(ann.socket.joinMatch(), BAD_INPUT);
    await refusedWith(ann.socket.joinMatch(undefined, "nonsense"), BAD_INPUT);
    // A token, but not for a match.
    await refusedWith(ann.socket.joinMatch(undefined, ann.session.token), BAD_INPUT);
  });

  each("matches are listed with their sizes", async (formats) => {
    const { players, match } = await inMatch(formats, 3);
    const [ann] = players;
    const list = async (authoritative, minSize, maxSize) => {
      const { matches } = await ann.client.listMatches(ann.session, 100, authoritative, undefined, minSize, maxSize);
      return (matches ?? []).filter((found) => found.match_id === match.match_id).map((found) => found.size);
    };
    assert.deepEqual(await list(false, 0, 100), [3]);
    assert.deepEqual(await list(false, 3, 3), [3]);
    assert.deepEqual(await list(false, 4, 100), []);
    assert.deepEqual(await list(true, 0, 100), []);
  });

  test("data is answered only when its match id is malformed, and then without an id", async () => {
    const [ann] = await connectPlayers(holder.server, ["json"], 1);
    const socket = await RawSocket.open(holder.server, `token=${ann.session.token}`);
    const send = (match_id) => socket.send(JSON.stringify({ cid: "d", match_data_send: { match_id, op_code: "1" } }));
    send(`${newId()}.`);
    send("nonsense");
    socket.send(JSON.stringify({ cid: "p", ping: {} }));
    const error = JSON.parse(await socket.next());
    assert.deepEqual([error.cid, error.error.code], [undefined, BAD_INPUT]);
    assert.deepEqual(JSON.parse(await socket.next()), { cid: "p", pong: {} });
    socket.close();
  });

  test("op codes have 64 bits", async () => {
    const [ann, bob] = await connectPlayers(holder.server, ["json"], 2);
    const match = await ann.socket.createMatch();
    const socket = await RawSocket.open(holder.server, `token=${bob.session.token}`);
    const first = await socket.ask({ cid: "1", match_join: { match_id: match.match_id } });
    const both = { ...first, ...JSON.parse(await socket.next()) };
    assert.equal(both.match.match_id, match.match_id);
    assert.equal(both.match_presence_event.match_id, match.match_id);
    for (const op_code of ["9223372036854775807", "-9223372036854775808"]) {
      await ann.socket.send({ match_data_send: { match_id: match.match_id, op_code, data: "eA==" } });
      const { match_data } = JSON.parse(await socket.next());
      assert.equal(match_data.op_code, op_code);
    }
    socket.close();
  });
});

/** The UUID of version 5 in the namespace of domain names. */
function uuidOfName(name) {
  const namespace = Buffer.from("6ba7b8109dad11d180b400c04fd430c8", "hex");
  const hash = createHash("sha1").update(namespace).update(name).digest().subarray(0, 16);
  hash[6] = (hash[6] & 0x0f) | 0x50;
  hash[8] = (hash[8] & 0x3f) | 0x80;
  return hash.toString("hex").replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}
