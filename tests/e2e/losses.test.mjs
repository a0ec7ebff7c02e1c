// What players see when parts of a cluster are lost: NATS for one node, the database for all, players on their way.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";

import { call, clientOf, newId, refused } from "./support/client.mjs";
import { Cluster } from "./support/cluster.mjs";
import { Line } from "./support/line.mjs";
import { hear, inOneRoom, joinRoom, metrics, RUNTIME_EXCEPTION, until } from "./support/nodes.mjs";
import { cameAndWent, Player, refusedWith } from "./support/player.mjs";
import { ask, nextInRoom } from "./support/rooms.mjs";
import { createDatabase, Server } from "./support/server.mjs";

const MODULES = fileURLToPath(new URL("./modules", import.meta.url));
const NATS = process.env.MUSTER_TEST_NATS;
const MATCH_NOT_FOUND = 4;
const SAY = 1;
/** More matches than it takes until each node has one. */
const MATCHES_MAX = 100;

/** A database of its own, behind a line. */
const databaseLine = async () => Line.start(await createDatabase(newId().slice(0, 8)));

describe("one node of three loses NATS", () => {
  for (const [loss, words] of [["cut", "and is told so"], ["halt", "and is told nothing"]]) {
    test(`${words}: it is left out, and comes back as another`, async (t) => {
      const lines = await Promise.all([0, 1, 2].map(() => Line.start(NATS)));
      t.after(() => Promise.all(lines.map((line) => line.stop())));
      const cluster = await Cluster.start({ nodes: 3, shards: 2, nats: lines.map((line) => line.url) });
      t.after(() => cluster.dispose());
      const { nodes } = cluster;
      const { players, channel, name } = await inOneRoom(nodes);
      const [ann, bob, cid] = players;
      const numberBefore = (await metrics(nodes[2]))("cluster_node_number");

      lines[2][loss]();
      for (const player of [ann, bob]) {
        assert.deepEqual(cameAndWent(await player.next("channelPresence")), { came: [], went: [cid.userId] });
      }
      await hear(ann, [ann, bob], channel, "where is cid?");
      await hear(bob, [ann, bob], channel, "gone");
      const { match_id: match } = await ann.socket.createMatch();
      await bob.socket.joinMatch(match);

      await nodes[2].logged("this node is an island");
      await refusedWith(cid.socket.createParty(true, 4), RUNTIME_EXCEPTION);
      lines[2].mend();
      await cid.disconnected;
      await nodes[2].ready();
      const back = await Player.connect(nodes[2], "json", { session: cid.session });
      await joinRoom(back, name);
      const all = [ann, bob, back];
      for (const player of all) {
        assert.deepEqual(cameAndWent(await player.next("channelPresence")), { came: [cid.userId], went: [] });
      }
      await hear(back, all, channel, "back");
      await hear(ann, all, channel, "welcome");
      assert.deepEqual([ann, bob].map((player) => player.unread("channelPresence")), [[], []], "each once");
      assert.ok((await metrics(nodes[2]))("cluster_node_number") > numberBefore);
    });
  }
});

