// Friends: asked, accepted, listed, blocked and removed, with who hears of it.

import assert from "node:assert/strict";
import { test } from "node:test";

import { onEveryServer } from "./support/matrix.mjs";
import { connectPlayers, FORMAT_ORDERS, list } from "./support/player.mjs";

const [FRIEND, ASKED, ASKED_BY, BLOCKED] = [0, 1, 2, 3];
const [REQUEST, ACCEPTED, REMOVED] = [-2, -3, -9];

onEveryServer("friends", (holder) => {
  const each = (subject, run) => {
    for (const formats of FORMAT_ORDERS) {
      test(`${subject}: ${formats.join(" and ")}`, () => run(formats));
    }
  };

  const shown = async (player, state) => {
    const { friends } = await player.client.listFriends(player.session, state, 100);
    return list(friends).map((friend) => [friend.user.id, friend.state]);
  };

  each("ask, accept and part", async (formats) => {
    const [ann, bob] = await connectPlayers(holder.server, formats, 2);
    await ann.client.addFriends(ann.session, [bob.userId]);
    const request = await bob.next("notification");
    assert.deepEqual([request.code, request.sender_id, request.persistent], [REQUEST, ann.userId, true]);
    assert.deepEqual(await shown(ann), [[bob.userId, ASKED]]);
    assert.deepEqual(await shown(bob, ASKED_BY), [[ann.userId, ASKED_BY]]);
    await bob.client.addFriends(bob.session, [], [ann.session.username]);
    assert.equal((await ann.next("notification")).code, ACCEPTED);
    assert.deepEqual(await shown(ann, FRIEND), [[bob.userId, FRIEND]]);
    const { users } = await ann.client.getUsers(ann.session, [ann.userId]);
    assert.equal(users[0].edge_count, 1);
    await ann.client.deleteFriends(ann.session, [bob.userId]);
    assert.equal((await bob.next("notification")).code, REMOVED);
    assert.deepEqual([await shown(ann), await shown(bob)], [[], []]);
  });

  each("a block keeps the other one away", async (formats) => {
    const [ann, bob] = await connectPlayers(holder.server, formats, 2);
    await ann.client.blockFriends(ann.session, [bob.userId]);
    await bob.client.addFriends(bob.session, [ann.userId]);
    assert.deepEqual([await shown(ann), await shown(bob)], [[[bob.userId, BLOCKED]], []]);
    await assert.rejects(bob.socket.joinChat(ann.userId, 2, true, false));
    await ann.client.deleteFriends(ann.session, [bob.userId]);
    await bob.client.addFriends(bob.session, [ann.userId]);
    assert.equal((await ann.next("notification")).code, REQUEST);
  });

  each("friends of friends are found", async (formats) => {
    const [ann, bob, cid] = await connectPlayers(holder.server, formats, 3);
    for (const [one, two] of [[ann, bob], [bob, ann], [bob, cid], [cid, bob]]) {
      await one.client.addFriends(one.session, [two.userId]);
    }
    const { friends_of_friends: found } = await ann.client.listFriendsOfFriends(ann.session, 10);
    assert.deepEqual(found.map(({ referrer, user }) => [referrer, user.id]), [[bob.userId, cid.userId]]);
  });
});
