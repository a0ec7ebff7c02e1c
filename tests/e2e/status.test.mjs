// Status: who is there and what they say about themselves, to those who follow them.

import assert from "node:assert/strict";
import { test } from "node:test";

import { newId } from "./support/client.mjs";
import { onEveryServer } from "./support/matrix.mjs";
import {
  cameAndWent, connectPlayers, FORMAT_ORDERS, isPresenceOf, list, Player, refusedWith, userIds,
} from "./support/player.mjs";

const STATUS_BYTES_MAX = 2048;

onEveryServer("status", (holder) => {
  const each = (subject, run) => {
    for (const formats of FORMAT_ORDERS) {
      test(`${subject}: ${formats.join(" and ")}`, () => run(formats));
    }
  };

  each("following tells who is online, and what changes", async (formats) => {
    const [ann] = await connectPlayers(holder.server, formats, 1);
    const bob = await Player.connect(holder.server, formats[1], { online: true });

    const snapshot = await ann.socket.followUsers([bob.userId]);
    assert.equal(snapshot.presences.length, 1);
    isPresenceOf(snapshot.presences[0], bob);
    assert.equal(snapshot.presences[0].status, "");

    await bob.socket.updateStatus("in the lobby");
    const update = await ann.next("statusPresence");
    assert.deepEqual(cameAndWent(update), { came: [bob.userId], went: [bob.userId] });
    assert.equal(update.leaves[0].status, "");
    assert.equal(update.joins[0].status, "in the lobby");
    isPresenceOf(update.joins[0], bob);
    assert.equal(update.joins[0].session_id, snapshot.presences[0].session_id);

    await bob.socket.updateStatus();
    const offline = await ann.next("statusPresence");
    assert.deepEqual(cameAndWent(offline), { came: [], went: [bob.userId] });
    assert.equal(offline.leaves[0].status, "in the lobby");

    await bob.socket.updateStatus("back");
    const back = await ann.next("statusPresence");
    assert.deepEqual(cameAndWent(back), { came: [bob.userId], went: [] });
    assert.equal(back.joins[0].status, "back");
  });

  each("who is not online is followed all the same", async (formats) => {
    const [ann, bob] = await connectPlayers(holder.server, formats, 2);
    assert.deepEqual(list((await ann.socket.followUsers([bob.userId])).presences), []);
    await bob.socket.updateStatus("here now");
    assert.deepEqual(cameAndWent(await ann.next("statusPresence")), { came: [bob.userId], went: [] });
    bob.disconnect();
    assert.deepEqual(cameAndWent(await ann.next("statusPresence")), { came: [], went: [bob.userId] });
  });

  each("every socket of a user is a presence of its own", async (formats) => {
    const [ann] = await connectPlayers(holder.server, formats, 1);
    const phone = await Player.connect(holder.server, formats[0], { online: true });
    const tablet = await Player.connect(holder.server, formats[1], { online: true, session: phone.session });
    const { presences } = await ann.socket.followUsers([phone.userId]);
    assert.deepEqual(userIds(presences), [phone.userId, phone.userId]);
    assert.notEqual(presences[0].session_id, presences[1].session_id);
    tablet.disconnect();
    const left = await ann.next("statusPresence");
    assert.deepEqual(cameAndWent(left), { came: [], went: [phone.userId] });
    const { presences: rest } = await ann.socket.followUsers([phone.userId]);
    assert.deepEqual(rest.map((presence) => presence.session_id).includes(left.leaves[0].session_id), false);
  });

  each("a user hears of its own status", async (formats) => {
    const ann = await Player.connect(holder.server, formats[0], { online: true });
    assert.deepEqual(cameAndWent(await ann.next("statusPresence")), { came: [ann.userId], went: [] });
    await ann.socket.updateStatus("busy");
    const update = await ann.next("statusPresence");
    assert.deepEqual(cameAndWent(update), { came: [ann.userId], went: [ann.userId] });
    assert.equal(update.joins[0].status, "busy");
  });

  each("whoever is unfollowed is heard of no more", async (formats) => {
    const [ann, bob, witness] = await connectPlayers(holder.server, formats, 3);
    await ann.socket.followUsers([bob.userId]);
    await witness.socket.followUsers([bob.userId]);
    await ann.socket.unfollowUsers([bob.userId]);
    await bob.socket.updateStatus("unseen");
    assert.equal((await witness.next("statusPresence")).joins[0].status, "unseen");
    const { presences } = await ann.socket.followUsers([bob.userId]);
    assert.equal(presences[0].status, "unseen");
    await bob.socket.updateStatus("seen");
    // Had the first change been told, it would come first.
    assert.equal((await ann.next("statusPresence")).joins[0].status, "seen");
    // Unfollowing somebody who is not followed, and oneself, is nothing.
    await ann.socket.unfollowUsers([witness.userId, ann.userId]);
  });

  each("users are followed by name too, each once", async (formats) => {
    const [ann] = await connectPlayers(holder.server, formats, 1);
    const bob = await Player.connect(holder.server, formats[1], { online: true });
    const follow = async (status_follow) => (await ann.socket.send({ status_follow })).status;
    const named = await follow({ usernames: [bob.username, `nobody-${newId()}`, ann.username] });
    assert.deepEqual(userIds(named.presences), [bob.userId]);
    const both = await follow({ user_ids: [bob.userId, bob.userId, newId(), ann.userId], usernames: [bob.username] });
    assert.deepEqual(userIds(both.presences), [bob.userId]);
    assert.deepEqual(list((await follow({})).presences), []);
    await bob.socket.updateStatus("once");
    assert.equal((await ann.next("statusPresence")).joins[0].status, "once");
    await bob.socket.updateStatus("twice");
    assert.equal((await ann.next("statusPresence")).joins[0].status, "twice");
  });

  each("what is malformed is refused", async (formats) => {
    const [ann] = await connectPlayers(holder.server, formats, 1);
    await refusedWith(ann.socket.followUsers(["nonsense"]), 3);
    await refusedWith(ann.socket.send({ status_follow: { usernames: [""] } }), 3);
    await refusedWith(ann.socket.unfollowUsers(["nonsense"]), 3);
    await refusedWith(ann.socket.updateStatus("x".repeat(STATUS_BYTES_MAX + 1)), 3);
    await ann.socket.updateStatus("x".repeat(STATUS_BYTES_MAX));
  });

  each("accounts show who is online", async (formats) => {
    const [ann] = await connectPlayers(holder.server, formats, 1);
    const bob = await Player.connect(holder.server, formats[1], { online: true });
    await ann.socket.followUsers([bob.userId]);
    const isOnline = async () => {
      const { users } = await ann.client.getUsers(ann.session, [bob.userId]);
      return users[0].online ?? false;
    };
    assert.equal(await isOnline(), true);
    assert.equal((await bob.client.getAccount(bob.session)).user.online, true);
    assert.equal((await ann.client.getAccount(ann.session)).user.online ?? false, false);
    bob.disconnect();
    await ann.next("statusPresence");
    assert.equal(await isOnline(), false);
  });
});
