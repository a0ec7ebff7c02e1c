// What twins.test.mjs calls, in order, and what the original's documentation says is answered. Data, so that twins in
// further languages are called with the same. `{…}` stands for what differs from server to server.

export const KEY_16 = "0123456789abcdef";
export const KEY_32 = KEY_16.repeat(2);

const OBJECT = { collection: "saves", key: "one", user_id: "{ann}" };
const OBJECTS = [
  { ...OBJECT, value: { level: 3, fooBar: { snake_case: [1, 2.5, "x"] } }, permission_read: 2, permission_write: 0 },
  { ...OBJECT, key: "two", value: { level: 4 } },
  { ...OBJECT, key: "three", value: { level: 5 }, version: "*" },
];
const ACK = { ...OBJECT, version: "{version}" };
const WHOLE = { ...OBJECT, version: "{version}", create_time: "{time}", update_time: "{time}" };

/**
 * `over` says whether a socket is needed; `status` and `code` are those of a refusal; `heard` is what players are pushed
 * then, by whom and by what kind.
 */
export const CALLS = [
  { call: "echo", given: { text: "Zoë", deep: { list: [1, 2] } }, answer: { text: "Zoë", deep: { list: [1, 2] } } },
  { call: "nothing", answer: undefined },
  { call: "once", answer: { count: 1, version: 32 } },
  {
    call: "digests",
    given: { text: "hello", key: "secret" },
    answer: {
      md5: "5d41402abc4b2a76b9719d911017c592",
      sha256: "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824",
      hmac: "88aab3ede8d3adf94d26ab90d3bafd4a2083070c3bcce9c014ee04a443847c0b",
    },
  },
  {
    call: "encodings",
    given: { text: "a?>~ü" },
    answer: {
      hex: "613f3e7ec3bc",
      plain: "YT8+fsO8",
      bare: "YT8+fsO8",
      url: "YT8-fsO8",
      back: ["a?>~ü", "a?>~ü", "a?>~ü", "a?>~ü"],
    },
  },
  {
    call: "encodings",
    given: { text: "four" },
    answer: { hex: "666f7572", plain: "Zm91cg==", bare: "Zm91cg", url: "Zm91cg==", back: Array(4).fill("four") },
  },
  {
    call: "ciphers",
    given: { text: "under the rose", key16: KEY_16, key32: KEY_32 },
    answer: { lengths: [30, 30], back: ["under the rose", "under the rose"] },
  },
  {
    call: "web_token",
    given: { key: "secret", claim: "seven" },
    answer: {
      token: "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJjbGFpbSI6InNldmVuIn0.{signature}",
    },
  },
  { call: "signed_token", given: { key: "{rsa}", claim: "seven" } },
  { call: "passwords", given: { text: "correct horse" }, answer: { begins: "$2a$", right: true, wrong: false } },
  { call: "chance", given: { count: 33 }, answer: { bytes: 33, length: 36, differ: true } },
  // 2026-11-23 12:00 UTC is a Monday.
  {
    call: "crons",
    given: { expression: "0 9 * * 1", at: 1795435200 },
    answer: { next: 1796029200, prev: 1795424400 },
  },
  {
    call: "json",
    given: { value: { number: 41.5, text: "\u00e9\n\"", list: [true, false], deep: { a: { b: { c: 1 } } } } },
    answer: {
      value: { number: 41.5, text: "\u00e9\n\"", list: [true, false], deep: { a: { b: { c: 1 } } } },
      number: 42.5,
      length: 2,
    },
  },
  { call: "clock", given: { now: "{now}" }, answer: { is_near: true } },
  {
    call: "cache",
    given: { key: "k", value: "kept" },
    answer: { before: "none", there: "kept", is_gone: true, cleared: "cleared" },
  },
  {
    call: "sql",
    given: { place: "Oslo", name: "ann" },
    answer: { changed: 1, rows: [{ username: "ann", location: "Oslo" }] },
  },
  { call: "metrics", given: { amount: 5 }, answer: { done: true } },
  {
    call: "http",
    given: { url: "{url}/x?y=1", method: "post", headers: { "X-Asked": "yes" }, body: "hello" },
    answer: { code: 201, header: "POST /x?y=1 yes", body: "heard hello" },
  },
  { call: "file", given: { path: "data/words.txt" }, answer: { text: "one\ntwo\n" } },
  {
    call: "context",
    answer: {
      user_id: "{ann}",
      username: "ann",
      mode: "rpc",
      game: "twins",
      mood: "calm",
      has_time: true,
      has_address: true,
    },
  },
  { call: "config", answer: { name: "twins", has_times: true } },
  { call: "log", given: { text: "a line of the twins" }, answer: { done: true } },
  { call: "refuse", given: { message: "not now", code: 9 }, status: 400, code: 9, message: "not now" },
  { call: "refuse", given: { message: "who are you", code: 16 }, status: 401, code: 16, message: "who are you" },
  { call: "caught", given: { key: "k" }, answer: { is_refused: true } },
  { call: "not_there", status: 404, code: 5 },

  {
    call: "account_change",
    given: { id: "{bob}" },
    answer: {
      user: {
        user_id: "{bob}",
        username: "bob",
        display_name: "The Great",
        avatar_url: "https://example.com/a.png",
        lang_tag: "de",
        location: "Berlin",
        timezone: "Europe/Berlin",
        metadata: { level: 7 },
        edge_count: 0,
        online: true,
        create_time: "{time}",
        update_time: "{time}",
      },
      custom_id: "twins-bob",
      wallet: {},
    },
  },
  {
    call: "accounts_read",
    given: { ids: ["{ann}", "{bob}"], names: ["bob"] },
    like: { names: ["ann", "bob"], by_id: 2, by_name: { user_id: "{bob}", username: "bob", lang_tag: "de" } },
  },
  { call: "account_export", given: { id: "{ann}" }, answer: { is_text: true } },
  { call: "users_random", given: { count: 2 }, answer: { count: 2 } },
  { call: "account_delete", given: { custom: "twins-short-life", name: "short" }, answer: { left: 0 } },
  {
    call: "sign_in",
    given: {
      custom: "twins-made",
      name: "made",
      device: "twins-device-1",
      device_name: "device",
      email: "made@example.com",
      email_name: "mail",
      password: "password1",
    },
    answer: { name: "made", created: true, is_same: true, again: false, device: "device", mail: "mail" },
  },
  { call: "sign_in_wrong", given: { email: "made@example.com" }, status: 500, code: 13 },
  {
    call: "session_token",
    given: { id: "{bob}", name: "bob", expires_at: 4102444800 },
    like: { exp: 4102444800 },
  },
  {
    call: "links",
    given: {
      id: "{ann}",
      custom: "twins-linked",
      device: "twins-device-2",
      email: "linked@example.com",
      password: "password1",
    },
    answer: {
      custom: "twins-linked",
      email: "linked@example.com",
      devices: 2,
      has_custom: false,
      has_email: false,
      left: 1,
      is_last: true,
    },
  },
  { call: "bans", given: { id: "{carl}" }, answer: { is_banned: true, is_pardoned: true } },

  {
    call: "storage_write",
    given: { objects: OBJECTS },
    answer: { acks: OBJECTS.map(({ key }) => ({ ...ACK, key })) },
  },
  {
    call: "storage_read",
    given: { ids: [OBJECT, { ...OBJECT, key: "none" }] },
    answer: {
      objects: [{ ...WHOLE, value: OBJECTS[0].value, permission_read: 2, permission_write: 0 }],
    },
  },
  // Without permissions objects are the owner's to read and to write.
  {
    call: "storage_read",
    given: { ids: [{ ...OBJECT, key: "two" }] },
    answer: { objects: [{ ...WHOLE, key: "two", value: { level: 4 }, permission_read: 1, permission_write: 1 }] },
  },
  {
    call: "storage_pages",
    given: { id: "{ann}", collection: "saves", limit: 2 },
    answer: { keys: ["three", "two", "one"], pages: 2 },
  },
  { call: "storage_write", given: { objects: [OBJECTS[2]] }, status: 500, code: 13 },
  { call: "storage_delete", given: { ids: [OBJECT] }, answer: { left: 0 } },
  { call: "storage_race", given: { collection: "race", key: "r" }, answer: { is_late: true, round: 2 } },

  {
    call: "wallet",
    given: { id: "{ann}", changes: { gold: 100, gems: 2 } },
    answer: { updated: { gold: 100, gems: 2 }, previous: {} },
  },
  {
    call: "wallet",
    given: { id: "{ann}", changes: { gold: -30 } },
    answer: { updated: { gold: 70, gems: 2 }, previous: { gold: 100, gems: 2 } },
  },
  { call: "wallet", given: { id: "{ann}", changes: { gold: -71 } }, status: 500, code: 13 },
  {
    call: "wallets",
    given: { ids: ["{ann}", "{bob}"], changes: { gold: 5 } },
    answer: {
      changed: [
        { user_id: "{ann}", updated: { gold: 75, gems: 2 }, previous: { gold: 70, gems: 2 } },
        { user_id: "{bob}", updated: { gold: 5 }, previous: {} },
      ],
    },
  },
  {
    call: "ledger",
    given: { id: "{ann}", limit: 2 },
    answer: {
      amounts: [
        { change: { gold: 5 }, why: { reason: "round" } },
        { change: { gold: -30 }, why: { reason: "gift" } },
        { change: { gold: 100, gems: 2 }, why: { reason: "gift" } },
      ],
      pages: 2,
    },
  },
  { call: "ledger_note", given: { id: "{bob}", note: "seen" }, like: { noted: { note: "seen" } } },
  {
    call: "multi",
    given: { id: "{ann}" },
    answer: {
      acks: [{ ...ACK, collection: "multi" }],
      wallets: [{ user_id: "{ann}", updated: { gold: 75, gems: 5 }, previous: { gold: 75, gems: 2 } }],
      name: "Multi",
    },
  },
  { call: "multi_refused", given: { id: "{ann}" }, answer: { is_refused: true, keys: 1, key: "one" } },

  { call: "notify", given: { id: "{bob}", sender: "{ann}" }, answer: { done: true } },
  {
    call: "notifications",
    given: { id: "{bob}" },
    answer: {
      subjects: ["gift", "first", "second"],
      codes: [10, 21, 22],
      read: "changed",
      content: { n: 3 },
      left: 1,
    },
  },
  {
    call: "notify_all",
    given: { text: "hear, hear" },
    answer: { done: true },
    heard: ["bob", "notification", ["gift", "hint", "first", "second", "all"]],
  },
  {
    call: "chat",
    given: { id: "{ann}", name: "ann", room: "lounge" },
    answer: {
      channel: "2...lounge",
      heard: [{ code: 0, sender: "{ann}", name: "ann", content: { text: "two" } }],
    },
  },
  {
    call: "stream_join",
    over: "socket",
    given: { label: "field" },
    answer: { first: true, again: false, status: "old", name: "ann", count: 1 },
  },
  {
    call: "stream_talk",
    given: { label: "field" },
    answer: { count: 1, name: "ann", hidden: false },
    heard: ["ann", "streamData", ["to all", "to one", "raw"]],
  },
  {
    call: "stream_leave",
    over: "socket",
    given: { label: "field" },
    answer: { left: 0, hidden: 1, kicked: 0, closed: 0 },
  },
  { call: "status", over: "socket", given: { id: "{bob}" }, answer: { done: true } },
  { call: "parties", answer: { count: 0 } },
  { call: "match_missing", given: { id: "11111111-2222-4333-8444-555555555555.muster" }, answer: { is_missing: true } },
  { call: "match_make", given: { handler: "nobody", params: {} }, status: 500, code: 13 },
  { call: "match_make", given: { handler: "signals", params: { fails: true } }, status: 500, code: 13 },
];
