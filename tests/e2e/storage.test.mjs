// Storage objects: versions, permissions, pages, batches.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { before, describe, test } from "node:test";

import { call, isRefusal, newId, newPlayer, refused } from "./support/client.mjs";
import { onEveryServer } from "./support/matrix.mjs";

const md5 = (text) => createHash("md5").update(text).digest("hex");

onEveryServer("storage", (holder) => {
  let one, other;
  before(async () => {
    [one, other] = await Promise.all([newPlayer(holder.server), newPlayer(holder.server)]);
  });

  const write = (player, ...objects) =>
    player.client.writeStorageObjects(
      player.session,
      objects.map((object) => ({ collection: "saves", key: "slot", value: { level: 1 }, ...object })),
    );
  const read = async (player, ...ids) => {
    const object_ids = ids.map((id) => ({ collection: "saves", key: "slot", user_id: player.userId, ...id }));
    return (await player.client.readStorageObjects(player.session, { object_ids })).objects;
  };
  const remove = (player, id) =>
    player.client.deleteStorageObjects(player.session, { object_ids: [{ collection: "saves", ...id }] });
  /** A write as the client would never send it. */
  const rawWrite = (object) =>
    call(holder.server, "PUT", "/v2/storage", {
      token: one.session.token,
      body: { objects: [{ collection: "saves", key: "raw", value: "{}", ...object }] },
    });

  describe("writing and reading", () => {
    test("an object comes back as it was written", async () => {
      const key = newId();
      const value = { text: 'Zoë " \\ 😀', list: [1, 2.5, null, true], nested: { a: {} } };
      const { acks } = await write(one, { key, value });
      const [object] = await read(one, { key });
      assert.deepEqual(object.value, value);
      assert.deepEqual(
        [object.collection, object.key, object.user_id, object.permission_read, object.permission_write],
        ["saves", key, one.userId, 1, 1],
      );
      assert.equal(object.version, acks[0].version);
      assert.deepEqual([acks[0].collection, acks[0].key, acks[0].user_id], ["saves", key, one.userId]);
      for (const time of [object.create_time, object.update_time, acks[0].create_time, acks[0].update_time]) {
        assert.ok(Math.abs(Date.parse(time) - Date.now()) < 60_000, time);
      }
    });

    test("the text of a value is kept on SQLite, and as PostgreSQL writes it there", async () => {
      const [key, value] = [newId(), '{"b":  1,"a":2}'];
      await rawWrite({ key, value });
      const body = { object_ids: [{ collection: "saves", key, user_id: one.userId }] };
      const { json } = await call(holder.server, "POST", "/v2/storage", { token: one.session.token, body });
      const isPostgres = "database.address" in holder.server.oneNode.flags;
      assert.equal(json.objects[0].value, isPostgres ? '{"a": 2, "b": 1}' : value);
    });

    test("what does not exist is left out", async () => {
      const key = newId();
      await write(one, { key });
      const objects = await read(one, { key: newId() }, { key });
      assert.deepEqual(objects.map((object) => object.key), [key]);
    });

    test("nothing asked, nothing done", async () => {
      const token = one.session.token;
      const none = await call(holder.server, "POST", "/v2/storage", { token, body: { object_ids: [] } });
      assert.deepEqual([none.status, none.json], [200, {}], none.text);
    });

    test("names, permissions and values have a form", async () => {
      for (const object of [
        { collection: "" },
        { key: "" },
        { collection: "c".repeat(129) },
        { key: "k".repeat(129) },
        { value: "" },
        { value: "[1]" },
        { value: '"text"' },
        { value: "7" },
        { value: "null" },
        { value: "{" },
        { value: '{"a":1} trailing' },
        { permission_read: 3 },
        { permission_read: -1 },
        { permission_write: 2 },
      ]) {
        const answer = await rawWrite(object);
        isRefusal(answer, 400, 3);
      }
    });
  });

  describe("versions", () => {
    test("a version is the md5 of the value's text", async () => {
      const value = { b: 1, a: [2] };
      const { acks } = await write(one, { key: newId(), value });
      assert.equal(acks[0].version, md5(JSON.stringify(value)));
    });

    test("an asterisk writes only what is not there", async () => {
      const key = newId();
      await write(one, { key, version: "*" });
      await refused(write(one, { key, version: "*", value: { level: 2 } }), 400, 3);
      assert.deepEqual((await read(one, { key }))[0].value, { level: 1 });
    });

    test("a version writes only over itself", async () => {
      const key = newId();
      const { acks } = await write(one, { key });
      await refused(write(one, { key, version: md5("other"), value: { level: 2 } }), 400, 3);
      const second = await write(one, { key, version: acks[0].version, value: { level: 2 } });
      await refused(write(one, { key, version: acks[0].version, value: { level: 3 } }), 400, 3);
      const [object] = await read(one, { key });
      assert.deepEqual([object.value, object.version], [{ level: 2 }, second.acks[0].version]);
      await refused(write(one, { key: newId(), version: md5("other") }), 400, 3);
    });

    test("of many who write over one version at once, one succeeds", async () => {
      const key = newId();
      const { acks } = await write(one, { key });
      const writes = Array.from({ length: 20 }, (_, level) =>
        write(one, { key, version: acks[0].version, value: { level: level + 100 } }),
      );
      const done = (await Promise.allSettled(writes)).filter((result) => result.status === "fulfilled");
      assert.equal(done.length, 1);
      assert.equal((await read(one, { key }))[0].version, done[0].value.acks[0].version);
    });

    test("writing the same again changes nothing, times included", async () => {
      const key = newId();
      await write(one, { key });
      const [before] = await read(one, { key });
      const { acks } = await write(one, { key });
      assert.equal(acks[0].version, before.version);
      assert.deepEqual((await read(one, { key }))[0], before);
    });
  });

  describe("permissions", () => {
    test("only public objects are read by others", async () => {
      const [hidden, own, open] = [newId(), newId(), newId()];
      await write(one, { key: hidden, permission_read: 0 }, { key: own, permission_read: 1 }, { key: open, permission_read: 2 });
      const ids = [hidden, own, open].map((key) => ({ key, user_id: one.userId }));
      const keys = async (player) => (await read(player, ...ids)).map((object) => object.key).sort();
      assert.deepEqual(await keys(other), [open]);
      assert.deepEqual(await keys(one), [own, open].sort(), "read permission 0 hides an object from its owner too");
    });

    test("write permission 0 ends writing and deleting by clients", async () => {
      const key = newId();
      await write(one, { key, permission_write: 0 });
      await refused(write(one, { key, value: { level: 2 } }), 400, 3);
      await refused(remove(one, { key }), 400, 3);
      assert.deepEqual((await read(one, { key }))[0].value, { level: 1 });
    });

    test("the same key of another player is another object", async () => {
      const key = newId();
      await write(one, { key, value: { of: "one" } });
      await write(other, { key, value: { of: "other" } });
      assert.deepEqual((await read(one, { key }))[0].value, { of: "one" });
    });
  });

  describe("batches", () => {
    test("acknowledgements come in the order of the request", async () => {
      const keys = Array.from({ length: 20 }, newId).sort().reverse();
      const { acks } = await write(one, ...keys.map((key) => ({ key })));
      assert.deepEqual(acks.map((ack) => ack.key), keys);
    });

    test("one refused write refuses the batch", async () => {
      const [first, second, third] = [newId(), newId(), newId()];
      await write(one, { key: second });
      await refused(write(one, { key: first }, { key: second, version: "*" }, { key: third }), 400, 3);
      assert.deepEqual(await read(one, { key: first }, { key: third }), []);
    });

    test("one refused delete refuses the batch", async () => {
      const key = newId();
      await write(one, { key });
      const object_ids = [key, newId()].map((key) => ({ collection: "saves", key }));
      await refused(one.client.deleteStorageObjects(one.session, { object_ids }), 400, 3);
      assert.equal((await read(one, { key })).length, 1);
    });

    test("batches that touch the same keys in other orders all end", async () => {
      const keys = Array.from({ length: 10 }, newId);
      const batches = Array.from({ length: 10 }, (_, round) => {
        const turned = [...keys.slice(round), ...keys.slice(0, round)];
        return write(one, ...turned.map((key) => ({ key, value: { round } })));
      });
      await Promise.all(batches);
      const objects = await read(one, ...keys.map((key) => ({ key })));
      assert.equal(new Set(objects.map((object) => object.value.round)).size, 1, "the last batch won everywhere");
    });
  });

  describe("deleting", () => {
    test("a deleted object is gone", async () => {
      const key = newId();
      await write(one, { key });
      assert.equal(await remove(one, { key }), true);
      assert.deepEqual(await read(one, { key }), []);
    });

    test("with a version, only that version goes", async () => {
      const key = newId();
      const { acks } = await write(one, { key });
      await refused(remove(one, { key, version: md5("other") }), 400, 3);
      await remove(one, { key, version: acks[0].version });
      assert.deepEqual(await read(one, { key }), []);
    });
  });

  describe("listing", () => {
    const COUNT = 7;
    const collection = `list-${newId()}`;
    before(async () => {
      const objects = Array.from({ length: COUNT }, (_, index) => ({
        collection,
        key: `key-${index}`,
        permission_read: index % 2 === 0 ? 2 : 1,
      }));
      await write(one, ...objects);
      await write(one, { collection, key: "hidden", permission_read: 0 });
      await write(other, { collection, key: "of-other", permission_read: 2 });
    });

    const pages = async (player, userId, limit) => {
      const found = [];
      let cursor;
      for (let page = 0; page < 20; page += 1) {
        const list = await player.client.listStorageObjects(player.session, collection, userId, limit, cursor);
        assert.ok(list.objects.length <= limit);
        found.push(...list.objects.map((object) => object.key));
        cursor = list.cursor;
        if (!cursor) {
          return found;
        }
      }
      assert.fail("pages never end");
    };
    const KEYS = Array.from({ length: COUNT }, (_, index) => `key-${index}`);
    const PUBLIC_KEYS = KEYS.filter((_, index) => index % 2 === 0);

    test("the owner sees what is the owner's, once each, page by page", async () => {
      for (const limit of [1, 2, 3, 100]) {
        assert.deepEqual((await pages(one, one.userId, limit)).sort(), KEYS, `limit ${limit}`);
      }
    });

    test("others see what is public", async () => {
      assert.deepEqual((await pages(other, one.userId, 2)).sort(), PUBLIC_KEYS);
    });

    test("without a user, everybody's public objects", async () => {
      assert.deepEqual((await pages(other, undefined, 2)).sort(), [...PUBLIC_KEYS, "of-other"].sort());
    });

    test("the user can stand in the path", async () => {
      const path = `/v2/storage/${collection}/${one.userId}?limit=100`;
      const answer = await call(holder.server, "GET", path, { token: one.session.token });
      assert.equal(answer.json.objects.length, COUNT, answer.text);
    });

    test("a page has one object unless asked, and at most a hundred", async () => {
      const list = (query) =>
        call(holder.server, "GET", `/v2/storage/${collection}?user_id=${one.userId}${query}`, { token: one.session.token });
      assert.equal((await list("")).json.objects.length, 1);
      for (const query of ["&limit=101", "&limit=0", "&limit=-1", "&cursor=nonsense", "&limit=many"]) {
        isRefusal(await list(query), 400, 3);
      }
    });
  });
});
