// Players with a socket of the official client, which keep what is pushed to them until a test asks for it.

import assert from "node:assert/strict";

import { clientOf, newId, socketOf } from "./client.mjs";

/** How long a push may take before a test has failed. Far above what a busy machine needs. */
const PUSH_LIMIT_MS = 60_000;

/** The client's callbacks, by what they are called with. */
const CALLBACKS = {
  channelMessage: "onchannelmessage",
  channelPresence: "onchannelpresence",
  matchData: "onmatchdata",
  matchPresence: "onmatchpresence",
  matched: "onmatchmakermatched",
  notification: "onnotification",
  party: "onparty",
  partyClose: "onpartyclose",
  partyData: "onpartydata",
  partyJoinRequest: "onpartyjoinrequest",
  partyLeader: "onpartyleader",
  partyPresence: "onpartypresence",
  partyTicket: "onpartymatchmakerticket",
  statusPresence: "onstatuspresence",
  streamData: "onstreamdata",
  streamPresence: "onstreampresence",
};

/**
 * The formats of a test's players in turn: both formats meet in each test, and each is the first player's once, so that
 * a broadcast is seen in both and asked for in both.
 */
export const FORMAT_ORDERS = [
  ["json", "protobuf"],
  ["protobuf", "json"],
];

/** Connects `count` new players, whose formats take turns. */
export function connectPlayers(server, formats, count, options = {}) {
  const formatOf = (index) => formats[index % formats.length];
  return Promise.all(Array.from({ length: count }, (_, index) => Player.connect(server, formatOf(index), options)));
}

/** A signed-in user with one open socket. */
export class Player {
  #unread = [];
  #waiting = [];

  /**
   * A new user, or the one of `session`, on a new socket.
   *
   * @param {object} options
   * @param {boolean} options.online whether the user appears online
   * @param {object} options.session of a user that exists
   */
  static async connect(server, format, { online = false, session = undefined } = {}) {
    const player = new Player();
    player.client = clientOf(server);
    player.session = session ?? (await player.client.authenticateDevice(newId(), true));
    player.userId = player.session.user_id;
    player.username = player.session.username;
    player.socket = socketOf(player.client, format);
    for (const [kind, callback] of Object.entries(CALLBACKS)) {
      player.socket[callback] = (value) => player.#push(kind, value);
    }
    player.disconnected = new Promise((resolve) => (player.socket.ondisconnect = resolve));
    player.socket.onheartbeattimeout = () => assert.fail("a heartbeat was not answered");
    await player.socket.connect(player.session, online);
    if (online) {
      // It hears of itself once others who ask would find it, on other nodes too. A test may still read that.
      const value = await player.next("statusPresence");
      player.#unread.unshift({ kind: "statusPresence", value });
    }
    return player;
  }

  #push(kind, value) {
    const waiting = this.#waiting.findIndex((wait) => wait.kind === kind);
    if (waiting >= 0) {
      this.#waiting.splice(waiting, 1)[0].resolve(value);
    } else {
      this.#unread.push({ kind, value });
    }
  }

  /** The oldest push of this kind that no test has seen yet; waits for it if there is none. */
  next(kind) {
    const at = this.#unread.findIndex((push) => push.kind === kind);
    if (at >= 0) {
      return Promise.resolve(this.#unread.splice(at, 1)[0].value);
    }
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        const seen = this.#unread.map((push) => push.kind).join(", ") || "nothing";
        reject(new Error(`no ${kind} came within ${PUSH_LIMIT_MS} ms; unread: ${seen}`));
      }, PUSH_LIMIT_MS);
      this.#waiting.push({
        kind,
        resolve: (value) => {
          clearTimeout(timer);
          resolve(value);
        },
      });
    });
  }

  /** Pushes of this kind that arrived and that no test has seen. Says nothing about what is still on its way. */
  unread(kind) {
    return this.#unread.filter((push) => push.kind === kind).map((push) => push.value);
  }

  /** Ends the connection without a word, as a machine that is switched off. */
  die() {
    this.socket.adapter._socket.terminate();
  }

  /** Closes the socket as a player who goes; resolves when it is closed. */
  disconnect() {
    const closed = new Promise((resolve) => (this.socket.ondisconnect = resolve));
    this.socket.disconnect(false);
    return closed;
  }
}

/** Waits for a message of a socket to be refused, and checks the code. */
export async function refusedWith(call, code) {
  const error = await call.then(
    (value) => assert.fail(`expected error ${code}, got ${JSON.stringify(value)}`),
    (error) => error,
  );
  if (error instanceof Error) {
    throw error;
  }
  assert.equal(error.code ?? 0, code, error.message);
  assert.equal(typeof error.message, "string");
  assert.notEqual(error.message, "");
  return error;
}

/** A list that JSON leaves out when it is empty. */
export const list = (values) => values ?? [];

/** Whose presences these are. */
export const userIds = (presences) => list(presences).map((presence) => presence.user_id);

/** A presence with all that others may rely on; `persistence` is a matter of chat. */
export function isPresenceOf(presence, player, persistence = false) {
  const { user_id, username } = presence;
  assert.deepEqual([user_id, username, presence.persistence ?? false], [player.userId, player.username, persistence]);
  assert.match(presence.session_id, /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
}

/** Who came and who went, as user ids. */
export const cameAndWent = (event) => ({ came: userIds(event.joins), went: userIds(event.leaves) });