describe("what is said in a channel while the node that owns it is lost", () => {
  /** Messages on their way of one author at a time. */
  const AT_ONCE = 2;
  /** After so many refusals an author gives up. */
  const REFUSALS_MAX = 20;
  /** Authors here say more than players may, and listeners are told at once what they missed. */
  const FLAGS = {
    "limits.session_chat_per_sec": 0,
    "limits.session_fan_out_bytes_per_sec": 0,
    "socket.outgoing_queue_bytes": 64 * 1024 * 1024,
  };

  /** Says one thing after the other until told to stop, or refused too often. Answers what was acknowledged. */
  const talk = (player, channel, isOver) => {
    const acknowledged = [];
    let count = 0;
    let refusals = 0;
    const lane = async () => {
      while (!isOver()) {
        count += 1;
        const text = `${player.username} ${count}`;
        try {
          await player.socket.writeChatMessage(channel.id, { text });
          acknowledged.push(text);
        } catch {
          // An error is no acknowledgement, whatever it says.
          refusals += 1;
          if (refusals > REFUSALS_MAX) {
            return;
          }
        }
      }
    };
    const lanes = Array.from({ length: AT_ONCE }, lane);
    return { acknowledged, end: () => Promise.all(lanes) };
  };

  for (const loss of ["cut", "halt"]) {
    test(`${loss}: everything acknowledged reaches everybody who stays, once`, async (t) => {
      const lines = await Promise.all([0, 1, 2].map(() => Line.start(NATS)));
      t.after(() => Promise.all(lines.map((line) => line.stop())));
      const cluster = await Cluster.start({ nodes: 3, shards: 2, nats: lines.map((line) => line.url), flags: FLAGS });
      t.after(() => cluster.dispose());
      await cluster.shared();
      const { nodes } = cluster;
      const { players, channel } = await inOneRoom(nodes);
      // The lost node owns some of these channels, and others own the rest.
      const rooms = [{ players, channel }];
      for (let number = 1; number < 6; number += 1) {
        rooms.push(await inOneRoom(nodes));
      }
      let isOver = false;
      const talks = rooms.flatMap((room) => room.players.map((player) => talk(player, room.channel, () => isOver)));
      const said = () => talks.reduce((sum, { acknowledged }) => sum + acknowledged.length, 0);
      await until("they talk", async () => said() > 300);
      lines[2][loss]();
      await nodes[2].logged("this node is an island");
      await nodes[0].logged("a node is gone from the cluster");
      const then = said();
      await until("the others go on", async () => said() > then + 300);
      lines[2].mend();
      await Promise.all(rooms.map((room) => room.players[2].disconnected));
      isOver = true;
      await Promise.all(talks.map(({ end }) => end()));
      for (const [number, room] of rooms.entries()) {
        const acknowledged = talks.slice(number * 3, number * 3 + 3).flatMap((talk) => talk.acknowledged);
        await hear(room.players[0], [], room.channel, "the end");
        for (const player of room.players.slice(0, 2)) {
          const heard = [];
          for (let text; text !== "the end"; heard.push(text)) {
            ({ text } = (await player.next("channelMessage")).content);
          }
          const times = new Map();
          heard.forEach((text) => times.set(text, (times.get(text) ?? 0) + 1));
          const missing = acknowledged.filter((text) => !times.has(text));
          const doubled = [...times].filter(([, count]) => count > 1);
          assert.deepEqual({ missing, doubled }, { missing: [], doubled: [] }, `room ${number}`);
        }
      }
      const refused = (await Promise.all([nodes[0], nodes[1]].map(async (node) => (await metrics(node))("island_refused_count"))));
      assert.deepEqual(refused, [0, 0], "who has a way to the cluster refuses nothing");
      const recalled = await Promise.all([nodes[0], nodes[1]].map(async (node) => (await metrics(node))("chat_recalled_count")));
      assert.ok(recalled[0] + recalled[1] > 0);
    });
  }
});

test("an island refuses what it cannot tell others, and says so", async (t) => {
  const lines = await Promise.all([0, 1].map(() => Line.start(NATS)));
  t.after(() => Promise.all(lines.map((line) => line.stop())));
  const cluster = await Cluster.start({ nodes: 2, shards: 2, nats: lines.map((line) => line.url) });
  t.after(() => cluster.dispose());
  await cluster.shared();
  const { nodes } = cluster;
  const { players, channel } = await inOneRoom(nodes);
  const [ann, bob] = players;
  const { party_id: party } = await bob.socket.createParty(true, 4);
  await ann.socket.joinParty(party);
  await bob.next("partyPresence");

  lines[1].halt();
  await nodes[1].logged("this node is an island");
  for (const act of [
    () => bob.socket.writeChatMessage(channel.id, { text: "anybody?" }),
    () => bob.socket.updateStatus("alone"),
    () => bob.socket.closeParty(party),
    () => bob.socket.createParty(true, 4),
  ]) {
    assert.match((await refusedWith(act(), RUNTIME_EXCEPTION)).message, /has lost its cluster for now|has gone/);
  }
  await until("the refusals are counted", async () => (await metrics(nodes[1]))("island_refused_count") >= 4);
});

