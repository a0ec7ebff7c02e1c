// Several ways into one account.

import assert from "node:assert/strict";
import { test } from "node:test";

import { clientOf, newEmail, newId, newPlayer, refused } from "./support/client.mjs";
import { onEveryServer } from "./support/matrix.mjs";

const PASSWORD = "correct horse";

onEveryServer("links", (holder) => {
  const player = () => newPlayer(holder.server);

  test("a second device opens the same account, and the first can be given up", async () => {
    const { client, session, deviceId, userId } = await player();
    const second = newId();
    assert.equal(await client.linkDevice(session, { id: second }), true);
    assert.equal((await client.authenticateDevice(second, false)).user_id, userId);
    assert.equal(await client.unlinkDevice(session, { id: deviceId }), true);
    await refused(client.authenticateDevice(deviceId, false), 404, 5);
    assert.deepEqual((await client.getAccount(session)).devices.map((device) => device.id), [second]);
  });

  test("a custom id opens the same account", async () => {
    const { client, session, userId } = await player();
    const id = newId();
    await client.linkCustom(session, { id });
    assert.equal((await client.authenticateCustom(id, false)).user_id, userId);
    assert.equal((await client.getAccount(session)).custom_id, id);
    await client.unlinkCustom(session, { id });
    await refused(client.authenticateCustom(id, false), 404, 5);
    assert.equal((await client.getAccount(session)).custom_id, undefined);
  });

  test("an e-mail address with a password opens the same account", async () => {
    const { client, session, userId } = await player();
    const email = newEmail();
    await client.linkEmail(session, { email, password: PASSWORD });
    assert.equal((await client.authenticateEmail(email, PASSWORD, false)).user_id, userId);
    assert.equal((await client.getAccount(session)).email, email);
    await client.unlinkEmail(session, { email, password: PASSWORD });
    await refused(client.authenticateEmail(email, PASSWORD, false), 404, 5);
    assert.equal((await client.getAccount(session)).email, undefined);
  });

  test("the last way in stays", async () => {
    const { client, session, deviceId, userId } = await player();
    await refused(client.unlinkDevice(session, { id: deviceId }), 403, 7);
    assert.equal((await client.authenticateDevice(deviceId, false)).user_id, userId);

    const custom = clientOf(holder.server);
    const id = newId();
    const byCustom = await custom.authenticateCustom(id, true);
    await refused(custom.unlinkCustom(byCustom, { id }), 403, 7);

    const email = newEmail();
    const byEmail = await custom.authenticateEmail(email, PASSWORD, true);
    await refused(custom.unlinkEmail(byEmail, { email, password: PASSWORD }), 403, 7);
  });

  test("what is not linked cannot be unlinked", async () => {
    const { client, session } = await player();
    await client.linkDevice(session, { id: newId() });
    await refused(client.unlinkDevice(session, { id: newId() }), 403, 7);
    await refused(client.unlinkCustom(session, { id: newId() }), 403, 7);
  });

  test("what opens another account cannot be linked", async () => {
    const [one, other] = await Promise.all([player(), player()]);
    const [id, email] = [newId(), newEmail()];
    await other.client.linkCustom(other.session, { id });
    await other.client.linkEmail(other.session, { email, password: PASSWORD });
    await refused(one.client.linkDevice(one.session, { id: other.deviceId }), 409, 6);
    await refused(one.client.linkCustom(one.session, { id }), 409, 6);
    await refused(one.client.linkEmail(one.session, { email, password: PASSWORD }), 409, 6);
  });

  test("linking has the limits of signing in", async () => {
    const { client, session } = await player();
    await refused(client.linkDevice(session, { id: "short" }), 400, 3);
    await refused(client.linkCustom(session, { id: "short" }), 400, 3);
    await refused(client.linkEmail(session, { email: "nobody", password: PASSWORD }), 400, 3);
    await refused(client.linkEmail(session, { email: newEmail(), password: "short" }), 400, 3);
  });

  test("two who link one device at once: one of them gets it", async () => {
    const players = await Promise.all([player(), player()]);
    const id = newId();
    const linked = await Promise.allSettled(players.map(({ client, session }) => client.linkDevice(session, { id })));
    const winners = players.filter((_, index) => linked[index].status === "fulfilled");
    assert.equal(winners.length, 1);
    assert.equal((await winners[0].client.authenticateDevice(id, false)).user_id, winners[0].userId);
  });
});
