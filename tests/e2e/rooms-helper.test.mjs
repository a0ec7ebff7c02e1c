// The TypeScript helper for rooms and the lobby, over sockets of the official client.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Rooms } from "../../sdk/typescript/dist/index.js";
import { newId } from "./support/client.mjs";
import { onEveryServer } from "./support/matrix.mjs";
import { FORMAT_ORDERS, connectPlayers } from "./support/player.mjs";

/** Resolves when `isSo` holds, which is asked whenever `handlers` are told of a change. */
function until(handlers, name, isSo) {
  return new Promise((resolve) => {
    handlers[name] = () => {
      if (isSo()) {
        handlers[name] = () => {};
        resolve();
      }
    };
    handlers[name]();
  });
}

onEveryServer("the helper for rooms", (holder) => {
  for (const formats of FORMAT_ORDERS) {
    test(`a room and a lobby keep themselves up to date: ${formats.join(" and ")}`, async () => {
      const players = await connectPlayers(holder.server, formats, 3);
      const [one, two, watcher] = players.map((player) => new Rooms(player.socket, player.userId));
      const path = `tests/${newId()}`;
      const lobby = await watcher.watch({ path });
      assert.equal(lobby.rooms.size, 0);

      const first = await one.create({ path, name: "first", capacity: 2, variables: { round: 1 } });
      const second = await two.join(first.id);
      assert.deepEqual([first.seat, second.seat, second.members.size, second.variables], [1, 2, 2, { round: 1 }]);
      await until(first.handlers, "onChange", () => first.summary.players === 2);

      const said = new Promise((resolve) => {
        first.handlers.onMessage = (data, sender, isPrivate) => resolve([data, sender.username, isPrivate]);
      });
      await second.sendTo([players[0].userId], "psst");
      assert.deepEqual(await said, ["psst", players[1].username, true]);

      assert.equal(await second.set({ set: { round: 2 }, unset: ["nothing"] }), 2);
      await second.setPlayer({ set: { ready: true } });
      const memberTwo = () => [...first.members.values()].find((member) => member.user_id === players[1].userId);
      await until(first.handlers, "onChange", () => memberTwo().variables.ready === true);
      assert.deepEqual([first.variables, first.version], [{ round: 2 }, 2]);

      await until(lobby, "onChange", () => lobby.rooms.get(first.id)?.variables.round === 2);
      await first.update({ open: false, set_properties: { level: 3 } });
      await until(second.handlers, "onChange", () => second.summary.properties.level === 3);
      assert.equal(second.summary.open, false);

      const ended = new Promise((resolve) => (second.handlers.onEnd = resolve));
      await first.kick(players[1].userId);
      assert.equal(await ended, "kicked");
      await until(first.handlers, "onChange", () => first.summary.players === 1);
      await first.leave();
      await until(lobby, "onChange", () => lobby.rooms.size === 0);
      await lobby.close();
      assert.deepEqual((await one.find({ path })).rooms, []);

      // Nothing of rooms went to the game's own handlers.
      for (const player of players) {
        assert.deepEqual([player.unread("streamData"), player.unread("streamPresence")], [[], []]);
      }
      await Promise.all(players.map((player) => player.disconnect()));
    });
  }
});