test("without the database nodes go on with what lives, refuse the rest, and return by themselves", async (t) => {
  const line = await databaseLine();
  t.after(() => line.stop());
  const cluster = await Cluster.start({ nodes: 3, shards: 2, flags: { "database.address": line.url } });
  t.after(() => cluster.dispose());
  const { nodes } = cluster;
  const { players, channel } = await inOneRoom(nodes, { isKept: false, online: true });
  const [ann, bob, cid] = players;
  const kept = await joinRoom(ann, `kept-${newId()}`);
  // Everybody who is online is told that, too.
  await ann.next("statusPresence");
  await ann.socket.followUsers([bob.userId]);
  const { match_id: match } = await bob.socket.createMatch();
  await cid.socket.joinMatch(match);
  const { room } = await ask(cid, "create", { capacity: 3 });
  await ask(ann, "join", { room: room.id });

  line.cut();
  await Promise.all(players.map((player) => refused(player.client.getAccount(player.session), 503, 14)));
  for (const [index, node] of nodes.entries()) {
    const object = { collection: "a", key: "b", value: { c: 1 }, permission_read: 1, permission_write: 1 };
    await refused(clientOf(node).writeStorageObjects(players[index].session, [object]), 503, 14);
    await refused(clientOf(node).authenticateDevice(newId(), true), 503, 14);
    assert.equal((await call(node, "GET", "/readycheck")).status, 503);
    assert.equal((await call(node, "GET", "/healthcheck")).status, 200);
  }
  const told = await refusedWith(ann.socket.writeChatMessage(kept.id, { text: "to be kept" }), RUNTIME_EXCEPTION);
  assert.equal(told.context.code, "14");

  for (const speaker of players) {
    await hear(speaker, players, channel, `without a database, ${speaker.username}`);
  }
  await bob.socket.updateStatus("still here");
  assert.equal((await ann.next("statusPresence")).joins[0].status, "still here");
  await bob.socket.sendMatchState(match, 1, "go on");
  assert.equal(new TextDecoder().decode((await cid.next("matchData")).data), "go on");
  await ask(ann, "send", { room: room.id, data: "hello" });
  assert.deepEqual((await nextInRoom(cid, room.id)).data, { type: "message", data: "hello" });
  const { room: another } = await ask(bob, "create", { capacity: 2 });
  await ask(ann, "join", { room: another.id });
  await Promise.all([ann, cid].map((player) => player.socket.addMatchmaker("*", 2, 2)));
  assert.equal((await ann.next("matched")).token, (await cid.next("matched")).token);

  line.mend();
  for (const node of nodes) {
    await until("a node is ready again", async () => (await call(node, "GET", "/readycheck")).status === 200);
  }
  for (const [index, player] of players.entries()) {
    assert.equal((await player.client.getAccount(player.session)).user.id, player.userId);
    await Player.connect(nodes[index], "json");
  }
  await ann.socket.writeChatMessage(kept.id, { text: "kept" });
  assert.deepEqual((await ann.next("channelMessage")).content, { text: "kept" });
  await hear(cid, players, channel, "and so on");
  await bob.client.sessionLogout(bob.session, bob.session.token, bob.session.refresh_token);
  await until("a node reads what was revoked", () => isOut(nodes[2], bob.session));
});

/** Whether a server knows that a session is void. */
const isOut = async ({ url }, { token }) =>
  (await fetch(`${url}/v2/account`, { headers: { Authorization: `Bearer ${token}` } })).status === 401;

describe("who logs out on one server is out on another", () => {
  const check = async ([one, two]) => {
    const player = await Player.connect(one, "json");
    const elsewhere = await Player.connect(two, "protobuf", { session: player.session });
    await player.client.sessionLogout(player.session, player.session.token, player.session.refresh_token);
    await until("the other server knows", () => isOut(two, player.session));
    await Promise.all([player.disconnected, elsewhere.disconnected]);
  };

  test("without NATS", async (t) => {
    const flags = { "database.address": await createDatabase(newId().slice(0, 8)) };
    const servers = [];
    t.after(() => Promise.all(servers.map((server) => server.dispose())));
    for (let count = 0; count < 2; count += 1) {
      servers.push(await Server.start({ flags }));
    }
    await check(servers);
    await check(servers.toReversed());
  });

  test("as nodes of a cluster", async (t) => {
    const cluster = await Cluster.start({ nodes: 2, shards: 2 });
    t.after(() => cluster.dispose());
    await check(cluster.nodes);
    await check(cluster.nodes.toReversed());
  });
});

