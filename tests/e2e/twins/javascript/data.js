// Twin of lua/data.lua: accounts, objects, wallets and what is changed together.

function accountChange(ctx, logger, nk, payload) {
  const { id } = asked(payload);
  const picture = "https://example.com/a.png";
  nk.accountUpdateId(id, null, "The Great", "Europe/Berlin", "Berlin", "de", picture, { level: 7 });
  return JSON.stringify(nk.accountGetId(id));
}

function accountsRead(ctx, logger, nk, payload) {
  const { ids, names } = asked(payload);
  return JSON.stringify({
    names: nk.accountsGetId(ids).map((account) => account.user.username).sort(),
    by_id: nk.usersGetId(ids).length,
    by_name: nk.usersGetUsername(names)[0],
  });
}

function accountExport(ctx, logger, nk, payload) {
  return JSON.stringify({ is_text: nk.accountExportId(asked(payload).id).length > 0 });
}

function usersRandom(ctx, logger, nk, payload) {
  return JSON.stringify({ count: nk.usersGetRandom(asked(payload).count).length });
}

function accountDelete(ctx, logger, nk, payload) {
  const { custom, name } = asked(payload);
  const { userId } = nk.authenticateCustom(custom, name, true);
  nk.accountDeleteId(userId, false);
  return JSON.stringify({ left: nk.usersGetId([userId]).length });
}

function signIn(ctx, logger, nk, payload) {
  const by = asked(payload);
  const { userId, username, created } = nk.authenticateCustom(by.custom, by.name, true);
  const same = nk.authenticateCustom(by.custom, "", false);
  const device = nk.authenticateDevice(by.device, by.device_name, true);
  const mail = nk.authenticateEmail(by.email, by.password, by.email_name, true);
  return JSON.stringify({
    name: username,
    created,
    is_same: same.userId === userId,
    again: same.created,
    device: device.username,
    mail: mail.username,
  });
}

function signInWrong(ctx, logger, nk, payload) {
  return JSON.stringify({ id: nk.authenticateEmail(asked(payload).email, "not this one", "", false).userId });
}

function sessionToken(ctx, logger, nk, payload) {
  const { id, name, expires_at } = asked(payload);
  return JSON.stringify(nk.authenticateTokenGenerate(id, name, expires_at, { mood: "glad" }));
}

function links(ctx, logger, nk, payload) {
  const { id, custom, device, email, password } = asked(payload);
  nk.linkCustom(id, custom);
  nk.linkDevice(id, device);
  nk.linkDevice(id, `${device}-other`);
  nk.linkEmail(id, email, password);
  const linked = nk.accountGetId(id);
  nk.unlinkCustom(id, custom);
  nk.unlinkDevice(id, `${device}-other`);
  nk.unlinkEmail(id, email);
  const left = nk.accountGetId(id);
  let isLast = false;
  try {
    nk.unlinkDevice(id, device);
  } catch (error) {
    // The last way to sign in stays.
    isLast = true;
  }
  return JSON.stringify({
    is_last: isLast,
    custom: linked.customId,
    email: linked.email,
    devices: linked.devices.length,
    has_custom: Boolean(left.customId),
    has_email: Boolean(left.email),
    left: left.devices.length,
  });
}

function bans(ctx, logger, nk, payload) {
  const { id } = asked(payload);
  nk.usersBanId([id]);
  const banned = nk.accountGetId(id).disableTime;
  nk.usersUnbanId([id]);
  const pardoned = nk.accountGetId(id).disableTime;
  return JSON.stringify({ is_banned: (banned || 0) > 0, is_pardoned: (pardoned || 0) === 0 });
}

// What players and the test write in the original's form for Lua.
const inForm = (named) => withoutUndefined({
  collection: named.collection,
  key: named.key,
  userId: named.user_id,
  value: named.value,
  version: named.version,
  permissionRead: named.permission_read,
  permissionWrite: named.permission_write,
});

