// Functions of rooms and the lobby, as the official client calls them.

import assert from "node:assert/strict";

/** The mode of rooms' streams. */
export const ROOM_MODE = 201;

/** The mode of the lobby's streams. */
export const LOBBY_MODE = 202;

/** Calls `muster.rooms.<name>`, or `muster.<name>` where the name has a dot, over a player's socket. */
export async function ask(player, name, payload) {
  const answer = await player.socket.rpc(functionId(name), JSON.stringify(payload));
  return JSON.parse(answer.payload);
}

/** The same over HTTP. */
export async function askOverHttp(client, session, name, payload) {
  return (await client.rpc(session, functionId(name), payload)).payload;
}

const functionId = (name) => (name.includes(".") ? `muster.${name}` : `muster.rooms.${name}`);

/** The next data of a room's stream, parsed. */
export async function nextInRoom(player, room) {
  const { stream, sender, data } = await player.next("streamData");
  assert.deepEqual([stream.mode, stream.subject], [ROOM_MODE, room]);
  return { sender, data: JSON.parse(data) };
}

/** The next push of the lobby, parsed. */
export async function nextInLobby(player, lobby) {
  const { stream, data } = await player.next("streamData");
  assert.deepEqual([stream.mode, stream.label], [LOBBY_MODE, lobby]);
  const { type, ...delta } = JSON.parse(data);
  assert.equal(type, "lobby");
  assert.ok(delta.revision > 0);
  return delta;
}

/** Waits for a call over a socket to be refused, and checks the code that it would have over HTTP. */
export async function refusedCall(call, code) {
  const error = await call.then(
    (value) => assert.fail(`expected a refusal with ${code}, got ${JSON.stringify(value)}`),
    (error) => error,
  );
  if (error instanceof Error) {
    throw error;
  }
  assert.equal(error.context?.code, String(code), JSON.stringify(error));
  assert.notEqual(error.message, "");
  return error;
}
