// A crowd that wants to come into a match with four seats, whose handler counts its players when they have joined.

import assert from "node:assert/strict";

import { connectPlayers, FORMAT_ORDERS } from "./player.mjs";

const CROWD = 40;
const SEATS = 4;
const MATCH_JOIN_REJECTED = 5;

/** Has all players of a crowd join the match at once: as many are let in as there are seats, the others are refused. */
export async function fillSeats(server, create) {
  const players = await connectPlayers(server, FORMAT_ORDERS[0], CROWD);
  const { payload } = await players[0].client.rpc(players[0].session, ...create);
  const joins = await Promise.allSettled(players.map((player) => player.socket.joinMatch(payload.id)));
  const refusals = joins.filter(({ status }) => status === "rejected").map(({ reason: { code, message } }) => [code, message]);
  assert.deepEqual(refusals, Array(CROWD - SEATS).fill([MATCH_JOIN_REJECTED, "full"]));
  const [first] = joins.filter(({ status }) => status === "fulfilled");
  assert.equal(first.value.match_id, payload.id);
  const { matches } = await players[0].client.listMatches(players[0].session, 100, true);
  assert.equal(matches.find(({ match_id }) => match_id === payload.id).size, SEATS);
  await Promise.all(players.map((player) => player.disconnect()));
}
