// What holds for every socket on the live plane: how it ends, and what others see of that.

import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { onEveryServer } from "./support/matrix.mjs";
import { cameAndWent, connectPlayers, FORMAT_ORDERS, Player, refusedWith } from "./support/player.mjs";

const ROOM = 1;
const SINGLE_SOCKET = -7;
const MATCH_NOT_FOUND = 4;
/** Far below the default, so that several heartbeats of the client's own fit into a test. */
const HEARTBEAT_MS = 50;
const HEARTBEATS = 5;

const each = (subject, run) => {
  for (const formats of FORMAT_ORDERS) {
    test(`${subject}: ${formats.join(" and ")}`, () => run(formats));
  }
};

onEveryServer("presence", (holder) => {
  describe("leaving", () => {
    each("a logout ends sockets, and everyone sees it", async (formats) => {
      const [ann, bob] = await connectPlayers(holder.server, formats, 2);
      const { id, match_id } = await gather(ann, bob);
      await bob.client.sessionLogout(bob.session, bob.session.token, bob.session.refresh_token);
      await bob.disconnected;
      for (const [kind, value, expected] of [
        ["channelPresence", "channel_id", id],
        ["matchPresence", "match_id", match_id],
      ]) {
        const event = await ann.next(kind);
        assert.deepEqual([event[value], cameAndWent(event)], [expected, { came: [], went: [bob.userId] }]);
      }
    });

    each("coming back is coming as somebody new", async (formats) => {
      const [ann, bob] = await connectPlayers(holder.server, formats, 2);
      const { id } = await gather(ann, bob);
      await bob.disconnect();
      const gone = await ann.next("channelPresence");
      const again = await Player.connect(holder.server, formats[1], { session: bob.session });
      await again.socket.joinChat(id.slice("2...".length), ROOM, true, false);
      const back = await ann.next("channelPresence");
      assert.deepEqual([cameAndWent(gone).went, cameAndWent(back).came], [[bob.userId], [bob.userId]]);
      assert.notEqual(back.joins[0].session_id, gone.leaves[0].session_id);
      // The client's own socket object connects again too, and its heartbeats go on.
      const beats = heartbeats(bob.socket);
      bob.socket.setHeartbeatTimeoutMs(HEARTBEAT_MS);
      await bob.socket.connect(bob.session, false);
      await beats;
      bob.disconnect();
    });
  });

  each("heartbeats of the client go on among everything else", async (formats) => {
    const [ann, bob] = await connectPlayers(holder.server, formats, 2);
    const { match_id } = await gather(ann, bob);
    await ann.disconnect();
    const beats = heartbeats(ann.socket);
    ann.socket.setHeartbeatTimeoutMs(HEARTBEAT_MS);
    await ann.socket.connect(ann.session, false);
    await ann.socket.joinMatch(match_id);
    let isBeating = true;
    beats.finally(() => (isBeating = false));
    // Not from 0: JSON leaves it out, and the client reads that as no number.
    for (let number = 1; isBeating; number += 1) {
      await bob.socket.sendMatchState(match_id, number, "x");
      assert.equal((await ann.next("matchData")).op_code, number);
    }
    await beats;
    ann.disconnect();
  });
});

onEveryServer(
  "one socket per user",
  (holder) => {
    each("a new socket ends the older ones, which are told why", async (formats) => {
      const older = await Player.connect(holder.server, formats[0]);
      const [other] = await connectPlayers(holder.server, formats, 1);
      const newer = await Player.connect(holder.server, formats[1], { session: older.session });
      const told = await older.next("notification");
      assert.deepEqual([told.code, told.persistent ?? false], [SINGLE_SOCKET, false]);
      await older.disconnected;
      // Others, and the new one, stay.
      for (const player of [newer, other]) {
        assert.ok((await player.socket.send({ ping: {} })).pong);
        assert.deepEqual(player.unread("notification"), []);
      }
    });
  },
  { "session.single_socket": true },
);

onEveryServer(
  "one match and one party per user",
  (holder) => {
    each("who comes to another match leaves the first", async (formats) => {
      const [ann, bob, carl] = await connectPlayers(holder.server, formats, 3);
      const first = await bob.socket.createMatch();
      await bob.next("matchPresence");
      await ann.socket.joinMatch(first.match_id);
      await bob.next("matchPresence");
      const second = await carl.socket.createMatch();
      // A match that is not there changes nothing.
      await refusedWith(ann.socket.joinMatch(`${ann.userId}.`), MATCH_NOT_FOUND);
      await ann.socket.joinMatch(second.match_id);
      const left = await bob.next("matchPresence");
      assert.deepEqual([left.match_id, cameAndWent(left)], [first.match_id, { came: [], went: [ann.userId] }]);
      // Joining again where one is changes nothing either.
      assert.equal((await ann.socket.joinMatch(second.match_id)).size, 2);
    });

    test("who is let into another party leaves the first", async () => {
      const [ann, bob, carl] = await connectPlayers(holder.server, ["json"], 3);
      const first = await bob.socket.createParty(true, 4);
      await bob.next("partyPresence");
      await ann.socket.joinParty(first.party_id);
      await bob.next("partyPresence");
      const second = await carl.socket.createParty(false, 4);
      await ann.socket.joinParty(second.party_id);
      const [wish] = (await carl.next("partyJoinRequest")).presences;
      // Whoever only asks stays where it is.
      await bob.socket.sendPartyData(first.party_id, 1, "still here");
      assert.equal((await ann.next("partyData")).party_id, first.party_id);
      await carl.socket.acceptPartyMember(second.party_id, wish);
      const left = await bob.next("partyPresence");
      assert.deepEqual([left.party_id, cameAndWent(left)], [first.party_id, { came: [], went: [ann.userId] }]);
    });
  },
  { "session.single_socket": true, "session.single_match": true, "session.single_party": true },
);

/** Brings two players together wherever players meet; all presence events about it are read. */
async function gather(ann, bob) {
  const { id } = await ann.socket.joinChat(`room-${ann.userId}`, ROOM, true, false);
  const { match_id } = await ann.socket.createMatch();
  await bob.socket.joinChat(`room-${ann.userId}`, ROOM, true, false);
  await bob.socket.joinMatch(match_id);
  for (const kind of ["channelPresence", "matchPresence"]) {
    await ann.next(kind);
    await ann.next(kind);
    await bob.next(kind);
  }
  return { id, match_id };
}

/** Resolves once so many of the client's own heartbeats were answered. */
function heartbeats(socket) {
  return new Promise((resolve, reject) => {
    socket.ondisconnect = () => reject(new Error("the server closed the socket"));
    socket.onheartbeattimeout = () => reject(new Error("a heartbeat was not answered"));
    const send = socket.send.bind(socket);
    let answered = 0;
    socket.send = async (message, ...rest) => {
      // Late is not lost: the machine may be busy.
      const answer = await send(message, 10_000, ...rest.slice(1));
      answered += message.ping ? 1 : 0;
      if (answered === HEARTBEATS) {
        resolve();
      }
      return answer;
    };
  });
}
