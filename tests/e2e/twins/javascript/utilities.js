// Twin of lua/utilities.lua: functions that answer by themselves, as a game would call them.

let config;

const asked = (payload) => (payload ? JSON.parse(payload) : {});

// Once in the life of the server, whatever the number of machines: the body of InitModule.
function runOnce(nk, initializer) {
  nk.storageWrite([{ collection: "once", key: "mode", value: { mode: "run_once" } }]);
  config = initializer.getConfig();
}

function once(ctx, logger, nk, payload) {
  const found = nk.storageRead([{ collection: "once", key: "mode" }]);
  return JSON.stringify({ count: found.length, version: found[0].version.length });
}

function digests(ctx, logger, nk, payload) {
  const { text, key } = asked(payload);
  return JSON.stringify({
    md5: nk.md5Hash(text),
    sha256: nk.sha256Hash(text),
    hmac: nk.base16Encode(nk.hmacSha256Hash(text, key)),
  });
}

function encodings(ctx, logger, nk, payload) {
  const { text } = asked(payload);
  const hex = nk.base16Encode(text);
  const plain = nk.base64Encode(text);
  const bare = nk.base64Encode(text, false);
  const url = nk.base64UrlEncode(text);
  const decoded = [nk.base16Decode(hex), nk.base64Decode(plain), nk.base64Decode(bare), nk.base64UrlDecode(url)];
  return JSON.stringify({ hex, plain, bare, url, back: decoded.map((bytes) => nk.binaryToString(bytes)) });
}

function ciphers(ctx, logger, nk, payload) {
  const { text, key16, key32 } = asked(payload);
  const short = nk.aes128Encrypt(text, key16);
  const long = nk.aes256Encrypt(text, key32);
  return JSON.stringify({
    // 16 random bytes go before what is as long as the text.
    lengths: [short, long].map((encrypted) => nk.base64Decode(encrypted).byteLength),
    back: [nk.aes128Decrypt(short, key16), nk.aes256Decrypt(long, key32)],
  });
}

function webToken(ctx, logger, nk, payload) {
  const { key, claim } = asked(payload);
  return JSON.stringify({ token: nk.jwtGenerate("HS256", key, { claim }) });
}

function signedToken(ctx, logger, nk, payload) {
  const { key, claim } = asked(payload);
  return JSON.stringify({ token: nk.jwtGenerate("RS256", key, { claim }) });
}

function passwords(ctx, logger, nk, payload) {
  const { text } = asked(payload);
  const hash = nk.bcryptHash(text);
  return JSON.stringify({
    begins: hash.slice(0, 4),
    right: nk.bcryptCompare(hash, text),
    wrong: nk.bcryptCompare(hash, `${text}?`),
  });
}

function chance(ctx, logger, nk, payload) {
  const [one, other] = [nk.uuidv4(), nk.uuidv4()];
  const bytes = nk.secureRandomBytes(asked(payload).count).byteLength;
  return JSON.stringify({ bytes, length: one.length, differ: one !== other });
}

function crons(ctx, logger, nk, payload) {
  const { expression, at } = asked(payload);
  return JSON.stringify({ next: nk.cronNext(expression, at), prev: nk.cronPrev(expression, at) });
}

function json(ctx, logger, nk, payload) {
  const { value } = asked(payload);
  const text = JSON.stringify(value);
  return JSON.stringify({ value: JSON.parse(text), number: value.number + 1, length: value.list.length });
}

function clock(ctx, logger, nk, payload) {
  return JSON.stringify({ is_near: Math.abs(Date.now() - asked(payload).now) < 3600000 });
}

function cache(ctx, logger, nk, payload) {
  const { key, value } = asked(payload);
  const before = nk.localcacheGet(key, "none");
  nk.localcachePut(key, value, 60);
  const there = nk.localcacheGet(key);
  nk.localcacheDelete(key);
  const gone = nk.localcacheGet(key);
  nk.localcachePut(key, "again");
  nk.localcacheClear();
  const is_gone = gone === null || gone === undefined;
  return JSON.stringify({ before, there, is_gone, cleared: nk.localcacheGet(key, "cleared") });
}

function sql(ctx, logger, nk, payload) {
  const { place, name } = asked(payload);
  const { rowsAffected } = nk.sqlExec("UPDATE users SET location = $1 WHERE username = $2", [place, name]);
  const rows = nk.sqlQuery("SELECT username, location FROM users WHERE username = $1", [name]);
  return JSON.stringify({ changed: rowsAffected, rows });
}

function metrics(ctx, logger, nk, payload) {
  const { amount } = asked(payload);
  nk.metricsCounterAdd("twins_counter", { language: "any" }, amount);
  nk.metricsGaugeSet("twins_gauge", {}, amount);
  nk.metricsTimerRecord("twins_timer", {}, amount);
  nk.event("twins", { amount: String(amount) });
  return JSON.stringify({ done: true });
}

function http(ctx, logger, nk, payload) {
  const request = asked(payload);
  const response = nk.httpRequest(request.url, request.method, request.headers, request.body, 5000);
  return JSON.stringify({ code: response.code, header: response.headers["X-Answer"][0], body: response.body });
}

function file(ctx, logger, nk, payload) {
  return JSON.stringify({ text: nk.fileRead(asked(payload).path) });
}

function context(ctx) {
  return JSON.stringify({
    user_id: ctx.userId,
    username: ctx.username,
    mode: ctx.executionMode,
    game: ctx.env.GAME,
    mood: ctx.vars.mood,
    has_time: ctx.userSessionExp > 0,
    has_address: ctx.clientIp !== undefined,
  });
}

function configured() {
  return JSON.stringify({ name: config.name, has_times: config.session.tokenExpirySec > 0 });
}

function log(ctx, logger, nk, payload) {
  const { text } = asked(payload);
  logger.debug("%s d", text);
  logger.info("%s i", text);
  logger.warn("%s w", text);
  logger.error("%s e", text);
  return JSON.stringify({ done: true });
}

function refuse(ctx, logger, nk, payload) {
  const { message, code } = asked(payload);
  throw { message, code };
}

function caught(ctx, logger, nk, payload) {
  try {
    nk.storageRead([{ collection: "", key: asked(payload).key }]);
    return JSON.stringify({ is_refused: false });
  } catch (error) {
    return JSON.stringify({ is_refused: true });
  }
}

// Nothing, which clients see as no payload.
function nothing() {}

function echo(ctx, logger, nk, payload) {
  return payload;
}
