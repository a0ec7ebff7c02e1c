// Histories of channels and waiting notifications, as far as they can be asked for without a socket.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { before, describe, test } from "node:test";

import { call, isRefusal, newPlayer, refused } from "./support/client.mjs";
import { onEveryServer } from "./support/matrix.mjs";

onEveryServer("history", (holder) => {
  let one, other, third;
  before(async () => {
    [one, other, third] = await Promise.all([1, 2, 3].map(() => newPlayer(holder.server)));
  });

  const messages = (player, channelId, ...rest) => player.client.listChannelMessages(player.session, channelId, ...rest);
  const notifications = (player, ...rest) => player.client.listNotifications(player.session, ...rest);
  const direct = () => `4.${[one.userId, other.userId].sort().join(".")}.`;

  describe("channels", () => {
    test("a room where nothing was said has no history", async () => {
      for (const name of ["lobby", "Zoë's room / 😀", "a.b.c"]) {
        const found = await messages(one, `2...${name}`, 100, false);
        assert.deepEqual(found.messages ?? [], []);
        assert.deepEqual([found.next_cursor, found.prev_cursor], [undefined, undefined]);
      }
    });

    test("a conversation of two is theirs", async () => {
      for (const player of [one, other]) {
        assert.deepEqual((await messages(player, direct(), 10)).messages ?? [], []);
      }
      await refused(messages(third, direct(), 10), 400, 3);
    });

    test("a group's channel is its members'", async () => {
      await refused(messages(one, `3.${randomUUID()}..`, 10), 400, 3);
    });

    test("ids, limits and cursors have a form", async () => {
      for (const id of ["lobby", "2...", "1...lobby", `2...${"x".repeat(65)}`, "3...", "4...", `4.${one.userId}..`]) {
        await refused(messages(one, id, 10), 400, 3);
      }
      for (const limit of [0, 101, -1]) {
        const token = one.session.token;
        isRefusal(await call(holder.server, "GET", `/v2/channel/2...lobby?limit=${limit}`, { token }), 400, 3);
      }
      await refused(messages(one, "2...lobby", 10, true, "no-cursor"), 400, 3);
    });
  });

  describe("notifications", () => {
    test("whom nobody has sent any gets a cursor to ask with later", async () => {
      const found = await notifications(one, 10);
      assert.deepEqual(found.notifications ?? [], []);
      assert.ok(found.cacheable_cursor);
      const later = await notifications(one, 10, found.cacheable_cursor);
      assert.equal(later.cacheable_cursor, found.cacheable_cursor);
      await refused(notifications(other, 10, found.cacheable_cursor), 400, 3);
      await refused(notifications(one, 10, "no-cursor"), 400, 3);
    });

    test("what is not there is deleted without a word", async () => {
      assert.equal(await one.client.deleteNotifications(one.session, [randomUUID(), randomUUID()]), true);
      await refused(one.client.deleteNotifications(one.session, ["x"]), 400, 3);
    });

    test("limits have bounds", async () => {
      for (const limit of [0, 101]) {
        const token = one.session.token;
        isRefusal(await call(holder.server, "GET", `/v2/notification?limit=${limit}`, { token }), 400, 3);
      }
    });
  });
});
