// Notifications: pushed to whoever is there, kept for whoever is not.

import assert from "node:assert/strict";
import { test } from "node:test";

import { newId, refused } from "./support/client.mjs";
import { onEveryServer } from "./support/matrix.mjs";
import { connectPlayers, FORMAT_ORDERS, list, Player } from "./support/player.mjs";

const DIRECT = 2;
const DM_REQUEST = -1;

onEveryServer("notifications", (holder) => {
  const each = (subject, run) => {
    for (const formats of FORMAT_ORDERS) {
      test(`${subject}: ${formats.join(" and ")}`, () => run(formats));
    }
  };

  /** Asks `player` for a conversation with each of so many new players, one after the other. */
  const notify = async (formats, player, count) => {
    const senders = await connectPlayers(holder.server, formats, count);
    for (const sender of senders) {
      await sender.socket.joinChat(player.userId, DIRECT, true, false);
    }
    return senders.map((sender) => sender.userId);
  };

  each("every socket of a user is told", async (formats) => {
    const phone = await Player.connect(holder.server, formats[0]);
    const tablet = await Player.connect(holder.server, formats[1], { session: phone.session });
    const [sender] = await notify(formats, phone, 1);
    const [first, second] = await Promise.all([phone.next("notification"), tablet.next("notification")]);
    assert.equal(first.id, second.id);
    assert.deepEqual([first.code, first.sender_id, first.persistent], [DM_REQUEST, sender, true]);
    assert.ok(first.create_time);
  });

  each("who asks again is heard once, until the request is deleted", async (formats) => {
    const [ann, bob] = await connectPlayers(holder.server, formats, 2);
    const visit = async () => {
      const { id } = await ann.socket.joinChat(bob.userId, DIRECT, true, false);
      await ann.socket.leaveChat(id);
    };
    const waiting = async () => list((await bob.client.listNotifications(bob.session, 10)).notifications);
    await visit();
    await visit();
    const request = await bob.next("notification");
    assert.deepEqual((await waiting()).map((n) => n.id), [request.id]);
    await bob.client.deleteNotifications(bob.session, [request.id]);
    await visit();
    const again = await bob.next("notification");
    assert.notEqual(again.id, request.id);
    assert.deepEqual((await waiting()).map((n) => n.id), [again.id]);
  });

  each("they are kept in order, and read on from where one stopped", async (formats) => {
    const [ann] = await connectPlayers(holder.server, formats, 1);
    ann.disconnect();
    const read = async (limit, cursor) => {
      const answer = await ann.client.listNotifications(ann.session, limit, cursor);
      return { senders: list(answer.notifications).map((n) => n.sender_id), cursor: answer.cacheable_cursor };
    };
    const nothing = await read(10);
    assert.deepEqual(nothing.senders, []);
    assert.ok(nothing.cursor);

    const senders = await notify(formats, ann, 3);
    assert.deepEqual((await read(10)).senders, senders);
    assert.deepEqual((await read(10, nothing.cursor)).senders, senders);
    assert.deepEqual((await read()).senders, senders.slice(0, 1));
    const first = await read(2);
    assert.deepEqual(first.senders, senders.slice(0, 2));
    const second = await read(2, first.cursor);
    assert.deepEqual(second.senders, senders.slice(2));
    assert.deepEqual((await read(2, second.cursor)).senders, []);
    const later = await notify(formats, ann, 1);
    assert.deepEqual((await read(2, second.cursor)).senders, later);
    await refused(ann.client.listNotifications(ann.session, 0), 400, 3);
    await refused(ann.client.listNotifications(ann.session, 101), 400, 3);
    await refused(ann.client.listNotifications(ann.session, 1, "nonsense"), 400, 3);
  });

  each("users delete their own", async (formats) => {
    const [ann, bob] = await connectPlayers(holder.server, formats, 2);
    await notify(formats, ann, 2);
    const ids = async () => list((await ann.client.listNotifications(ann.session, 10)).notifications).map((n) => n.id);
    const [first, second] = await ids();
    await bob.client.deleteNotifications(bob.session, [first, second]);
    assert.deepEqual(await ids(), [first, second]);
    await ann.client.deleteNotifications(ann.session, [first, newId()]);
    assert.deepEqual(await ids(), [second]);
    await ann.client.deleteNotifications(ann.session, []);
    assert.deepEqual(await ids(), [second]);
  });
});