describe("a herd is placed over three nodes", () => {
  const SIZE = 7;
  const HELD_SEC = 5;
  const FLAGS = { "rooms.templates": [`herd=size=${SIZE} path=herd owned=false`], "rooms.reservation_sec": HELD_SEC };
  /** Sockets that are opened at once. */
  const WAVE = 40;

  /** So many players, shared out over the nodes. */
  const gather = async (nodes, count) => {
    const players = [];
    while (players.length < count) {
      const wave = Array.from({ length: Math.min(WAVE, count - players.length) }, (_, index) =>
        Player.connect(nodes[index % nodes.length], index % 2 ? "protobuf" : "json"),
      );
      players.push(...(await Promise.all(wave)));
    }
    return players;
  };

  /** All ask at once. */
  const placeAll = (players, more = {}) =>
    Promise.all(players.map((player) => ask(player, "place", { template: "herd", ...more })));

  /** Who sits where: no seat is taken twice, and none is there that no room has. */
  class Seats {
    rooms = new Map();

    take({ room, seat }) {
      const taken = this.rooms.get(room.id) ?? new Set();
      assert.ok(seat >= 1 && seat <= SIZE, `seat ${seat} of ${SIZE}`);
      assert.ok(!taken.has(seat), `seat ${seat} was given away twice`);
      this.rooms.set(room.id, taken.add(seat));
    }

    get partFilled() {
      return [...this.rooms.values()].filter((taken) => taken.size < SIZE).length;
    }

    get taken() {
      return [...this.rooms.values()].reduce((sum, taken) => sum + taken.size, 0);
    }
  }

  /** All rooms, as a node lists them. */
  const listed = async (player) => {
    const rooms = [];
    let cursor;
    do {
      const page = await ask(player, "find", { path: "herd", limit: 100, ...(cursor ? { cursor } : {}) });
      rooms.push(...page.rooms);
      cursor = page.cursor;
    } while (cursor);
    return rooms;
  };

  test("room after room is filled, and who dies on the way holds no seat for long", async (t) => {
    const cluster = await Cluster.start({ nodes: 3, shards: 2, flags: FLAGS });
    t.after(() => cluster.dispose());
    const seats = new Seats();

    const first = await gather(cluster.nodes, 240);
    (await placeAll(first)).forEach((placed) => seats.take(placed));
    assert.ok(seats.partFilled <= 1, `${seats.partFilled} rooms are part-filled`);

    const second = await gather(cluster.nodes, 150);
    const held = await placeAll(second, { reserve: true });
    const given = new Seats();
    held.forEach((place) => given.take(place));
    assert.ok(given.rooms.size <= Math.ceil(second.length / SIZE) + 1, "held seats count as taken");
    const dies = (index) => index % 3 === 0;
    second.filter((_, index) => dies(index)).forEach((player) => player.die());
    const join = (player, index) => (dies(index) ? [] : [ask(player, "join", { room: held[index].room.id })]);
    (await Promise.all(second.flatMap(join))).forEach((joined) => seats.take(joined));

    const alive = [...first, ...second.filter((_, index) => !dies(index))];
    for (const watcher of first.slice(0, cluster.nodes.length)) {
      await until("nobody but those who are there counts", async () => {
        const rooms = await listed(watcher);
        const sum = (field) => rooms.reduce((total, room) => total + room[field], 0);
        assert.ok(rooms.every((room) => room.players + room.free <= SIZE));
        return sum("players") === alive.length && sum("free") === rooms.length * SIZE - alive.length;
      });
    }
    const rooms = seats.rooms.size;
    const third = await gather(cluster.nodes, rooms * SIZE - seats.taken);
    (await placeAll(third)).forEach((placed) => seats.take(placed));
    assert.deepEqual([seats.rooms.size, seats.partFilled], [rooms, 0], "every seat of the dead is taken again");
  });
});

