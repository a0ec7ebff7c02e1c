// The matchmaker: players who look for others of whom certain things hold.

import assert from "node:assert/strict";
import { test } from "node:test";

import { call, newId } from "./support/client.mjs";
import { onEveryServer } from "./support/matrix.mjs";
import { connectPlayers, FORMAT_ORDERS, isPresenceOf, refusedWith, userIds } from "./support/player.mjs";

const BAD_INPUT = 3;
const INTERVAL_SEC = 1;
const TICKETS_MAX = 3;

onEveryServer(
  "matchmaker",
  (holder) => {
    const each = (subject, run) => {
      for (const formats of FORMAT_ORDERS) {
        test(`${subject}: ${formats.join(" and ")}`, () => run(formats));
      }
    };
    /** A word of this test's own, so that tests never match each other's players. */
    const newTopic = () => `t${newId().replaceAll("-", "")}`;
    /** Looks for others who look for the same topic. */
    const look = (player, topic, { query = "", min = 2, max = 2, strings = {}, numbers = {} } = {}) =>
      player.socket.addMatchmaker(`+properties.topic:${topic} ${query}`, min, max, { topic, ...strings }, numbers);
    const matchedIds = (matched) => matched.users.map((user) => user.presence.user_id).sort();
    const idsOf = (players) => players.map((player) => player.userId).sort();

    each("two who look for each other are matched, and meet in a match", async (formats) => {
      const players = await connectPlayers(holder.server, formats, 2);
      const topic = newTopic();
      const strings = { region: "europe" };
      const tickets = await Promise.all(players.map((player) => look(player, topic, { strings, numbers: { rank: 4.5 } })));
      assert.notEqual(tickets[0].ticket, tickets[1].ticket);
      const matches = await Promise.all(players.map((player) => player.next("matched")));
      for (const [index, matched] of matches.entries()) {
        assert.equal(matched.ticket, tickets[index].ticket);
        assert.deepEqual(matchedIds(matched), idsOf(players));
        isPresenceOf(matched.self.presence, players[index]);
        assert.equal(matched.match_id ?? "", "");
        for (const user of matched.users) {
          assert.deepEqual(user.string_properties, { topic, region: "europe" });
          assert.deepEqual(user.numeric_properties, { rank: 4.5 });
          assert.equal(user.party_id ?? "", "");
        }
      }
      assert.equal(matches[0].token, matches[1].token);
      // Whoever comes first finds nobody, and gets in all the same.
      const first = await players[0].socket.joinMatch(undefined, matches[0].token);
      assert.deepEqual([first.size ?? 0, first.presences ?? []], [0, []]);
      const second = await players[1].socket.joinMatch(undefined, matches[1].token);
      assert.deepEqual([second.match_id, userIds(second.presences)], [first.match_id, [players[0].userId]]);
    });

    each("who does not fit waits for who does", async (formats) => {
      const [ann, bob, carl, dave] = await connectPlayers(holder.server, formats, 4);
      const topic = newTopic();
      const of = (region, rank) => ({ query: `+properties.region:${region} +properties.rank:>=5`, strings: { region }, numbers: { rank } });
      await look(ann, topic, of("europe", 5));
      await look(bob, topic, of("asia", 9));
      await look(carl, topic, of("europe", 7));
      assert.deepEqual(matchedIds(await ann.next("matched")), idsOf([ann, carl]));
      assert.deepEqual(matchedIds(await carl.next("matched")), idsOf([ann, carl]));
      assert.deepEqual(bob.unread("matched"), []);
      await look(dave, topic, of("asia", 6));
      assert.deepEqual(matchedIds(await bob.next("matched")), idsOf([bob, dave]));
    });

    each("fewer will do once more do not come", async (formats) => {
      const players = await connectPlayers(holder.server, formats, 3);
      const topic = newTopic();
      await Promise.all(players.map((player) => look(player, topic, { min: 2, max: 4 })));
      for (const player of players) {
        assert.deepEqual(matchedIds(await player.next("matched")), idsOf(players));
      }
    });

    test("groups are of multiples", async () => {
      const players = await connectPlayers(holder.server, ["json"], 5);
      const topic = newTopic();
      const matchmaker_add = {
        query: `+properties.topic:${topic}`, min_count: 2, max_count: 6, count_multiple: 2, string_properties: { topic },
      };
      await Promise.all(players.map((player) => player.socket.send({ matchmaker_add })));
      const matched = await Promise.any(players.map((player) => player.next("matched")));
      assert.equal(matched.users.length, 4);
    });

    each("a ticket that was withdrawn matches nobody", async (formats) => {
      const [ann, bob, carl] = await connectPlayers(holder.server, formats, 3);
      const topic = newTopic();
      const { ticket } = await look(ann, topic);
      await refusedWith(bob.socket.removeMatchmaker(ticket), BAD_INPUT);
      await ann.socket.removeMatchmaker(ticket);
      await refusedWith(ann.socket.removeMatchmaker(ticket), BAD_INPUT);
      await look(bob, topic);
      await look(carl, topic);
      assert.deepEqual(matchedIds(await bob.next("matched")), idsOf([bob, carl]));
      assert.deepEqual(ann.unread("matched"), []);
    });

    each("whoever goes takes its tickets along", async (formats) => {
      const [ann, bob, carl] = await connectPlayers(holder.server, formats, 3);
      const topic = newTopic();
      await look(ann, topic);
      ann.disconnect();
      await look(bob, topic, { min: 2, max: 3 });
      await look(carl, topic, { min: 2, max: 3 });
      assert.deepEqual(matchedIds(await bob.next("matched")), idsOf([bob, carl]));
    });

    each("a player is in one match of several that it looked for", async (formats) => {
      const [ann, bob] = await connectPlayers(holder.server, formats, 2);
      const topics = [newTopic(), newTopic()];
      const tickets = [];
      for (const topic of topics) {
        tickets.push((await look(ann, topic)).ticket);
      }
      await look(bob, topics[1]);
      assert.equal((await ann.next("matched")).ticket, tickets[1]);
    });

    each("what is malformed or too much is refused", async (formats) => {
      const [ann] = await connectPlayers(holder.server, formats, 1);
      await refusedWith(ann.socket.addMatchmaker("*", 1, 2), BAD_INPUT);
      await refusedWith(ann.socket.addMatchmaker("*", 3, 2), BAD_INPUT);
      await refusedWith(ann.socket.removeMatchmaker(""), BAD_INPUT);
      await refusedWith(ann.socket.removeMatchmaker(newId()), BAD_INPUT);
      const topic = newTopic();
      for (let ticket = 0; ticket < TICKETS_MAX; ticket += 1) {
        await look(ann, topic);
      }
      const refusal = await look(ann, topic).then(() => assert.fail("a ticket too many"), (error) => error);
      assert.equal(typeof refusal.message, "string");
    });

    test("multiples must divide", async () => {
      const [ann] = await connectPlayers(holder.server, ["json"], 1);
      for (const [min_count, max_count, count_multiple] of [[2, 4, 0], [3, 4, 2], [2, 3, 2], [2, 4, -2]]) {
        const matchmaker_add = { query: "*", min_count, max_count, count_multiple };
        await refusedWith(ann.socket.send({ matchmaker_add }), BAD_INPUT);
      }
    });

    test("a party is matched as one", async () => {
      const [ann, bob, carl] = await connectPlayers(holder.server, ["json"], 3);
      const topic = newTopic();
      const { party_id } = await ann.socket.createParty(true, 4);
      await bob.socket.joinParty(party_id);
      await bob.next("party");
      const query = `+properties.topic:${topic}`;
      await refusedWith(bob.socket.addMatchmakerParty(party_id, query, 3, 3, { topic }), BAD_INPUT);
      const added = await ann.socket.addMatchmakerParty(party_id, query, 3, 3, { topic });
      assert.equal(added.party_id, party_id);
      const told = await bob.next("partyTicket");
      assert.deepEqual([told.party_id, told.ticket], [party_id, added.ticket]);
      await look(carl, topic, { min: 3, max: 3 });
      for (const player of [ann, bob]) {
        const matched = await player.next("matched");
        assert.equal(matched.ticket, added.ticket);
        assert.deepEqual(matchedIds(matched), idsOf([ann, bob, carl]));
        const parties = Object.fromEntries(matched.users.map((user) => [user.presence.user_id, user.party_id ?? ""]));
        assert.deepEqual(parties, { [ann.userId]: party_id, [bob.userId]: party_id, [carl.userId]: "" });
      }
      assert.deepEqual(matchedIds(await carl.next("matched")), idsOf([ann, bob, carl]));
    });

    test("a party whose members change looks no more", async () => {
      const [ann, bob, carl, dave] = await connectPlayers(holder.server, ["json"], 4);
      const topic = newTopic();
      const { party_id } = await ann.socket.createParty(true, 4);
      const query = `+properties.topic:${topic}`;
      await refusedWith(ann.socket.addMatchmakerParty(party_id, "*", 1, 2), BAD_INPUT);
      const first = await ann.socket.addMatchmakerParty(party_id, query, 2, 2, { topic });
      await refusedWith(bob.socket.removeMatchmakerParty(party_id, first.ticket), BAD_INPUT);
      await ann.socket.removeMatchmakerParty(party_id, first.ticket);
      await refusedWith(ann.socket.removeMatchmakerParty(party_id, first.ticket), BAD_INPUT);
      const second = await ann.socket.addMatchmakerParty(party_id, query, 2, 2, { topic });
      await bob.socket.joinParty(party_id);
      await refusedWith(ann.socket.removeMatchmakerParty(party_id, second.ticket), BAD_INPUT);
      await look(carl, topic);
      await look(dave, topic);
      assert.deepEqual(matchedIds(await carl.next("matched")), idsOf([carl, dave]));
    });

    test("a player learns why a ticket waits", async () => {
      const [ann, bob] = await connectPlayers(holder.server, ["json"], 2);
      const topic = newTopic();
      const { ticket } = await look(ann, topic, { query: "+properties.region:europe", strings: { region: "europe" } });
      const other = await look(bob, topic, { strings: { region: "asia" } });
      const explain = async (player) =>
        JSON.parse((await player.socket.rpc("muster.matchmaker.explain", JSON.stringify({ ticket }))).payload);
      const why = await explain(ann);
      assert.deepEqual([why.players, why.players_needed, why.players_found], [1, 2, 0]);
      const near = why.closest.find((closest) => closest.ticket === other.ticket);
      assert.deepEqual(near.obstacles.map((obstacle) => [obstacle.kind, obstacle.of]), [["term", ticket]]);
      assert.match(near.obstacles[0].term, /region:europe/);
      assert.match(near.obstacles[0].text, /asia/);
      // A ticket is its player's own business.
      await assert.rejects(explain(bob), (error) => error.code !== undefined);
    });

    test("a ticket widens while it waits", async () => {
      const [ann, bob] = await connectPlayers(holder.server, ["json"], 2);
      const topic = newTopic();
      const ticket = {
        min_count: 2,
        max_count: 2,
        query: `+properties.topic:${topic} +properties.rank:>=100 +properties.rank:<=110`,
        string_properties: { topic },
        numeric_properties: { rank: 105 },
        widening: [{ field: "properties.rank", step: 20, limit: 60 }],
      };
      await ann.socket.rpc("muster.matchmaker.add", JSON.stringify(ticket));
      await look(bob, topic, { numbers: { rank: 150 } });
      assert.deepEqual(matchedIds(await ann.next("matched")), idsOf([ann, bob]));
    });

    test("a server brings a ticket for its users and may take it back", async () => {
      const [ann, bob] = await connectPlayers(holder.server, ["json"], 2);
      const topic = newTopic();
      const rpc = (id, body) =>
        call(holder.server, "POST", `/v2/rpc/${id}?unwrap=true&http_key=defaulthttpkey`, { body });
      const ticket = { min_count: 2, max_count: 2, query: `+properties.topic:${topic}`, string_properties: { topic } };
      const owned = { ...ticket, owner: "events", users: [ann.userId] };
      const withdrawn = await rpc("muster.matchmaker.add", owned);
      assert.equal(withdrawn.status, 200);
      const named = { owner: "events", ticket: withdrawn.json.ticket };
      assert.equal((await rpc("muster.matchmaker.remove", named)).status, 200);
      assert.equal((await rpc("muster.matchmaker.remove", named)).status, 404);
      assert.equal((await rpc("muster.matchmaker.add", { ...owned, owner: "" })).status, 400);
      assert.equal((await rpc("muster.matchmaker.add", { ...owned, users: [newId()] })).status, 404);
      const added = await rpc("muster.matchmaker.add", owned);
      const own = await look(bob, topic);
      const matched = await ann.next("matched");
      assert.equal(matched.ticket, added.json.ticket);
      assert.deepEqual(matchedIds(matched), idsOf([ann, bob]));
      assert.equal((await bob.next("matched")).ticket, own.ticket);
    });

    test("players ask how busy the matchmaker is", async () => {
      const [ann] = await connectPlayers(holder.server, ["json"], 1);
      await look(ann, newTopic());
      const { status, json } = await call(holder.server, "GET", "/v2/matchmaker/stats", { token: ann.session.token });
      assert.equal(status, 200);
      assert.ok(json.ticket_count >= 1, JSON.stringify(json));
    });
  },
  { "matchmaker.interval_sec": INTERVAL_SEC },
);
