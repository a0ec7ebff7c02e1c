// Chat: rooms and direct conversations, what is said there, and its history.

import assert from "node:assert/strict";
import { test } from "node:test";

import { newId, refused } from "./support/client.mjs";
import { onEveryServer } from "./support/matrix.mjs";
import {
  cameAndWent, connectPlayers, FORMAT_ORDERS, isPresenceOf, list, refusedWith, userIds,
} from "./support/player.mjs";

const ROOM = 1;
const DIRECT = 2;
const GROUP = 3;
const SENT = 0;
const UPDATED = 1;
const REMOVED = 2;
const DM_REQUEST = -1;
const ROOM_NAME_BYTES_MAX = 64;

onEveryServer("chat", (holder) => {
  const each = (subject, run) => {
    for (const formats of FORMAT_ORDERS) {
      test(`${subject}: ${formats.join(" and ")}`, () => run(formats));
    }
  };
  const newRoom = () => `room-${newId()}`;
  const join = (player, target, { type = ROOM, persistence = true, hidden = false } = {}) =>
    player.socket.joinChat(target, type, persistence, hidden);

  /** Players in a new room, who have seen each other come. */
  const inRoom = async (formats, count, options) => {
    const players = await connectPlayers(holder.server, formats, count);
    const name = newRoom();
    let channel;
    for (const [index, player] of players.entries()) {
      channel = await join(player, name, options);
      await Promise.all(players.slice(0, index + 1).map((present) => present.next("channelPresence")));
    }
    return { players, channel, name };
  };

  each("a room tells who is there, who comes and who goes", async (formats) => {
    const [ann, bob] = await connectPlayers(holder.server, formats, 2);
    const name = newRoom();

    const first = await join(ann, name);
    assert.equal(first.id, `2...${name}`);
    assert.equal(first.room_name, name);
    assert.deepEqual(list(first.presences), []);
    isPresenceOf(first.self, ann, true);
    const own = await ann.next("channelPresence");
    assert.deepEqual(cameAndWent(own), { came: [ann.userId], went: [] });
    assert.deepEqual([own.channel_id, own.room_name], [first.id, name]);

    const second = await join(bob, name);
    assert.equal(second.presences.length, 1);
    isPresenceOf(second.presences[0], ann, true);
    for (const player of [ann, bob]) {
      assert.deepEqual(cameAndWent(await player.next("channelPresence")), { came: [bob.userId], went: [] });
    }

    // Joining again changes nothing, and lists oneself.
    const again = await join(bob, name);
    assert.deepEqual(userIds(again.presences).sort(), [ann.userId, bob.userId].sort());

    await bob.socket.leaveChat(second.id);
    assert.deepEqual(cameAndWent(await ann.next("channelPresence")), { came: [], went: [bob.userId] });
    await join(bob, name);
    // Bob heard nothing of his going: what he hears next is that he came.
    assert.deepEqual(cameAndWent(await bob.next("channelPresence")), { came: [bob.userId], went: [] });
    assert.deepEqual(cameAndWent(await ann.next("channelPresence")), { came: [bob.userId], went: [] });
    bob.disconnect();
    assert.deepEqual(cameAndWent(await ann.next("channelPresence")), { came: [], went: [bob.userId] });
  });

  each("what is said reaches everyone, the sender too", async (formats) => {
    const { players, channel, name } = await inRoom(formats, 3);
    const [ann] = players;
    const content = { text: "héllo", nested: [1, { deep: true }] };
    const ack = await ann.socket.writeChatMessage(channel.id, content);
    assert.deepEqual(
      [ack.channel_id, ack.code ?? 0, ack.username, ack.persistent, ack.room_name],
      [channel.id, SENT, ann.username, true, name],
    );
    assert.ok(ack.create_time && ack.update_time);
    for (const player of players) {
      const message = await player.next("channelMessage");
      assert.deepEqual(message.content, content);
      assert.deepEqual(
        [message.channel_id, message.message_id, message.sender_id, message.username, message.code ?? 0],
        [channel.id, ack.message_id, ann.userId, ann.username, SENT],
      );
      assert.deepEqual([message.persistent, message.room_name], [true, name]);
      assert.equal(String(message.create_time), String(message.update_time));
    }
  });

  each("what many say at once, everyone hears in one order", async (formats) => {
    const said = 20;
    const { players, channel } = await inRoom(formats, 4);
    await Promise.all(
      players.flatMap((player) =>
        Array.from({ length: said }, (_, number) => player.socket.writeChatMessage(channel.id, { number })),
      ),
    );
    const heard = await Promise.all(
      players.map(async (player) => {
        const messages = [];
        while (messages.length < said * players.length) {
          messages.push(await player.next("channelMessage"));
        }
        return messages;
      }),
    );
    const ids = (messages) => messages.map((message) => message.message_id);
    heard.forEach((messages) => assert.deepEqual(ids(messages), ids(heard[0])));
    for (const player of players) {
      const own = heard[0].filter((message) => message.sender_id === player.userId);
      assert.deepEqual(own.map((message) => message.content.number), Array.from({ length: said }, (_, n) => n));
    }
  });

  each("authors change and take back what they said", async (formats) => {
    const { players, channel } = await inRoom(formats, 2);
    const [ann, bob] = players;
    const { message_id } = await ann.socket.writeChatMessage(channel.id, { text: "frist" });
    const sent = await bob.next("channelMessage");

    await refusedWith(bob.socket.updateChatMessage(channel.id, message_id, { text: "mine" }), 3);
    await refusedWith(bob.socket.removeChatMessage(channel.id, message_id), 3);

    const updated = await ann.socket.updateChatMessage(channel.id, message_id, { text: "first" });
    assert.deepEqual([updated.message_id, updated.code], [message_id, UPDATED]);
    const update = await bob.next("channelMessage");
    assert.deepEqual([update.code, update.message_id, update.content], [UPDATED, message_id, { text: "first" }]);
    assert.equal(Date.parse(update.create_time), Date.parse(sent.create_time));
    const { messages } = await bob.client.listChannelMessages(bob.session, channel.id, 10);
    assert.deepEqual(messages.map((m) => [m.code, m.message_id, m.content]), [[SENT, message_id, { text: "first" }]]);

    const removed = await ann.socket.removeChatMessage(channel.id, message_id);
    assert.deepEqual([removed.message_id, removed.code], [message_id, REMOVED]);
    const removal = await bob.next("channelMessage");
    assert.deepEqual([removal.code, removal.message_id, removal.content], [REMOVED, message_id, {}]);
    assert.deepEqual((await bob.client.listChannelMessages(bob.session, channel.id, 10)).messages, []);
    await refusedWith(ann.socket.removeChatMessage(channel.id, message_id), 3);
    await refusedWith(ann.socket.updateChatMessage(channel.id, newId(), {}), 3);
    await refusedWith(ann.socket.updateChatMessage(channel.id, "nonsense", {}), 3);
    await refusedWith(ann.socket.removeChatMessage(channel.id, "nonsense"), 3);
  });

  each("what is not to be kept is heard and gone", async (formats) => {
    const { players, channel } = await inRoom(formats, 2, { persistence: false });
    const [ann, bob] = players;
    const ack = await ann.socket.writeChatMessage(channel.id, { text: "psst" });
    assert.equal(ack.persistent ?? false, false);
    const message = await bob.next("channelMessage");
    assert.deepEqual([message.persistent, message.content], [false, { text: "psst" }]);
    assert.deepEqual((await bob.client.listChannelMessages(bob.session, channel.id, 10)).messages, []);
    // Whether it is kept is each member's own wish.
    await bob.socket.leaveChat(channel.id);
    await join(bob, channel.room_name, { persistence: true });
    await bob.socket.writeChatMessage(channel.id, { text: "for the record" });
    const { messages } = await bob.client.listChannelMessages(bob.session, channel.id, 10);
    assert.deepEqual(messages.map((m) => m.content), [{ text: "for the record" }]);
  });

  each("history is read page by page, either way", async (formats) => {
    const { players, channel } = await inRoom(formats, 1);
    const [ann] = players;
    for (let number = 1; number <= 5; number += 1) {
      await ann.socket.writeChatMessage(channel.id, { number });
    }
    const page = async (forward, cursor, limit = 2) => {
      const answer = await ann.client.listChannelMessages(ann.session, channel.id, limit, forward, cursor);
      return { ...answer, numbers: answer.messages.map((message) => message.content.number) };
    };

    const first = await page(true);
    assert.deepEqual(first.numbers, [1, 2]);
    assert.equal(first.prev_cursor ?? "", "");
    const second = await page(true, first.next_cursor);
    assert.deepEqual(second.numbers, [3, 4]);
    assert.deepEqual((await page(true, second.prev_cursor)).numbers, [1, 2]);
    const third = await page(true, second.next_cursor);
    assert.deepEqual(third.numbers, [5]);
    assert.equal(third.next_cursor ?? "", "");
    assert.deepEqual((await page(true, third.prev_cursor)).numbers, [3, 4]);

    const newest = await page(false);
    assert.deepEqual(newest.numbers, [5, 4]);
    const older = await page(false, newest.next_cursor);
    assert.deepEqual(older.numbers, [3, 2]);
    assert.deepEqual((await page(false, older.prev_cursor)).numbers, [5, 4]);
    const oldest = await page(false, older.next_cursor);
    assert.deepEqual(oldest.numbers, [1]);
    assert.equal(oldest.next_cursor ?? "", "");

    // What is new since the last look.
    assert.deepEqual((await page(true, third.cacheable_cursor)).numbers, []);
    await ann.socket.writeChatMessage(channel.id, { number: 6 });
    assert.deepEqual((await page(true, third.cacheable_cursor)).numbers, [6]);
    const nothing = await page(true, (await page(true, third.cacheable_cursor)).cacheable_cursor);
    assert.deepEqual(nothing.numbers, []);
    assert.ok(nothing.cacheable_cursor);

    // One message when no number is asked for.
    const { messages } = await ann.client.listChannelMessages(ann.session, channel.id);
    assert.deepEqual(messages.map((message) => message.content.number), [1]);
    assert.deepEqual([messages[0].sender_id, messages[0].persistent], [ann.userId, true]);
  });

  each("history asked for wrongly is refused", async (formats) => {
    const { players, channel } = await inRoom(formats, 1);
    const [ann] = players;
    for (let number = 1; number <= 2; number += 1) {
      await ann.socket.writeChatMessage(channel.id, { number });
    }
    const ask = (id, limit, forward, cursor) => ann.client.listChannelMessages(ann.session, id, limit, forward, cursor);
    await refused(ask(channel.id, 0), 400, 3);
    await refused(ask(channel.id, 101), 400, 3);
    for (const id of ["nonsense", "2.x..y", "5...x", `4.${newId()}.${newId()}.`]) {
      await refused(ask(id, 1), 400, 3);
    }
    await refused(ask(channel.id, 1, true, "nonsense"), 400, 3);
    const { next_cursor } = await ask(channel.id, 1, true);
    await refused(ask(channel.id, 1, false, next_cursor), 400, 3);
    await refused(ask(`2...${newRoom()}`, 1, true, next_cursor), 400, 3);
  });

  each("a direct conversation has one id, and invites whoever is not there", async (formats) => {
    const [ann, bob] = await connectPlayers(holder.server, formats, 2);
    const sorted = [ann.userId, bob.userId].sort();
    const channel = await join(ann, bob.userId, { type: DIRECT });
    assert.equal(channel.id, `4.${sorted[0]}.${sorted[1]}.`);
    assert.deepEqual([channel.user_id_one, channel.user_id_two], sorted);

    const request = await bob.next("notification");
    assert.deepEqual([request.code, request.sender_id], [DM_REQUEST, ann.userId]);
    assert.deepEqual(request.content, { username: ann.username });
    assert.notEqual(request.subject, "");

    assert.equal((await join(bob, ann.userId, { type: DIRECT })).id, channel.id);
    await bob.socket.writeChatMessage(channel.id, { text: "hi" });
    const message = await ann.next("channelMessage");
    assert.deepEqual([message.user_id_one, message.user_id_two, message.content], [...sorted, { text: "hi" }]);
    // Ann was there, so nobody had to call her.
    assert.deepEqual(list((await ann.client.listNotifications(ann.session, 10)).notifications), []);
    const kept = await bob.client.listNotifications(bob.session, 10);
    assert.deepEqual(kept.notifications.map((n) => [n.code, n.id]), [[DM_REQUEST, request.id]]);

    const { messages } = await ann.client.listChannelMessages(ann.session, channel.id, 10);
    assert.deepEqual(messages.map((m) => m.content), [{ text: "hi" }]);
    const [stranger] = await connectPlayers(holder.server, formats, 1);
    await refused(stranger.client.listChannelMessages(stranger.session, channel.id, 10), 400, 3);
  });

  each("whoever was away finds the invitation later", async (formats) => {
    const [ann, bob] = await connectPlayers(holder.server, formats, 2);
    bob.disconnect();
    const channel = await join(ann, bob.userId, { type: DIRECT });
    await ann.socket.writeChatMessage(channel.id, { text: "call me" });
    const { notifications } = await bob.client.listNotifications(bob.session, 10);
    assert.deepEqual(notifications.map((n) => [n.code, n.sender_id, n.persistent]), [[DM_REQUEST, ann.userId, true]]);
    const { messages } = await bob.client.listChannelMessages(bob.session, channel.id, 10);
    assert.deepEqual(messages.map((m) => m.content), [{ text: "call me" }]);
    // Joining where one is already invites nobody again.
    await join(ann, bob.userId, { type: DIRECT });
    assert.equal((await bob.client.listNotifications(bob.session, 10)).notifications.length, 1);
  });

  each("who hides is heard but not seen", async (formats) => {
    const [ann, spy, bob] = await connectPlayers(holder.server, formats, 3);
    const name = newRoom();
    const channel = await join(ann, name);
    await ann.next("channelPresence");
    const hidden = await join(spy, name, { hidden: true });
    assert.deepEqual(userIds(hidden.presences), [ann.userId]);
    isPresenceOf(hidden.self, spy, true);

    assert.deepEqual(userIds((await join(bob, name)).presences), [ann.userId]);
    for (const player of [ann, spy, bob]) {
      // Had the hidden one been told of, that would come first.
      assert.deepEqual(cameAndWent(await player.next("channelPresence")), { came: [bob.userId], went: [] });
    }
    await spy.socket.writeChatMessage(channel.id, { text: "boo" });
    assert.equal((await ann.next("channelMessage")).sender_id, spy.userId);
    await bob.socket.writeChatMessage(channel.id, { text: "who?" });
    assert.equal((await spy.next("channelMessage")).sender_id, spy.userId);
    assert.equal((await spy.next("channelMessage")).sender_id, bob.userId);
    await spy.socket.leaveChat(channel.id);
    await bob.socket.leaveChat(channel.id);
    assert.deepEqual(cameAndWent(await ann.next("channelPresence")), { came: [], went: [bob.userId] });
  });

  each("what is malformed, or not one's to do, is refused", async (formats) => {
    const { players, channel, name } = await inRoom(formats, 1);
    const [ann] = players;
    for (const room of ["", "x".repeat(ROOM_NAME_BYTES_MAX + 1), "tab\there", "null\u0000"]) {
      await refusedWith(join(ann, room), 3);
    }
    assert.equal((await join(ann, "x".repeat(ROOM_NAME_BYTES_MAX))).room_name.length, ROOM_NAME_BYTES_MAX);
    await refusedWith(join(ann, name, { type: 4 }), 3);
    await refusedWith(join(ann, name, { type: -1 }), 3);
    // A type that is not given means a room.
    assert.equal((await join(ann, name, { type: 0 })).id, channel.id);
    for (const target of ["nonsense", newId(), "00000000-0000-0000-0000-000000000000"]) {
      await refusedWith(join(ann, target, { type: DIRECT }), 3);
      await refusedWith(join(ann, target, { type: GROUP }), 3);
    }
    for (const content of [[1], "text", 7, null]) {
      await refusedWith(ann.socket.writeChatMessage(channel.id, content), 3);
    }
    const elsewhere = `2...${newRoom()}`;
    await refusedWith(ann.socket.writeChatMessage(elsewhere, {}), 3);
    await refusedWith(ann.socket.updateChatMessage(elsewhere, newId(), {}), 3);
    await refusedWith(ann.socket.removeChatMessage(elsewhere, newId()), 3);
    for (const id of ["nonsense", "2...", "9...x"]) {
      await refusedWith(ann.socket.writeChatMessage(id, {}), 3);
      await refusedWith(ann.socket.leaveChat(id), 3);
    }
    // Leaving where one is not is nothing.
    await ann.socket.leaveChat(elsewhere);
    await ann.socket.leaveChat(channel.id);
    await refusedWith(ann.socket.writeChatMessage(channel.id, {}), 3);
  });
});