describe("the node that owns what others are in crashes", () => {
  /** Three nodes, on each of which lies what is made there: every one has its share. */
  const startWithShares = async (t, flags = {}) => {
    const cluster = await Cluster.start({ nodes: 3, shards: 2, flags });
    t.after(() => cluster.dispose());
    await cluster.shared();
    return cluster;
  };

  /** What a node had kept for its successor, so far. */
  const written = async (node) => (await metrics(node))("cluster_recovery_count");

  /** Resolves when what is so now was kept. `change` makes something else worth keeping. */
  const kept = async (node, change) => {
    const before = await written(node);
    await change(0);
    await until("it is kept", async () => (await written(node)) > before);
    // That may have been on its way before: what is written for the next change is not.
    const then = await written(node);
    await change(1);
    await until("it is kept", async () => (await written(node)) > then);
  };

  test("their party goes on, led by whom it was", async (t) => {
    const cluster = await startWithShares(t);
    const [one, two, owner] = cluster.nodes;
    const [ann, bob, dan] = await Promise.all([one, two, two].map((node) => Player.connect(node, "json")));
    const cid = await Player.connect(owner, "json");
    const { party_id: party } = await cid.socket.createParty(true, 4);
    for (const player of [ann, bob]) {
      await player.socket.joinParty(party);
    }
    const { self } = await ann.next("party");
    await cid.socket.promotePartyMember(party, self);
    assert.deepEqual((await bob.next("partyLeader")).presence, self);
    await kept(owner, (count) => (count ? dan.socket.leaveParty(party) : dan.socket.joinParty(party)));
    const presences = async (player, count) => {
      const seen = { came: [], went: [] };
      for (let event = 0; event < count; event += 1) {
        const { came, went } = cameAndWent(await player.next("partyPresence"));
        seen.came.push(...came);
        seen.went.push(...went);
      }
      return seen;
    };
    assert.deepEqual((await presences(bob, 3)).went, [dan.userId]);
    await presences(ann, 4);

    await owner.stop("SIGKILL");
    for (const player of [ann, bob]) {
      assert.deepEqual(await presences(player, 1), { came: [], went: [cid.userId] });
    }
    await bob.socket.sendPartyData(party, 1, "still here?");
    assert.equal(new TextDecoder().decode((await ann.next("partyData")).data), "still here?");
    await dan.socket.joinParty(party);
    assert.deepEqual((await dan.next("party")).leader, self);
    await ann.socket.closeParty(party);
    await Promise.all([bob, dan].map((player) => player.next("partyClose")));
    assert.deepEqual([ann, bob].map((player) => player.unread("partyLeader").length), [1, 0], "no other leads");
  });

  test("who queued is matched by the next owner of the matchmaker, alone or as a party", async (t) => {
    const flags = { "matchmaker.interval_ms": 1_000 };
    const cluster = await startWithShares(t, flags);
    const waiting = async (node) => (await metrics(node))("matchmaker_tickets");
    const probe = await Player.connect(cluster.nodes[0], "json");
    await probe.socket.addMatchmaker("+properties.nobody:1", 2, 2);
    let owner;
    await until("its owner counts the ticket", async () => {
      const counts = await Promise.all(cluster.nodes.map(waiting));
      owner = cluster.nodes[counts.indexOf(1)];
      return owner;
    });
    const [one, two] = cluster.nodes.filter((node) => node !== owner);

    const [ann, bob] = await Promise.all([Player.connect(one, "json"), Player.connect(two, "protobuf")]);
    const [cid, dan, eve] = await Promise.all([one, two, one].map((node) => Player.connect(node, "json")));
    const gone = await Player.connect(owner, "json");
    /** With others of the same topic. */
    const look = (player, topic, count) =>
      player.socket.addMatchmaker(`+properties.topic:${topic}`, count, count, { topic });
    const { ticket } = await look(ann, "duel", 2);
    await look(gone, "trio", 3);
    const { party_id: party } = await cid.socket.createParty(true, 2);
    await dan.socket.joinParty(party);
    await dan.next("party");
    const added = await cid.socket.addMatchmakerParty(party, "+properties.topic:trio", 3, 3, { topic: "trio" });
    await dan.next("partyTicket");

    await owner.stop("SIGKILL");
    await until("another owns the matchmaker", async () => {
      const resumed = await Promise.all([one, two].map(async (node) => (await metrics(node))("matchmaker_resumed_count")));
      return Math.max(...resumed) >= 2;
    });
    await look(bob, "duel", 2);
    await look(eve, "trio", 3);
    const duel = await Promise.all([ann, bob].map((player) => player.next("matched")));
    assert.equal(duel[0].ticket, ticket);
    assert.equal(duel[0].token, duel[1].token);
    const trio = await Promise.all([cid, dan, eve].map((player) => player.next("matched")));
    assert.deepEqual(trio.map((matched) => matched.ticket).slice(0, 2), [added.ticket, added.ticket]);
    assert.equal(new Set(trio.map((matched) => matched.token)).size, 1);
    const players = trio[0].users.map((user) => user.presence.user_id).sort();
    assert.deepEqual(players, [cid.userId, dan.userId, eve.userId].sort(), "nobody of the dead node");
    const all = [ann, bob, cid, dan, eve];
    assert.deepEqual(all.flatMap((player) => [...player.unread("matched"), ...player.unread("notification")]), []);
  });

  test("a room that is to survive goes on with its variables and seats; another ends, and they are told", async (t) => {
    const cluster = await startWithShares(t);
    // A user's rooms lie together, on any node.
    const maker = await Player.connect(cluster.nodes[0], "json");
    await ask(maker, "create", { capacity: 1 });
    let owner;
    await until("it is counted where it lies", async () => {
      const counts = await Promise.all(cluster.nodes.map(async (node) => (await metrics(node))("rooms")));
      owner = cluster.nodes[counts.indexOf(1)];
      return owner;
    });
    const [one, two] = cluster.nodes.filter((node) => node !== owner);
    const [ann, bob, dan] = await Promise.all([one, two, two].map((node) => Player.connect(node, "json")));
    const cid = await Player.connect(owner, "protobuf", { session: maker.session });
    const { room: short } = await ask(cid, "create", { capacity: 2 });
    await ask(ann, "join", { room: short.id });
    const { room } = await ask(cid, "create", { capacity: 4, recover: true });
    for (const player of [ann, bob]) {
      await ask(player, "join", { room: room.id });
    }
    await ask(bob, "set", { room: room.id, set: { score: 7 } });
    await kept(owner, (count) => ask(cid, "set_player", { room: room.id, set: { count } }));
    const seats = async (player) => {
      const { members } = await ask(player, "get", { room: room.id });
      return members.map((member) => [member.user_id, member.seat]);
    };
    assert.deepEqual(await seats(ann), [[cid.userId, 1], [ann.userId, 2], [bob.userId, 3]]);

    await owner.stop("SIGKILL");
    /** What a player is told by rooms until there is one of each of these kinds. */
    const told = async (player, ...kinds) => {
      const found = {};
      while (kinds.some((kind) => !found[kind])) {
        const { stream, data } = await player.next("streamData");
        const { type, ...rest } = JSON.parse(data);
        found[type] = { room: stream.subject, ...rest };
      }
      return found;
    };
    const { closed, updated } = await told(ann, "closed", "updated");
    assert.deepEqual(closed, { room: short.id, reason: "lost" });
    assert.deepEqual(updated.room.variables, { score: 7 });
    await told(bob, "updated");
    assert.deepEqual(await seats(bob), [[ann.userId, 2], [bob.userId, 3]]);
    assert.equal((await ask(bob, "get", { room: room.id })).room.owner, ann.userId);
    assert.equal((await ask(dan, "join", { room: room.id })).seat, 1, "the seat of who has gone");
    await ask(dan, "set", { room: room.id, set: { score: 8 } });
    assert.deepEqual((await told(ann, "variables")).variables.set, { score: 8 });
  });
});

