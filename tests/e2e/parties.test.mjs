// Parties: players who stay together, led by one of them.
//
// In JSON: the client's protobuf adapter (1.4.0) knows only an older form of the `party` message, with other field
// numbers than the protocol has now. What that form is in bytes is tested without it.

import assert from "node:assert/strict";
import { test } from "node:test";

import { call, isRefusal, newId } from "./support/client.mjs";
import { onEveryServer } from "./support/matrix.mjs";
import { cameAndWent, connectPlayers, isPresenceOf, list, refusedWith, userIds } from "./support/player.mjs";
import { RawSocket } from "./support/raw-socket.mjs";

const BAD_INPUT = 3;
const PARTY_ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\.[^.]+$/;
const PARTY_SIZE_MAX = 256;
const LABEL_BYTES_MAX = 2048;

onEveryServer("parties", (holder) => {
  const connect = (count) => connectPlayers(holder.server, ["json"], count);

  /** Players in an open party, who have seen each other come; with how each is shown to the others. */
  const inParty = async (count, maxSize = 10) => {
    const players = await connect(count);
    const party = await players[0].socket.createParty(true, maxSize);
    await players[0].next("partyPresence");
    const selves = [party.self];
    for (const [index, player] of players.entries()) {
      if (index > 0) {
        await player.socket.joinParty(party.party_id);
        selves.push((await player.next("party")).self);
        await Promise.all(players.slice(0, index + 1).map((present) => present.next("partyPresence")));
      }
    }
    return { players, id: party.party_id, selves };
  };
  const text = (data) => Buffer.from(data ?? []).toString();

  test("whoever creates a party leads it", async () => {
    const [ann] = await connect(1);
    const party = await ann.socket.createParty(true, 3);
    assert.match(party.party_id, PARTY_ID);
    assert.deepEqual([party.open, party.max_size], [true, 3]);
    isPresenceOf(party.self, ann);
    assert.deepEqual(party.leader, party.self);
    assert.deepEqual(party.presences, [party.self]);
    const own = await ann.next("partyPresence");
    assert.deepEqual([own.party_id, cameAndWent(own)], [party.party_id, { came: [ann.userId], went: [] }]);
  });

  test("an open party is joined directly, until it is full", async () => {
    const [ann, bob, carl] = await connect(3);
    const { party_id, self: leader } = await ann.socket.createParty(true, 2);
    await ann.next("partyPresence");
    await bob.socket.joinParty(party_id);
    const joined = await bob.next("party");
    assert.deepEqual([joined.party_id, joined.open, joined.max_size], [party_id, true, 2]);
    isPresenceOf(joined.self, bob);
    assert.deepEqual(joined.leader, leader);
    assert.deepEqual(userIds(joined.presences), [ann.userId, bob.userId]);
    for (const player of [ann, bob]) {
      assert.deepEqual(cameAndWent(await player.next("partyPresence")), { came: [bob.userId], went: [] });
    }
    await refusedWith(carl.socket.joinParty(party_id), BAD_INPUT);
    await bob.socket.leaveParty(party_id);
    assert.deepEqual(cameAndWent(await ann.next("partyPresence")), { came: [], went: [bob.userId] });
    await carl.socket.joinParty(party_id);
    assert.deepEqual(userIds((await carl.next("party")).presences), [ann.userId, carl.userId]);
    assert.deepEqual([bob.unread("partyPresence"), bob.unread("partyClose")], [[], []]);
  });

  test("many come at once for the last seats", async () => {
    const [ann, ...others] = await connect(9);
    const { party_id } = await ann.socket.createParty(true, 4);
    const outcomes = await Promise.allSettled(others.map((player) => player.socket.joinParty(party_id)));
    const refusals = outcomes.filter((outcome) => outcome.status === "rejected");
    assert.deepEqual(refusals.map((refusal) => refusal.reason.code), Array(5).fill(BAD_INPUT));
    const came = [];
    while (came.length < 4) {
      came.push(...userIds((await ann.next("partyPresence")).joins));
    }
    const joined = others.filter((_, index) => outcomes[index].status === "fulfilled");
    assert.deepEqual(came.slice().sort(), [ann, ...joined].map((player) => player.userId).sort());
  });

  test("the leader of a closed party decides who comes in", async () => {
    const [ann, bob, carl, dave] = await connect(4);
    const { party_id } = await ann.socket.createParty(false, 2);
    await ann.next("partyPresence");
    await bob.socket.joinParty(party_id);
    const asked = await ann.next("partyJoinRequest");
    assert.deepEqual([asked.party_id, userIds(asked.presences)], [party_id, [bob.userId]]);
    isPresenceOf(asked.presences[0], bob);
    await refusedWith(bob.socket.joinParty(party_id), BAD_INPUT);
    await carl.socket.joinParty(party_id);
    const [wishOfCarl] = (await ann.next("partyJoinRequest")).presences;
    // As many may wait as there are seats.
    await refusedWith(dave.socket.joinParty(party_id), BAD_INPUT);

    await refusedWith(bob.socket.listPartyJoinRequests(party_id), BAD_INPUT);
    const waiting = await ann.socket.listPartyJoinRequests(party_id);
    assert.deepEqual([waiting.party_id, userIds(waiting.presences)], [party_id, [bob.userId, carl.userId]]);
    await refusedWith(carl.socket.acceptPartyMember(party_id, wishOfCarl), BAD_INPUT);

    await ann.socket.acceptPartyMember(party_id, asked.presences[0]);
    const joined = await bob.next("party");
    assert.deepEqual([joined.open ?? false, userIds(joined.presences)], [false, [ann.userId, bob.userId]]);
    for (const player of [ann, bob]) {
      assert.deepEqual(cameAndWent(await player.next("partyPresence")), { came: [bob.userId], went: [] });
    }
    await refusedWith(ann.socket.acceptPartyMember(party_id, wishOfCarl), BAD_INPUT);
    await ann.socket.removePartyMember(party_id, wishOfCarl);
    assert.deepEqual(list((await ann.socket.listPartyJoinRequests(party_id)).presences), []);
    await refusedWith(ann.socket.removePartyMember(party_id, wishOfCarl), BAD_INPUT);
  });

  test("requests wait for the next leader, and end with those who made them", async () => {
    const [ann, bob, carl, dave] = await connect(4);
    const { party_id: id } = await ann.socket.createParty(false, 4);
    await bob.socket.joinParty(id);
    await ann.socket.acceptPartyMember(id, (await ann.next("partyJoinRequest")).presences[0]);
    await bob.next("partyPresence");
    await carl.socket.joinParty(id);
    await dave.socket.joinParty(id);
    await ann.next("partyJoinRequest");
    await ann.next("partyJoinRequest");
    dave.disconnect();
    ann.disconnect();
    assert.deepEqual((await bob.next("partyLeader")).presence.user_id, bob.userId);
    await bob.next("partyPresence");
    const { presences } = await bob.socket.listPartyJoinRequests(id);
    assert.deepEqual(userIds(presences), [carl.userId]);
    await bob.socket.acceptPartyMember(id, presences[0]);
    assert.equal((await carl.next("party")).leader.user_id, bob.userId);
  });

  test("leadership is given on, and passes to the oldest member", async () => {
    const { players, id, selves } = await inParty(4);
    const [ann, bob, carl, dave] = players;
    await refusedWith(bob.socket.promotePartyMember(id, selves[1]), BAD_INPUT);
    await refusedWith(ann.socket.promotePartyMember(id, { ...selves[2], session_id: newId() }), BAD_INPUT);
    await ann.socket.promotePartyMember(id, selves[2]);
    for (const player of players) {
      const { party_id, presence } = await player.next("partyLeader");
      assert.deepEqual([party_id, presence.user_id], [id, carl.userId]);
    }
    await refusedWith(ann.socket.promotePartyMember(id, selves[0]), BAD_INPUT);
    carl.disconnect();
    for (const player of [ann, bob, dave]) {
      assert.equal((await player.next("partyLeader")).presence.user_id, ann.userId);
      assert.deepEqual(cameAndWent(await player.next("partyPresence")), { came: [], went: [carl.userId] });
    }
    await ann.socket.leaveParty(id);
    for (const player of [bob, dave]) {
      assert.equal((await player.next("partyLeader")).presence.user_id, bob.userId);
    }
  });

  test("members are put out by their leader", async () => {
    const { players, id, selves } = await inParty(3);
    const [ann, bob, carl] = players;
    await refusedWith(bob.socket.removePartyMember(id, selves[2]), BAD_INPUT);
    await refusedWith(ann.socket.removePartyMember(id, selves[0]), BAD_INPUT);
    await ann.socket.removePartyMember(id, selves[1]);
    assert.equal((await bob.next("partyClose")).party_id, id);
    for (const player of [ann, carl]) {
      assert.deepEqual(cameAndWent(await player.next("partyPresence")), { came: [], went: [bob.userId] });
    }
    await bob.socket.joinParty(id);
    assert.deepEqual(userIds((await bob.next("party")).presences), [ann.userId, carl.userId, bob.userId]);
  });

  test("a party is closed for all", async () => {
    const { players, id } = await inParty(3);
    const [ann, bob, carl] = players;
    await refusedWith(bob.socket.closeParty(id), BAD_INPUT);
    await ann.socket.closeParty(id);
    for (const player of players) {
      assert.equal((await player.next("partyClose")).party_id, id);
      assert.deepEqual(player.unread("partyPresence"), []);
    }
    await refusedWith(carl.socket.joinParty(id), BAD_INPUT);
    await refusedWith(ann.socket.closeParty(id), BAD_INPUT);
  });

  test("an empty party is gone", async () => {
    const { players, id } = await inParty(2);
    const [ann, bob] = players;
    await ann.socket.leaveParty(id);
    await bob.next("partyLeader");
    await bob.socket.leaveParty(id);
    await refusedWith(ann.socket.joinParty(id), BAD_INPUT);
    // Leaving where one is not is nothing.
    await ann.socket.leaveParty(id);
  });

  test("data goes to the others", async () => {
    const { players, id } = await inParty(3);
    const [ann, bob, carl] = players;
    await ann.socket.sendPartyData(id, 7, "from ann");
    for (const player of [bob, carl]) {
      const { party_id, op_code, data, presence } = await player.next("partyData");
      assert.deepEqual([party_id, op_code, text(data)], [id, 7, "from ann"]);
      isPresenceOf(presence, ann);
    }
    await bob.socket.sendPartyData(id, -1, new Uint8Array([0, 255]));
    // Had Ann's data come back to her, it would come first.
    for (const player of [ann, carl]) {
      const { op_code, data } = await player.next("partyData");
      assert.deepEqual([op_code, [...data]], [-1, [0, 255]]);
    }
  });

  test("data is answered, and refused of those who are not members", async () => {
    const { players, id } = await inParty(2);
    const [ann] = players;
    const [outsider] = await connect(1);
    const socket = await RawSocket.open(holder.server, `token=${outsider.session.token}`);
    const send = (party_id, op_code) => socket.ask({ cid: "d", party_data_send: { party_id, op_code, data: "eA==" } });
    for (const party_id of [id, `${newId()}.${id.split(".")[1]}`, `${id.split(".")[0]}.elsewhere`, "nonsense"]) {
      const { cid, error } = await send(party_id, "1");
      assert.deepEqual([cid, error.code], ["d", BAD_INPUT], party_id);
    }
    socket.send(JSON.stringify({ cid: "j", party_join: { party_id: id } }));
    const answers = [];
    while (!answers.some((answer) => answer.cid === "j") || !answers.some((answer) => answer.party_presence_event)) {
      answers.push(JSON.parse(await socket.next()));
    }
    assert.deepEqual(answers.find((answer) => answer.cid === "j"), { cid: "j" });
    for (const op_code of ["9223372036854775807", "-9223372036854775808"]) {
      assert.deepEqual(await send(id, op_code), { cid: "d" });
      await ann.next("partyData");
    }
    socket.close();
  });

  test("a leader changes what the party is, and all are told", async () => {
    const { players, id } = await inParty(1);
    const [ann] = players;
    const [watcher] = await connect(1);
    const socket = await RawSocket.open(holder.server, `token=${watcher.session.token}`);
    const update = (party_update) => ({ cid: "u", party_update: { party_id: id, ...party_update } });
    assert.equal((await socket.ask(update({ open: false }))).error.code, BAD_INPUT);
    socket.send(JSON.stringify({ party_join: { party_id: id } }));
    for (let told = 0; told < 3; told += 1) {
      await socket.next();
    }
    const label = JSON.stringify({ mode: "ranked", level: 7 });
    await ann.socket.send(update({ open: false, label }));
    assert.deepEqual(JSON.parse(await socket.next()), { party_update: { party_id: id, label } });
    for (const wrong of [{ hidden: true, label }, { label: "[]" }, { label: "{" }, { label: longLabel(LABEL_BYTES_MAX + 1) }]) {
      await refusedWith(ann.socket.send(update(wrong)), BAD_INPUT);
    }
    await ann.socket.send(update({ hidden: true, label: "{}" }));
    assert.deepEqual(JSON.parse(await socket.next()), { party_update: { party_id: id, hidden: true, label: "{}" } });
    // It is closed now: who comes has to wait.
    const [bob] = await connect(1);
    await bob.socket.joinParty(id);
    assert.deepEqual(userIds((await ann.next("partyJoinRequest")).presences), [bob.userId]);
    socket.close();
  });

  test("the message of a party has the fields that the protocol gives it", async () => {
    const [ann] = await connect(1);
    const socket = await RawSocket.open(holder.server, `token=${ann.session.token}&format=protobuf`);
    // cid (1) "7"; party_create (35): open (1), max_size (2) 200, label (3) "{}".
    socket.send(Buffer.from([0x0a, 1, 0x37, 0x9a, 0x02, 9, 0x08, 1, 0x10, 0xc8, 1, 0x1a, 2, 0x7b, 0x7d]));
    const frames = [protobufFields(await socket.next()), protobufFields(await socket.next())];
    const reply = frames.find((frame) => frame[1]);
    assert.deepEqual([String(reply[1]), Object.keys(reply)], ["7", ["1", "34"]]);
    const party = protobufFields(reply[34]);
    const { [5]: self, [6]: leader, [7]: member, ...rest } = party;
    assert.match(String(rest[1]), PARTY_ID);
    assert.deepEqual([rest[2], rest[3], rest[4], String(rest[8])], [1, undefined, 200, "{}"]);
    assert.deepEqual([String(protobufFields(self)[1]), String(protobufFields(self)[3])], [ann.userId, ann.username]);
    assert.deepEqual([leader, member], [self, self]);
    const event = protobufFields(frames.find((frame) => !frame[1])[50]);
    assert.equal(String(protobufFields(event[2])[1]), ann.userId);
    socket.close();
  });

  test("what is malformed is refused", async () => {
    const [ann] = await connect(1);
    await refusedWith(ann.socket.createParty(true, -1), BAD_INPUT);
    await refusedWith(ann.socket.createParty(true, PARTY_SIZE_MAX + 1), BAD_INPUT);
    assert.equal((await ann.socket.createParty(true, PARTY_SIZE_MAX)).max_size, PARTY_SIZE_MAX);
    const { party_id, self } = await ann.socket.createParty(true, 2);
    for (const id of ["nonsense", newId(), "nonsense.x", `${newId()}.${party_id.split(".")[1]}`]) {
      await refusedWith(ann.socket.joinParty(id), BAD_INPUT);
      await refusedWith(ann.socket.closeParty(id), BAD_INPUT);
      await refusedWith(ann.socket.listPartyJoinRequests(id), BAD_INPUT);
      await refusedWith(ann.socket.promotePartyMember(id, self), BAD_INPUT);
      await refusedWith(ann.socket.acceptPartyMember(id, self), BAD_INPUT);
      await refusedWith(ann.socket.removePartyMember(id, self), BAD_INPUT);
    }
    await refusedWith(ann.socket.leaveParty("nonsense"), BAD_INPUT);
    for (const wrong of [undefined, {}, { ...self, user_id: "" }, { ...self, session_id: "" }, { ...self, username: "" }]) {
      await refusedWith(ann.socket.promotePartyMember(party_id, wrong), BAD_INPUT);
      await refusedWith(ann.socket.acceptPartyMember(party_id, wrong), BAD_INPUT);
      await refusedWith(ann.socket.removePartyMember(party_id, wrong), BAD_INPUT);
    }
  });

  test("parties are found by what their leaders say of them", async () => {
    const [ann, bob] = await connect(2);
    const topic = `t${newId().replaceAll("-", "")}`;
    const create = async (player, party_create) => (await player.socket.send({ party_create })).party;
    const find = async (query) => {
      const answer = await call(holder.server, "GET", `/v2/party?${new URLSearchParams(query)}`, { token: bob.session.token });
      assert.equal(answer.status, 200, answer.text);
      return { ids: (answer.json.parties ?? []).map((party) => party.party_id), ...answer.json };
    };
    const label = (level) => JSON.stringify({ topic, level });
    const low = await create(ann, { open: true, max_size: 5, label: label(1) });
    const high = await create(ann, { open: false, max_size: 6, label: label(9) });
    await create(ann, { open: true, max_size: 7, hidden: true });
    const plain = await create(ann, { open: true, max_size: 8 });
    assert.equal(low.label, label(1));

    const all = await find({ query: `+label.topic:${topic}` });
    assert.deepEqual(all.ids, [low.party_id, high.party_id]);
    assert.deepEqual(all.parties[0], { party_id: low.party_id, open: true, max_size: 5, label: label(1) });
    assert.deepEqual(all.parties[1], { party_id: high.party_id, max_size: 6, label: label(9) });
    assert.deepEqual((await find({ query: `+label.topic:${topic} +label.level:>=5` })).ids, [high.party_id]);
    assert.deepEqual((await find({ query: `+label.topic:${topic}`, open: true })).ids, [low.party_id]);
    assert.deepEqual((await find({ query: `+label.topic:${topic}`, open: false })).ids, [high.party_id]);
    assert.ok((await find({ limit: 100 })).ids.includes(plain.party_id));

    // Page by page.
    const first = await find({ query: `+label.topic:${topic}`, limit: 1 });
    assert.deepEqual(first.ids, [low.party_id]);
    const second = await find({ query: `+label.topic:${topic}`, limit: 1, cursor: first.cursor });
    assert.deepEqual([second.ids, second.cursor ?? ""], [[high.party_id], ""]);

    // Changes are seen at once.
    const party_update = { party_id: low.party_id, open: false, label: label(7) };
    await ann.socket.send({ party_update });
    assert.deepEqual((await find({ query: `+label.topic:${topic} +label.level:7` })).ids, [low.party_id]);
    await ann.socket.send({ party_update: { ...party_update, label: "", hidden: true } });
    await ann.socket.closeParty(high.party_id);
    assert.deepEqual((await find({ query: `+label.topic:${topic}` })).ids, []);

    for (const wrong of [{ limit: 0 }, { limit: 101 }, { cursor: "nonsense" }, { query: '+label.a:"x' }]) {
      const answer = await call(holder.server, "GET", `/v2/party?${new URLSearchParams(wrong)}`, { token: bob.session.token });
      isRefusal(answer, 400, 3);
    }
  });
});

/** A label of exactly so many bytes. */
const longLabel = (bytes) => JSON.stringify({ a: "x".repeat(bytes - 8) });

/** The fields of a protobuf message by their numbers: numbers, or the bytes of texts and messages. */
function protobufFields(bytes) {
  const fields = {};
  let at = 0;
  const varint = () => {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = bytes[at++];
      value += (byte & 0x7f) * 2 ** shift;
      if (byte < 0x80) {
        return value;
      }
    }
  };
  while (at < bytes.length) {
    const tag = varint();
    const value = varint();
    const isLength = (tag & 7) === 2;
    fields[tag >> 3] = isLength ? bytes.subarray(at, at + value) : value;
    at += isLength ? value : 0;
  }
  return fields;
}
