// Several nodes as one, and what players see when one of them goes.

import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { clientOf, refused } from "./support/client.mjs";
import { Cluster } from "./support/cluster.mjs";
import { Line } from "./support/line.mjs";
import {
  hear,
  inOneRoom,
  joinRoom,
  metrics,
  RUNTIME_EXCEPTION,
  until,
} from "./support/nodes.mjs";
import { cameAndWent, Player, refusedWith } from "./support/player.mjs";

/** What match data says. */
const text = ({ data }) => new TextDecoder().decode(data);

describe("a cluster of three nodes", () => {
  const start = async (t) => {
    const cluster = await Cluster.start({ nodes: 3, shards: 2 });
    t.after(() => cluster.dispose());
    return cluster;
  };

  for (const index of [0, 1, 2]) {
    test(`players of node ${index}, which crashes, leave once`, async (t) => {
      const { nodes } = await start(t);
      const { players, channel } = await inOneRoom(nodes);
      await hear(players[index], players, channel, "still here");
      await nodes[index].stop("SIGKILL");
      const stay = players.filter((_, of) => of !== index);
      for (const player of stay) {
        assert.deepEqual(cameAndWent(await player.next("channelPresence")), { came: [], went: [players[index].userId] });
      }
      await hear(stay[0], stay, channel, "anybody?");
      await hear(stay[1], stay, channel, "me");
      assert.deepEqual(stay.map((player) => player.unread("channelPresence")), [[], []], "once");
    });
  }

  test("each node tells who is there and what it owns", async (t) => {
    const { nodes } = await start(t);
    const { players, channel } = await inOneRoom(nodes);
    await hear(players[1], players, channel, "across");
    const linked = async (node) => (await metrics(node))("cluster_links") === 2;
    await until("all are linked", async () => (await Promise.all(nodes.map(linked))).every(Boolean));
    // While something moves, each tells of another moment.
    const owned = async (node) => (await metrics(node))("cluster_partitions");
    const sum = async () => (await Promise.all(nodes.map(owned))).reduce((sum, count) => sum + count);
    await until("everything has one owner", async () => (await sum()) === 1024);
    const pages = await Promise.all(nodes.map((node) => metrics(node)));
    const all = (name) => pages.map((page) => page(name));
    assert.deepEqual(all("cluster_nodes"), [3, 3, 3]);
    assert.deepEqual(all("cluster_online"), [1, 1, 1]);
    assert.equal(new Set(all("cluster_node_number")).size, 3);
  });

  test("a busy node gives part of what it owns to others, and nobody notices", async (t) => {
    // Whatever it does is too much for the last.
    const of = (index) => ({ "cluster.busy_percent": index === 2 ? 1 : 0 });
    const cluster = await Cluster.start({ nodes: 3, shards: 2, of });
    t.after(() => cluster.dispose());
    const { nodes } = cluster;
    const { players, channel } = await inOneRoom(nodes);
    const has = async (node) => (await metrics(node))("cluster_partitions");
    let line = 0;
    // On its way to its share a node has as little for a moment, when the others do not have theirs yet.
    await until("the last owns less than a third, and the others the rest", async () => {
      line += 1;
      await hear(players[2], players, channel, `line ${line}`);
      const owned = await Promise.all(nodes.map(has));
      const isShared = Math.min(owned[0], owned[1]) > 340 && owned[0] + owned[1] + owned[2] === 1024;
      return isShared && owned[2] > 250 && owned[2] <= 300 && (await metrics(nodes[2]))("cluster_busy") === 1;
    });
  });

  test("who logs out on one node is out on the others", async (t) => {
    const { nodes } = await start(t);
    const player = await Player.connect(nodes[0], "json");
    const elsewhere = await Player.connect(nodes[1], "protobuf", { session: player.session });
    await player.client.sessionLogout(player.session, player.session.token, player.session.refresh_token);
    await Promise.all([player.disconnected, elsewhere.disconnected]);
    await refused(clientOf(nodes[1]).getAccount(player.session), 401, 16);
  });

  test("a node that stands still is left out, and joins again when it goes on", async (t) => {
    const { nodes } = await start(t);
    const { players, channel, name } = await inOneRoom(nodes);
    const [ann, bob, cid] = players;
    process.kill(nodes[2].pid, "SIGSTOP");
    for (const player of [ann, bob]) {
      assert.deepEqual(cameAndWent(await player.next("channelPresence")), { came: [], went: [cid.userId] });
    }
    process.kill(nodes[2].pid, "SIGCONT");
    await cid.disconnected;
    await nodes[2].ready();
    const back = await Player.connect(nodes[2], "json", { session: cid.session });
    await joinRoom(back, name);
    for (const player of [ann, bob, back]) {
      assert.deepEqual(cameAndWent(await player.next("channelPresence")), { came: [cid.userId], went: [] });
    }
    await hear(back, [ann, bob, back], channel, "back");
    await hear(ann, [ann, bob, back], channel, "welcome");
  });

  test("nodes that lose the bus go on where they own, refuse what is new, and find each other again", async (t) => {
    const bus = await Line.start(process.env.MUSTER_TEST_NATS);
    t.after(() => bus.stop());
    const cluster = await Cluster.start({ nodes: 2, shards: 2, nats: bus.url });
    t.after(() => cluster.dispose());
    // Whoever came first owns what is made.
    const isOwner = async (node) => (await metrics(node))("cluster_partitions") > 0;
    const [one, two] = cluster.nodes;
    const [first, second] = (await isOwner(one)) ? [one, two] : [two, one];
    const [ann, bob] = [await Player.connect(first, "json"), await Player.connect(first, "protobuf")];
    const cid = await Player.connect(second, "json");
    const { match_id: id } = await ann.socket.createMatch();
    for (const player of [bob, cid]) {
      await player.socket.joinMatch(id);
    }
    bus.cut();
    await Promise.all(cluster.nodes.map((node) => node.logged("is an island")));
    for (const player of [ann, cid]) {
      const refused = await refusedWith(player.socket.createParty(true, 4), RUNTIME_EXCEPTION);
      assert.match(refused.message, /lost its cluster for now/);
      await refusedWith(player.socket.addMatchmaker("*", 2, 2), RUNTIME_EXCEPTION);
    }
    await ann.socket.sendMatchState(id, 1, "among ourselves");
    assert.equal(text(await bob.next("matchData")), "among ourselves");
    bus.mend();
    await Promise.all(cluster.nodes.map((node) => node.logged("connected to the cluster again")));
    assert.equal((await cid.socket.createParty(true, 4)).presences.length, 1);
  });

  test("a node that is told to stop says goodbye for its players", async (t) => {
    const { nodes } = await start(t);
    const { players, channel } = await inOneRoom(nodes);
    await nodes[0].stop();
    const [gone, ...stay] = players;
    for (const player of stay) {
      assert.deepEqual(cameAndWent(await player.next("channelPresence")), { came: [], went: [gone.userId] });
    }
    await hear(stay[0], stay, channel, "anybody?");
  });
});
