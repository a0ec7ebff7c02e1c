// Signing in, profiles, sessions: what the client sees, and how it is refused.

import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { call, claims, clientOf, isRefusal, newEmail, newId, newPlayer, refused, SERVER_KEY } from "./support/client.mjs";
import { onEveryServer } from "./support/matrix.mjs";
import { Server } from "./support/server.mjs";

const PASSWORD = "correct horse";
const UUID = /^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$/;

onEveryServer("accounts", (holder) => {
  const server = () => holder.server;
  const client = () => clientOf(holder.server);

  describe("by device", () => {
    test("the first time creates the account, the next finds it", async () => {
      const id = newId();
      const first = await client().authenticateDevice(id);
      const second = await client().authenticateDevice(id);
      assert.deepEqual([first.created, second.created], [true, false]);
      assert.equal(second.user_id, first.user_id);
      assert.match(first.user_id, UUID);
      assert.match(first.username, /^[A-Za-z]{10}$/, "a name is made up of ten letters");
    });

    test("an unknown device is not created unasked", () => refused(client().authenticateDevice(newId(), false), 404, 5));

    test("ids have from 10 to 128 bytes and no spaces", async () => {
      for (const id of ["123456789", "d".repeat(129), "with a space in it", "with\ttabs\tin it", ""]) {
        await refused(client().authenticateDevice(id, true), 400, 3);
      }
      await client().authenticateDevice(newId().padEnd(128, "d"), true);
    });

    test("a name can be chosen once", async () => {
      const name = `Name ${newId()}`;
      const session = await client().authenticateDevice(newId(), true, name);
      assert.equal(session.username, name);
      await refused(client().authenticateDevice(newId(), true, name), 409, 6);
    });

    test("names have at most 128 bytes and no control characters", async () => {
      for (const name of ["n".repeat(129), "line\nbreak", "tab\there"]) {
        await refused(client().authenticateDevice(newId(), true, name), 400, 3);
      }
    });

    test("a hundred sign-ins of one new device at once make one account", async () => {
      const id = newId();
      const sessions = await Promise.all(Array.from({ length: 100 }, () => client().authenticateDevice(id, true)));
      assert.equal(new Set(sessions.map((session) => session.user_id)).size, 1);
      assert.equal(sessions.filter((session) => session.created).length, 1);
    });
  });

  describe("by e-mail", () => {
    test("the password opens the account, in whatever case the address is written", async () => {
      const email = newEmail();
      const first = await client().authenticateEmail(email, PASSWORD, true);
      const second = await client().authenticateEmail(email.toUpperCase(), PASSWORD, false);
      assert.deepEqual([first.created, second.created], [true, false]);
      assert.equal(second.user_id, first.user_id);
    });

    test("another password does not", async () => {
      const email = newEmail();
      await client().authenticateEmail(email, PASSWORD, true);
      await refused(client().authenticateEmail(email, "wrong horse", false), 401, 16);
      await refused(client().authenticateEmail(email, "wrong horse", true), 401, 16);
    });

    test("a user name and the password open it as well, and never create one", async () => {
      const username = `name-${newId()}`;
      const session = await client().authenticateEmail(newEmail(), PASSWORD, true, username);
      const again = await client().authenticateEmail("", PASSWORD, true, username);
      assert.equal(again.user_id, session.user_id);
      await refused(client().authenticateEmail("", "wrong horse", true, username), 401, 16);
      const unknown = await call(server(), "POST", `/v2/account/authenticate/email?create=true&username=${newId()}`, {
        key: SERVER_KEY,
        body: { password: PASSWORD },
      });
      assert.ok([401, 404].includes(unknown.status), unknown.text);
    });

    test("addresses and passwords have a form", async () => {
      for (const email of ["nobody", "a@b", "a@b.c", "with space@example.com", `${"e".repeat(250)}@example.com`]) {
        await refused(client().authenticateEmail(email, PASSWORD, true), 400, 3);
      }
      await refused(client().authenticateEmail(newEmail(), "short", true), 400, 3);
      await refused(client().authenticateEmail(newEmail(), "", true), 400, 3);
    });

    test("an unknown address is not created unasked", () =>
      refused(client().authenticateEmail(newEmail(), PASSWORD, false), 404, 5));
  });

  describe("by custom id", () => {
    test("the first time creates the account, the next finds it", async () => {
      const id = newId();
      const first = await client().authenticateCustom(id, true);
      const second = await client().authenticateCustom(id, false);
      assert.equal(second.user_id, first.user_id);
    });

    test("ids have from 6 to 128 bytes", async () => {
      await refused(client().authenticateCustom("12345", true), 400, 3);
      await refused(client().authenticateCustom("c".repeat(129), true), 400, 3);
      await refused(client().authenticateCustom(newId(), false), 404, 5);
    });
  });

  describe("the profile", () => {
    test("a new one has nothing but a name", async () => {
      const { client, session, deviceId, userId } = await newPlayer(server());
      const account = await client.getAccount(session);
      assert.equal(account.user.id, userId);
      assert.equal(account.user.username, session.username);
      assert.equal(account.user.metadata, "{}");
      assert.equal(account.wallet, "{}");
      assert.deepEqual(account.devices.map((device) => device.id), [deviceId]);
      for (const absent of ["email", "custom_id", "verify_time", "disable_time"]) {
        assert.equal(account[absent], undefined, absent);
      }
      assert.equal(account.user.display_name, undefined);
      assert.match(account.user.create_time, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/);
      assert.ok(Math.abs(Date.parse(account.user.create_time) - Date.now()) < 60_000);
    });

    test("an update changes what it names and keeps the rest", async () => {
      const { client, session, userId } = await newPlayer(server());
      const username = `name-${newId()}`;
      const profile = { avatar_url: "https://example.com/a.png", lang_tag: "de", location: "Köln", timezone: "CET" };
      assert.equal(await client.updateAccount(session, { username, display_name: "Zoë", ...profile }), true);
      await client.updateAccount(session, { location: "Bonn" });
      const { user } = await client.getAccount(session);
      const expected = { id: userId, username, display_name: "Zoë", ...profile, location: "Bonn" };
      for (const [field, value] of Object.entries(expected)) {
        assert.equal(user[field], value, field);
      }
      await client.updateAccount(session, { display_name: "" });
      assert.equal((await client.getAccount(session)).user.display_name, undefined, "an empty text clears a field");
    });

    test("a taken or malformed name is refused", async () => {
      const [one, other] = await Promise.all([newPlayer(server()), newPlayer(server())]);
      await refused(one.client.updateAccount(one.session, { username: other.session.username }), 400, 3);
      await refused(one.client.updateAccount(one.session, { username: "tab\there" }), 400, 3);
      await refused(one.client.updateAccount(one.session, { username: "" }), 400, 3);
      assert.equal((await one.client.getAccount(one.session)).user.username, one.session.username);
    });

    test("texts longer than their columns are refused", async () => {
      const { client, session } = await newPlayer(server());
      for (const update of [
        { display_name: "d".repeat(256) },
        { location: "l".repeat(256) },
        { timezone: "t".repeat(256) },
        { avatar_url: "a".repeat(513) },
        { lang_tag: "g".repeat(19) },
      ]) {
        await refused(client.updateAccount(session, update), 400, 3);
      }
    });

    test("others are found by id and by name, without what is private", async () => {
      const [one, other] = await Promise.all([newPlayer(server()), newPlayer(server())]);
      const { users } = await one.client.getUsers(one.session, [one.userId, newId()], [other.session.username]);
      assert.deepEqual(users.map((user) => user.id).sort(), [one.userId, other.userId].sort());
      const raw = await call(server(), "GET", `/v2/user?ids=${other.userId}`, { token: one.session.token });
      assert.deepEqual(
        ["email", "devices", "custom_id", "wallet"].filter((field) => field in raw.json.users[0]),
        [],
      );
      await refused(one.client.getUsers(one.session, ["no-uuid"]), 400, 3);
    });

    test("a deleted account is gone, with its sessions", async () => {
      const { client, session, deviceId, userId } = await newPlayer(server());
      assert.equal(await client.deleteAccount(session), true);
      const answer = await call(server(), "GET", "/v2/account", { token: session.token });
      assert.ok([401, 404].includes(answer.status), answer.text);
      await refused(client.authenticateDevice(deviceId, false), 404, 5);
      const other = await newPlayer(server());
      assert.deepEqual((await other.client.getUsers(other.session, [userId])).users, []);
    });
  });

  describe("sessions", () => {
    test("a token says who, until when, and with which variables", async () => {
      const { session, userId } = await newPlayer(server(), { region: "eu", build: "7" });
      const { uid, usn, vrs, tid, exp, iat } = claims(session.token);
      assert.deepEqual([uid, usn], [userId, session.username]);
      assert.deepEqual(vrs, { region: "eu", build: "7" });
      assert.match(tid, UUID);
      assert.equal(exp - iat, 7200);
      assert.equal(claims((await newPlayer(server())).session.token).vrs, undefined, "no variables, no claim");
    });

    test("a refresh gives a new pair for the same sign-in", async () => {
      const { client, session } = await newPlayer(server(), { region: "eu" });
      const before = claims(session.token);
      await client.sessionRefresh(session);
      assert.equal(claims(session.token).tid, before.tid);
      assert.equal(claims(session.token).iat, before.iat);
      assert.deepEqual(claims(session.token).vrs, { region: "eu" }, "variables stay unless others are given");
      await client.sessionRefresh(session, { region: "us" });
      assert.deepEqual(claims(session.token).vrs, { region: "us" });
      await client.getAccount(session);
    });

    test("a refresh knows the name as it is now", async () => {
      const { client, session } = await newPlayer(server());
      const username = `name-${newId()}`;
      await client.updateAccount(session, { username });
      await client.sessionRefresh(session);
      assert.equal(session.username, username);
    });

    test("only a refresh token refreshes", async () => {
      const { session } = await newPlayer(server());
      const refresh = (token) => call(server(), "POST", "/v2/account/session/refresh", { key: SERVER_KEY, body: { token } });
      isRefusal(await refresh(""), 400, 3);
      isRefusal(await refresh("no.such.token"), 401, 16);
      isRefusal(await refresh(session.token), 401, 16);
    });

    test("a logout ends the tokens it names", async () => {
      const { client, session, deviceId } = await newPlayer(server());
      const other = await client.authenticateDevice(deviceId);
      assert.equal(await client.sessionLogout(session, session.token, session.refresh_token), true);
      await refused(client.getAccount(session), 401, 16);
      await refused(client.sessionRefresh(session), 401, 16);
      assert.equal((await client.getAccount(other)).user.id, other.user_id, "another sign-in goes on");
    });

    test("a logout without tokens ends all of them, and signing in again works at once", async () => {
      const node = server().oneNode;
      const { client, session, deviceId } = await newPlayer(node);
      const other = await client.authenticateDevice(deviceId);
      const answer = await call(node, "POST", "/v2/session/logout", { token: session.token, body: {} });
      assert.deepEqual([answer.status, answer.json], [200, {}], answer.text);
      await refused(client.getAccount(session), 401, 16);
      await refused(client.getAccount(other), 401, 16);
      const next = await client.authenticateDevice(deviceId);
      assert.equal((await client.getAccount(next)).user.id, next.user_id);
    });

    test("nobody logs out somebody else", async () => {
      const [one, other] = await Promise.all([newPlayer(server()), newPlayer(server())]);
      await refused(one.client.sessionLogout(one.session, other.session.token, ""), 400, 3);
      await other.client.getAccount(other.session);
    });

    test("without the right key or token there is no entrance", async () => {
      const { session } = await newPlayer(server());
      const [head, , signature] = session.token.split(".");
      const forged = Buffer.from(JSON.stringify({ ...claims(session.token), uid: newId() })).toString("base64url");
      for (const token of [undefined, "nonsense", `${head}.${forged}.${signature}`, session.refresh_token]) {
        isRefusal(await call(server(), "GET", "/v2/account", { token }), 401, 16);
      }
      await refused(clientOf(server(), "another key").authenticateDevice(newId(), true), 401, 16);
      isRefusal(await call(server(), "POST", "/v2/account/authenticate/device", { body: { id: newId() } }), 401, 16);
    });
  });
});

for (const database of ["sqlite", "postgres"]) {
  describe(`sessions over time (${database})`, () => {
    test("what was acknowledged, and what was revoked, outlives a restart", async () => {
      const server = await Server.start({ database });
      try {
        const { client, session, deviceId, userId } = await newPlayer(server);
        const kept = await client.authenticateDevice(deviceId);
        await client.sessionLogout(session, session.token, session.refresh_token);
        await server.stop();
        await server.start();
        await refused(client.getAccount(session), 401, 16);
        assert.equal((await client.getAccount(kept)).user.id, userId);
      } finally {
        await server.dispose();
      }
    });

    test("with single_session, signing in ends the sign-in before and its sockets", async () => {
      const server = await Server.start({ database, flags: { "session.single_session": true } });
      try {
        const { client, session, deviceId } = await newPlayer(server);
        const socket = client.createSocket(server.ssl, false);
        const closed = new Promise((resolve) => { socket.ondisconnect = resolve; });
        await socket.connect(session, false);
        const next = await client.authenticateDevice(deviceId);
        await closed;
        await refused(client.getAccount(session), 401, 16);
        assert.equal((await client.getAccount(next)).user.id, next.user_id);
      } finally {
        await server.dispose();
      }
    });
  });
}
