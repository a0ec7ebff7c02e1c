// Functions of game code that reach players who are connected, to whichever shard and node.

import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { test } from "node:test";

import { newId, refused } from "./support/client.mjs";
import { onEveryServer } from "./support/matrix.mjs";
import { cameAndWent, connectPlayers, FORMAT_ORDERS, refusedWith } from "./support/player.mjs";

const MODULES = fileURLToPath(new URL("./modules-reach", import.meta.url));
const ROOM = 1;
const RUNTIME_FUNCTION_EXCEPTION = 7;

/** Calls a function of the host on behalf of a player; answers its first result. */
async function run(player, call, ...given) {
  const answer = await player.socket.rpc("run", JSON.stringify({ call, arguments: given }));
  return JSON.parse(answer.payload).first;
}

/** The public id of a player's session, as a stream shows it. */
async function sessionOf(player) {
  const [presence] = await run(player, "stream_user_list", { mode: 0, subject: player.userId });
  return presence.session_id;
}

onEveryServer(
  "what functions reach",
  (holder) => {
    for (const formats of FORMAT_ORDERS) {
      test(`notifications: ${formats}`, async () => {
        const [ann, bob, carol] = await connectPlayers(holder.server, formats, 3);
        await run(ann, "notification_send", bob.userId, "a gift", { coins: 5 }, 101, ann.userId, true);
        const told = await bob.next("notification");
        assert.deepEqual([told.subject, told.content, told.code, told.sender_id], ["a gift", { coins: 5 }, 101, ann.userId]);
        const { notifications } = await bob.client.listNotifications(bob.session, 10);
        assert.deepEqual(notifications.map(({ id }) => id), [told.id]);
        const both = [bob, carol].map(({ userId }) => ({ user_id: userId, subject: "both", content: {}, code: 1 }));
        await run(ann, "notifications_send", both);
        for (const player of [bob, carol]) {
          assert.equal((await player.next("notification")).subject, "both");
        }
        const kept = await bob.client.listNotifications(bob.session, 10);
        assert.deepEqual(kept.notifications.map(({ subject }) => subject), ["a gift"]);
        const code = run(ann, "notification_send", bob.userId, "not a game's", {}, -8);
        assert.match((await refusedWith(code, RUNTIME_FUNCTION_EXCEPTION)).message, /^The code/);
        for (const player of [ann, bob, carol]) {
          assert.deepEqual(player.unread("notification"), []);
        }
      });

      test(`chat: ${formats}`, async () => {
        const [ann, bob] = await connectPlayers(holder.server, formats, 2);
        const name = `room-${newId()}`;
        const channel = await bob.socket.joinChat(name, ROOM, true, false);
        assert.equal(await run(ann, "channel_id_build", "", name, ROOM), channel.id);
        const said = await run(ann, "channel_message_send", channel.id, { from: "the server" }, null, null, true);
        const heard = await bob.next("channelMessage");
        assert.deepEqual([heard.message_id, heard.content], [said.messageId, { from: "the server" }]);
        await run(ann, "channel_message_update", channel.id, said.messageId, { from: "again" }, null, null, true);
        assert.deepEqual((await bob.next("channelMessage")).content, { from: "again" });
        await bob.socket.writeChatMessage(channel.id, { from: "bob" });
        const list = await run(ann, "channel_messages_list", channel.id);
        assert.deepEqual(list.map(({ content }) => JSON.parse(content).from), ["again", "bob"]);
        await run(ann, "channel_message_remove", channel.id, said.messageId);
        const { messages } = await bob.client.listChannelMessages(bob.session, channel.id, 10, true);
        assert.deepEqual(messages.map(({ content }) => content.from), ["bob"]);
      });

      test(`streams: ${formats}`, async () => {
        const [ann, bob, carol] = await connectPlayers(holder.server, formats, 3);
        const stream = { mode: 123, label: `table-${newId()}` };
        const sit = async (player) => JSON.parse((await player.socket.rpc("sit", stream.label)).payload);
        assert.deepEqual(await sit(ann), { is_new: true, count: 1 });
        assert.deepEqual(await sit(bob), { is_new: true, count: 2 });
        assert.deepEqual(await sit(bob), { is_new: false, count: 2 });
        for (const came of [ann, bob]) {
          const event = await ann.next("streamPresence");
          assert.deepEqual(cameAndWent(event), { came: [came.userId], went: [] });
          assert.deepEqual([event.stream.mode, event.stream.label], [stream.mode, stream.label]);
        }
        // By somebody who is not there, of a session that may be on another node.
        const [, second] = (await run(carol, "stream_user_list", stream)).sort((one) => (one.user_id === bob.userId ? 1 : -1));
        assert.deepEqual([second.user_id, second.status, second.hidden], [bob.userId, "seated", false]);
        await run(carol, "stream_send", stream, "for all");
        for (const player of [ann, bob]) {
          assert.equal((await player.next("streamData")).data, "for all");
        }
        await run(carol, "stream_send", stream, "for bob", [second]);
        assert.equal((await bob.next("streamData")).data, "for bob");
        await run(carol, "stream_user_update", bob.userId, second.session_id, stream, false, false, "standing");
        const change = await ann.next("streamPresence");
        assert.deepEqual(cameAndWent(change).came, [bob.userId]);
        const updated = await run(carol, "stream_user_get", bob.userId, second.session_id, stream);
        assert.equal(updated.status, "standing");
        await run(carol, "stream_user_kick", second, stream);
        assert.deepEqual(cameAndWent(await ann.next("streamPresence")), { came: [], went: [bob.userId] });
        await run(carol, "stream_send", stream, "without bob");
        assert.equal((await ann.next("streamData")).data, "without bob");
        await run(carol, "stream_close", stream);
        assert.equal(await run(carol, "stream_count", stream), 0);
        // What anybody is sent after this comes behind whatever came before.
        await run(carol, "notification_send_all", "end", {}, 1);
        await Promise.all([ann, bob, carol].map((player) => player.next("notification")));
        assert.deepEqual(bob.unread("streamData"), []);
      });
    }

    test("streams: what one call sends arrives whole and in order", async () => {
      const [ann, bob] = await connectPlayers(holder.server, ["json", "protobuf"], 2);
      // More than the credits of a lane, and less than a socket's queue holds.
      const [count, stream] = [2_000, { mode: 123, label: `flood-${newId()}` }];
      await run(ann, "stream_user_join", bob.userId, await sessionOf(bob), stream);
      await ann.socket.rpc("flood", JSON.stringify({ count, stream }));
      for (let number = 1; number <= count; number += 1) {
        assert.equal((await bob.next("streamData")).data, String(number));
      }
    });

    test("status: a session follows and hears no more", async () => {
      const [ann, bob, carol] = await connectPlayers(holder.server, ["json"], 3);
      const session = await sessionOf(bob);
      await run(carol, "status_follow", session, [ann.userId]);
      await ann.socket.updateStatus("at the table");
      const event = await bob.next("statusPresence");
      assert.deepEqual([cameAndWent(event).came, event.joins[0].status], [[ann.userId], "at the table"]);
      await run(carol, "status_unfollow", session, [ann.userId]);
      await ann.socket.updateStatus("gone");
      await run(ann, "notification_send", bob.userId, "end", {}, 1);
      await bob.next("notification");
      assert.deepEqual(bob.unread("statusPresence"), []);
    });

    test("sessions: disconnected, logged out, banned", async () => {
      const [ann, bob, carol, dora] = await connectPlayers(holder.server, ["json", "protobuf"], 4);
      await run(ann, "session_disconnect", await sessionOf(bob));
      const { code, reason } = await bob.disconnected;
      assert.deepEqual([code, reason], [1000, "server-side session disconnect"]);
      assert.equal((await bob.client.getAccount(bob.session)).user.id, bob.userId, "the token stays valid");
      await run(ann, "session_logout", carol.userId, carol.session.token, carol.session.refresh_token);
      assert.equal((await carol.disconnected).reason, "session token revoked");
      await run(ann, "users_ban_id", [dora.userId]);
      assert.equal((await dora.next("notification")).subject, "banned");
      assert.equal((await dora.disconnected).reason, "the user was banned");
      await refused(dora.client.getAccount(dora.session), 401, 16);
      await run(ann, "users_unban_id", [dora.userId]);
      assert.equal((await run(ann, "accounts_get_id", [dora.userId])).length, 1);
    });

    test("a token that a function made is one", async () => {
      const [ann, bob] = await connectPlayers(holder.server, ["json"], 2);
      const token = await run(ann, "authenticate_token_generate", bob.userId, bob.session.username);
      const { user } = await bob.client.getAccount({ ...bob.session, token });
      assert.equal(user.id, bob.userId);
      await run(ann, "account_delete_id", bob.userId);
      assert.equal((await bob.disconnected).reason, "session token revoked");
    });

    // The last one: what all are sent reaches who comes meanwhile.
    test("notifications: to all", async () => {
      const [ann, bob, carol] = await connectPlayers(holder.server, ["json", "protobuf"], 3);
      await run(ann, "notification_send", bob.userId, "a gift", { coins: 5 }, 101, ann.userId, true);
      assert.equal((await bob.next("notification")).subject, "a gift");
      await run(ann, "notification_send_all", "everybody", { n: 1 }, 7);
      for (const player of [ann, bob, carol]) {
        assert.equal((await player.next("notification")).subject, "everybody");
      }
      await run(ann, "notification_send_all", "for good", { n: 2 }, 8, true);
      for (const player of [ann, bob, carol]) {
        assert.equal((await player.next("notification")).persistent, true);
      }
      const kept = await bob.client.listNotifications(bob.session, 10);
      assert.deepEqual(kept.notifications.map(({ subject }) => subject), ["a gift", "for good"]);
      for (const player of [ann, bob, carol]) {
        assert.deepEqual(player.unread("notification"), []);
      }
    });
  },
  { "runtime.path": MODULES },
);
