// The official client, unmodified, and the few things that a browser has and node lacks.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";

import { Client } from "@heroiclabs/nakama-js";
import { WebSocketAdapterPb } from "@heroiclabs/nakama-js-protobuf";
import WebSocket from "ws";

globalThis.WebSocket ??= WebSocket;
// The client looks at `window` without asking whether there is one.
globalThis.window ??= undefined;

export { WebSocket };

/** The well-known key, which `muster dev` accepts. */
export const SERVER_KEY = "defaultkey";

const TIMEOUT_MS = 20_000;

/** A client of `server` that never refreshes a session behind a test's back. */
export function clientOf(server, serverKey = SERVER_KEY) {
  const refreshByItself = false;
  return new Client(serverKey, "127.0.0.1", String(server.port), false, TIMEOUT_MS, refreshByItself);
}

/** A socket of the client that speaks `format`, not connected yet. */
export function socketOf(client, format) {
  return format === "protobuf"
    ? client.createSocket(false, false, new WebSocketAdapterPb())
    : client.createSocket(false, false);
}

/** A new account with its client and session. */
export async function newPlayer(server, vars = {}) {
  const client = clientOf(server);
  const deviceId = newId();
  const session = await client.authenticateDevice(deviceId, true, undefined, vars);
  assert.equal(session.created, true);
  return { client, session, deviceId, userId: session.user_id };
}

/** An id that nobody has used: long enough for devices and custom ids. */
export const newId = () => randomUUID();

export const newEmail = () => `${randomUUID()}@example.com`;

/** The claims of a token. */
export const claims = (token) => JSON.parse(Buffer.from(token.split(".")[1], "base64url").toString());

/**
 * Waits for a call of the client to be refused, and checks how.
 * The client rejects with the response itself when a server refuses.
 */
export async function refused(call, status, code) {
  const response = await call.then(
    (value) => assert.fail(`expected a refusal with ${status}, got ${JSON.stringify(value)}`),
    (error) => error,
  );
  if (!(response instanceof Response)) {
    throw response;
  }
  const body = await response.json();
  assert.deepEqual({ status: response.status, code: body.code }, { status, code }, body.message);
  assert.equal(typeof body.message, "string");
  assert.notEqual(body.message, "");
  return body;
}

/** A plain HTTP call, for what the client cannot be made to say. */
export async function call(server, method, path, { key, token, body, headers = {} } = {}) {
  const authorization = token
    ? { Authorization: `Bearer ${token}` }
    : key
      ? { Authorization: `Basic ${Buffer.from(`${key}:`).toString("base64")}` }
      : {};
  const isRaw = body === undefined || typeof body === "string" || body instanceof Uint8Array;
  const response = await fetch(`${server.url}${path}`, {
    method,
    headers: { "Content-Type": "application/json", ...authorization, ...headers },
    body: isRaw ? body : JSON.stringify(body),
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, text, json: parse(text) };
}

/** Checks status and code of a refusal that [`call`] got. */
export function isRefusal(answer, status, code) {
  assert.deepEqual({ status: answer.status, code: answer.json?.code }, { status, code }, answer.text);
  assert.equal(typeof answer.json.message, "string");
  assert.notEqual(answer.json.message, "");
}

function parse(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