// As in the original, members that are there must have a value.
function withoutUndefined(members) {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));
}

function storageWrite(ctx, logger, nk, payload) {
  return JSON.stringify({ acks: nk.storageWrite(asked(payload).objects.map(inForm)) });
}

function storageRead(ctx, logger, nk, payload) {
  return JSON.stringify({ objects: nk.storageRead(asked(payload).ids.map(inForm)) });
}

function storagePages(ctx, logger, nk, payload) {
  const { id, collection, limit } = asked(payload);
  const keys = [];
  let pages = 0;
  let cursor;
  do {
    const page = nk.storageList(id, collection, limit, cursor);
    cursor = page.cursor;
    pages += 1;
    keys.push(...page.objects.map((object) => object.key));
  } while (cursor);
  return JSON.stringify({ keys, pages });
}

function storageDelete(ctx, logger, nk, payload) {
  const ids = asked(payload).ids.map(inForm);
  nk.storageDelete(ids);
  return JSON.stringify({ left: nk.storageRead(ids).length });
}

// Written twice with the version of the first time, which is not the present one then.
function storageRace(ctx, logger, nk, payload) {
  const { collection, key } = asked(payload);
  const object = { collection, key, value: { round: 1 } };
  object.version = nk.storageWrite([object])[0].version;
  object.value = { round: 2 };
  nk.storageWrite([object]);
  object.value = { round: 3 };
  let isLate = false;
  try {
    nk.storageWrite([object]);
  } catch (error) {
    isLate = true;
  }
  return JSON.stringify({ is_late: isLate, round: nk.storageRead([object])[0].value.round });
}

function wallet(ctx, logger, nk, payload) {
  const { id, changes } = asked(payload);
  return JSON.stringify(nk.walletUpdate(id, changes, { reason: "gift" }, true));
}

function wallets(ctx, logger, nk, payload) {
  const { ids, changes } = asked(payload);
  const updates = ids.map((userId) => ({ userId, changeset: changes, metadata: { reason: "round" } }));
  return JSON.stringify({ changed: nk.walletsUpdate(updates, true) });
}

function ledger(ctx, logger, nk, payload) {
  const { id, limit } = asked(payload);
  const amounts = [];
  let pages = 0;
  let cursor;
  do {
    const page = nk.walletLedgerList(id, limit, cursor);
    cursor = page.cursor;
    pages += 1;
    amounts.push(...page.items.map((item) => ({ change: item.changeset, why: item.metadata })));
  } while (cursor);
  return JSON.stringify({ amounts, pages });
}

function ledgerNote(ctx, logger, nk, payload) {
  const { id, note } = asked(payload);
  const [item] = nk.walletLedgerList(id, 1).items;
  return JSON.stringify({ noted: nk.walletLedgerUpdate(item.id, { note }).metadata });
}

function multi(ctx, logger, nk, payload) {
  const { id } = asked(payload);
  const changed = nk.multiUpdate(
    [{ userId: id, metadata: { level: 8 }, displayName: "Multi" }],
    [{ collection: "multi", key: "one", userId: id, value: { kept: true } }],
    [],
    [{ userId: id, changeset: { gems: 3 }, metadata: {} }],
    true,
  );
  const name = nk.accountGetId(id).user.displayName;
  return JSON.stringify({ acks: changed.storageWriteAcks, wallets: changed.walletUpdateAcks, name });
}

// All or nothing: there are not so many gems.
function multiRefused(ctx, logger, nk, payload) {
  const { id } = asked(payload);
  let isRefused = false;
  try {
    nk.multiUpdate(
      [],
      [{ collection: "multi", key: "two", userId: id, value: {} }],
      [{ collection: "multi", key: "one", userId: id }],
      [{ userId: id, changeset: { gems: -1000 } }],
      true,
    );
  } catch (error) {
    isRefused = true;
  }
  const left = nk.storageList(id, "multi", 10).objects;
  return JSON.stringify({ is_refused: isRefused, keys: left.length, key: left[0].key });
}