test("matches of game code end with their node, and those of other nodes go on", async (t) => {
  const cluster = await Cluster.start({ nodes: 3, shards: 2, flags: { "runtime.path": MODULES } });
  t.after(() => cluster.dispose());
  const { nodes } = cluster;
  const [ann, bob] = await Promise.all([0, 1].map((index) => Player.connect(nodes[index], index ? "protobuf" : "json")));
  const text = ({ data }) => Buffer.from(data).toString();
  const join = async (player, id) => {
    await player.socket.joinMatch(id);
    assert.deepEqual(cameAndWent(await player.next("matchPresence")), { came: [player.userId], went: [] });
    const [node] = text(await player.next("matchData")).split(" ");
    return node;
  };
  const matchOf = {};
  for (let made = 0; made < MATCHES_MAX && Object.keys(matchOf).length < nodes.length; made += 1) {
    const { payload } = await ann.client.rpc(ann.session, "arena_create", {});
    const node = await join(ann, payload.id);
    if (matchOf[node]) {
      await ann.socket.leaveMatch(payload.id);
    }
    matchOf[node] ??= payload.id;
  }
  const { "node-0": near, "node-1": far, "node-2": lost } = matchOf;
  for (const id of [near, far, lost]) {
    await join(bob, id);
    assert.deepEqual(cameAndWent(await ann.next("matchPresence")), { came: [bob.userId], went: [] });
  }

  await nodes[2].stop("SIGKILL");
  for (const player of [ann, bob]) {
    const event = await player.next("matchPresence");
    assert.deepEqual([event.match_id, cameAndWent(event)], [lost, { came: [], went: [player.userId] }]);
  }
  await refusedWith(ann.socket.joinMatch(lost), MATCH_NOT_FOUND);
  for (const id of [near, far]) {
    await bob.socket.sendMatchState(id, SAY, "still here");
    for (const player of [ann, bob]) {
      const heard = await player.next("matchData");
      assert.deepEqual([heard.match_id, text(heard)], [id, "1 still here"]);
    }
  }
  assert.deepEqual([ann, bob].map((player) => player.unread("matchPresence")), [[], []], "each once");
});
