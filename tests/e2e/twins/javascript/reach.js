// Twin of lua/reach.lua: functions that reach players who are connected, and matches.

const DONE = JSON.stringify({ done: true });

function notify(ctx, logger, nk, payload) {
  const { id, sender } = asked(payload);
  nk.notificationSend(id, "gift", { chips: 5 }, 10, null, true);
  nk.notificationSend(id, "hint", { text: "now" }, 11, sender, false);
  return DONE;
}

function notifications(ctx, logger, nk, payload) {
  const { id } = asked(payload);
  nk.notificationsSend([
    { userId: id, subject: "first", content: { n: 1 }, code: 21, persistent: true },
    { userId: id, subject: "second", content: { n: 2 }, code: 22, persistent: true },
  ]);
  const kept = nk.notificationsList(id, 100).notifications;
  const last = kept[kept.length - 1];
  nk.notificationsUpdate([{ id: last.id, subject: "changed", content: { n: 3 } }]);
  const [read] = nk.notificationsGetId([last.id], id);
  nk.notificationsDeleteId([last.id], id);
  nk.notificationsDelete([{ userId: id, notificationId: kept[0].id }]);
  return JSON.stringify({
    subjects: kept.map(({ subject }) => subject),
    codes: kept.map(({ code }) => code),
    read: read.subject,
    content: read.content,
    left: nk.notificationsList(id, 100).notifications.length,
  });
}

function notifyAll(ctx, logger, nk, payload) {
  nk.notificationSendAll("all", { text: asked(payload).text }, 30, false);
  return DONE;
}

function chat(ctx, logger, nk, payload) {
  const { id, name, room } = asked(payload);
  const channel = nk.channelIdBuild(id, room, 1);
  const said = nk.channelMessageSend(channel, { text: "one" }, id, name, true);
  nk.channelMessageUpdate(channel, said.messageId, { text: "two" }, id, name, true);
  const other = nk.channelMessageSend(channel, { text: "gone" }, id, name, true);
  nk.channelMessageRemove(channel, other.messageId, id, name, true);
  const heard = nk.channelMessagesList(channel, 10, true).messages.map((message) => {
    const { code, senderId, username, content } = message;
    return { code, sender: senderId, name: username, content: JSON.parse(content) };
  });
  return JSON.stringify({ channel, heard });
}

function streamJoin(ctx, logger, nk, payload) {
  const stream = { mode: 100, label: asked(payload).label };
  const first = nk.streamUserJoin(ctx.userId, ctx.sessionId, stream, false, false, "new");
  const again = nk.streamUserJoin(ctx.userId, ctx.sessionId, stream, false, false, "new");
  nk.streamUserUpdate(ctx.userId, ctx.sessionId, stream, false, false, "old");
  const { status, username } = nk.streamUserGet(ctx.userId, ctx.sessionId, stream);
  return JSON.stringify({ first, again, status, name: username, count: nk.streamCount(stream) });
}

function streamTalk(ctx, logger, nk, payload) {
  const stream = { mode: 100, label: asked(payload).label };
  const there = nk.streamUserList(stream, true, true);
  nk.streamSend(stream, "to all");
  nk.streamSend(stream, "to one", [there[0]]);
  nk.streamSendRaw(stream, { streamData: { stream, data: "raw" } });
  return JSON.stringify({ count: there.length, name: there[0].username, hidden: there[0].hidden });
}

function streamLeave(ctx, logger, nk, payload) {
  const stream = { mode: 100, label: asked(payload).label };
  nk.streamUserLeave(ctx.userId, ctx.sessionId, stream);
  const left = nk.streamCount(stream);
  nk.streamUserJoin(ctx.userId, ctx.sessionId, stream, true, false);
  const hidden = nk.streamUserList(stream, true, false);
  nk.streamUserKick(hidden[0], stream);
  const kicked = nk.streamCount(stream);
  nk.streamUserJoin(ctx.userId, ctx.sessionId, stream, true, false);
  nk.streamClose(stream);
  return JSON.stringify({ left, hidden: hidden.length, kicked, closed: nk.streamCount(stream) });
}

function status(ctx, logger, nk, payload) {
  const { id } = asked(payload);
  nk.statusFollow(ctx.sessionId, [id]);
  nk.statusUnfollow(ctx.sessionId, [id]);
  return DONE;
}

function disconnect(ctx, logger, nk) {
  nk.sessionDisconnect(ctx.sessionId);
  return DONE;
}

function logout(ctx, logger, nk, payload) {
  nk.sessionLogout(asked(payload).id);
  return DONE;
}

function parties(ctx, logger, nk) {
  return JSON.stringify({ count: nk.partyList(10).parties.length });
}

function matchMake(ctx, logger, nk, payload) {
  const { handler, params } = asked(payload);
  return JSON.stringify({ id: nk.matchCreate(handler, params) });
}

function matchFind(ctx, logger, nk, payload) {
  const found = nk.matchList(10, true, null, 0, 10, asked(payload).query);
  const labels = found.map(({ label, size }) => ({ label: JSON.parse(label), size }));
  const isSame = found.length > 0 && nk.matchGet(found[0].matchId).label === found[0].label;
  return JSON.stringify({ labels, is_same: isSame });
}

function matchTell(ctx, logger, nk, payload) {
  const { id, data } = asked(payload);
  return JSON.stringify({ answer: nk.matchSignal(id, data) });
}

function matchMissing(ctx, logger, nk, payload) {
  return JSON.stringify({ is_missing: nk.matchGet(asked(payload).id) === null });
}
