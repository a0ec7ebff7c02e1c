// Finding rooms and watching the lobby, with the official client.

import assert from "node:assert/strict";
import { test } from "node:test";

import { newId } from "./support/client.mjs";
import { onEveryServer } from "./support/matrix.mjs";
import { FORMAT_ORDERS, connectPlayers } from "./support/player.mjs";
import { ask, nextInLobby, refusedCall } from "./support/rooms.mjs";

/** A part of the lobby that no other test uses. */
const newPath = () => `tests/${newId()}`;

/** A player who watches a part of the lobby, and what the player sees of it. */
class Watcher {
  rooms = new Map();

  constructor(player) {
    this.player = player;
  }

  async subscribe(request) {
    const { lobby, rooms } = await ask(this.player, "lobby.subscribe", request);
    this.lobby = lobby;
    this.#merge({ rooms, gone: [] });
  }

  /** Takes in changes until the rooms are as expected. */
  async until(isExpected) {
    while (!isExpected(this.rooms)) {
      this.#merge(await nextInLobby(this.player, this.lobby));
    }
  }

  #merge({ rooms, gone }) {
    rooms.forEach((room) => this.rooms.set(room.id, room));
    gone.forEach((id) => this.rooms.delete(id));
  }
}

onEveryServer("lobby", (holder) => {
  for (const formats of FORMAT_ORDERS) {
    const named = (text) => `${text}: ${formats.join(" and ")}`;

    test(named("who watches a part of the lobby sees its rooms come, change and go"), async () => {
      const path = newPath();
      const [player, other, maker] = await connectPlayers(holder.server, formats, 3);
      const watcher = new Watcher(player);
      const first = (await ask(maker, "create", { path: `${path}/a`, name: "first" })).room.id;
      await watcher.subscribe({ path });
      assert.equal((await ask(other, "lobby.subscribe", { path: newPath() })).rooms.length, 0);
      await watcher.until((rooms) => rooms.get(first)?.players === 1);
      const second = (await ask(maker, "create", { path, name: "second", password: "sesame" })).room.id;
      await watcher.until((rooms) => rooms.get(second)?.players === 1);
      const { name, locked, capacity } = watcher.rooms.get(second);
      assert.deepEqual({ name, locked, capacity }, { name: "second", locked: true, capacity: 8 });

      await ask(maker, "set", { room: second, set: { round: 5 } });
      await watcher.until((rooms) => rooms.get(second)?.variables.round === 5);
      await ask(maker, "leave", { room: second });
      await watcher.until((rooms) => !rooms.has(second));
      assert.deepEqual([...watcher.rooms.keys()], [first]);

      await ask(player, "lobby.unsubscribe", { lobby: watcher.lobby });
      assert.deepEqual(other.unread("streamData"), []);
      await Promise.all([player, other, maker].map((player) => player.disconnect()));
    });

    test(named("rooms are found by filter, page by page, and joined quickly"), async () => {
      const path = newPath();
      const [player, maker, guest] = await connectPlayers(holder.server, formats, 3);
      const watcher = new Watcher(player);
      await watcher.subscribe({ path, filter: "+properties.level:>=3" });
      const levels = [1, 2, 3, 4, 5];
      const made = [];
      for (const level of levels) {
        made.push((await ask(maker, "create", { path, capacity: 2, properties: { level } })).room.id);
      }
      await watcher.until((rooms) => rooms.size === 3 && [...rooms.values()].every((room) => room.players === 1));
      assert.deepEqual([...watcher.rooms.values()].map((room) => room.properties.level).sort(), [3, 4, 5]);

      const find = { path, filter: "+properties.level:<=4", limit: 3 };
      const page = await ask(guest, "find", find);
      assert.deepEqual(page.rooms.map((room) => room.properties.level), [1, 2, 3]);
      const rest = await ask(guest, "find", { ...find, cursor: page.cursor });
      assert.deepEqual([rest.rooms.map((room) => room.properties.level), rest.cursor], [[4], undefined]);
      await refusedCall(ask(guest, "find", { ...find, filter: "", cursor: page.cursor }), 3);
      await refusedCall(ask(guest, "find", { filter: '+name:>"' }), 3);

      const joined = await ask(guest, "quick_join", { path, filter: "+properties.level:5" });
      assert.deepEqual([joined.room.id, joined.seat], [made[4], 2]);
      await refusedCall(ask(guest, "quick_join", { path, filter: "+properties.level:9" }), 5);
      await Promise.all([player, maker, guest].map((player) => player.disconnect()));
    });
  }

  test("a lobby is asked for within its limits", async () => {
    const [player] = await connectPlayers(holder.server, ["json"], 1);
    await refusedCall(ask(player, "lobby.subscribe", { interval_ms: 10 }), 3);
    await refusedCall(ask(player, "lobby.subscribe", { rooms_max: 1000 }), 3);
    await refusedCall(ask(player, "lobby.subscribe", { path: "a//b" }), 3);
    await refusedCall(ask(player, "lobby.unsubscribe", { lobby: "x" }), 3);
    await player.disconnect();
  });
});
