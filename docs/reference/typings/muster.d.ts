// What game code in JavaScript and TypeScript finds on a Muster server. Generated: `muster types` writes it.

declare namespace nkruntime {
  const SystemUserId: string;

  /** What errors mean: `throw { message, code }` tells both to who called. */
  const enum Codes {
    CANCELLED = 1, UNKNOWN, INVALID_ARGUMENT, DEADLINE_EXCEEDED, NOT_FOUND, ALREADY_EXISTS, PERMISSION_DENIED, RESOURCE_EXHAUSTED,
    FAILED_PRECONDITION, ABORTED, OUT_OF_RANGE, UNIMPLEMENTED, INTERNAL, UNAVAILABLE, DATA_LOSS, UNAUTHENTICATED,
  }

  interface Error {
    message: string;
    code: Codes;
  }

  /** Who asks, and what for. */
  interface Context {
    env: { [key: string]: string };
    executionMode: string;
    node: string;
    version: string;
    headers: { [key: string]: string[] };
    queryParams: { [key: string]: string[] };
    userId: string;
    username: string;
    vars: { [key: string]: string };
    userSessionExp: number;
    sessionId: string;
    clientIp: string;
    clientPort: string;
    lang: string;
    traceId: string;
    matchId: string;
    matchNode: string;
    matchLabel: string;
    matchTickRate: number;
  }

  interface Logger {
    debug(format: string, ...values: any[]): void;
    info(format: string, ...values: any[]): void;
    warn(format: string, ...values: any[]): void;
    error(format: string, ...values: any[]): void;
    withField(name: string, value: string): Logger;
    withFields(fields: { [key: string]: string }): Logger;
    getFields(): { [key: string]: string };
  }

  type InitModule = (ctx: Context, logger: Logger, nk: Nakama, initializer: Initializer) => void | Promise<void>;
  type RpcFunction = (ctx: Context, logger: Logger, nk: Nakama, payload: string) => string | void | Promise<string | void>;
  type BeforeHookFunction<T> = (ctx: Context, logger: Logger, nk: Nakama, data: T) => T | void | null;
  type AfterHookFunction<T, K> = (ctx: Context, logger: Logger, nk: Nakama, data: T, request: K) => void;
  type RtBeforeHookFunction<T> = (ctx: Context, logger: Logger, nk: Nakama, envelope: T) => T | void | null;
  type RtAfterHookFunction<T> = (ctx: Context, logger: Logger, nk: Nakama, output: T | null, input: T) => void;
  type EventFunction = (ctx: Context, logger: Logger, nk: Nakama, event: Event) => void;
  type ScheduleFunction = (ctx: Context, logger: Logger, nk: Nakama, due: number) => void;
  type MatchmakerMatchedFunction = (ctx: Context, logger: Logger, nk: Nakama, matches: MatchmakerResult[]) => string | void;
  type ShutdownFunction = (ctx: Context, logger: Logger, nk: Nakama, graceSeconds: number) => void;

  /** A request to a route, see `registerHttp`. */
  interface RouteRequest {
    method: string;
    path: string;
    pathParams: { [key: string]: string };
    query: { [key: string]: string[] };
    headers: { [key: string]: string[] };
    body: ArrayBuffer;
    clientIp: string;
  }

  interface RouteResponse {
    status?: number;
    headers?: { [key: string]: string | string[] };
    body?: string | ArrayBuffer | Uint8Array;
  }

  type RouteFunction = (ctx: Context, logger: Logger, nk: Nakama, request: RouteRequest) => RouteResponse | string | void | null;

  interface Event {
    name: string;
    properties: { [key: string]: string };
    timestamp?: number;
    external: boolean;
  }

  interface MatchmakerResult {
    presence: Presence;
    partyId: string;
    properties: { [key: string]: any };
  }

  interface MatchMessage {
    sender: Presence;
    opCode: number;
    data: ArrayBuffer;
    reliable: boolean;
    receiveTimeMs: number;
  }

  interface MatchDispatcher {
    broadcastMessage(opCode: number, data?: string | ArrayBuffer | Uint8Array | null, presences?: Presence[] | null, sender?: Presence | null, reliable?: boolean): void;
    broadcastMessageDeferred(opCode: number, data?: string | ArrayBuffer | Uint8Array | null, presences?: Presence[] | null, sender?: Presence | null, reliable?: boolean): void;
    matchKick(presences: Presence[]): void;
    matchLabelUpdate(label: string): void;
  }

  type MatchState = { [key: string]: any };
  type MatchInitFunction<T = MatchState> =
    (ctx: Context, logger: Logger, nk: Nakama, params: { [key: string]: any }) => { state: T; tickRate: number; label: string };
  type MatchJoinAttemptFunction<T = MatchState> =
    (ctx: Context, logger: Logger, nk: Nakama, dispatcher: MatchDispatcher, tick: number, state: T, presence: Presence, metadata: { [key: string]: any }) => { state: T; accept: boolean; rejectMessage?: string } | null;
  type MatchJoinFunction<T = MatchState> =
    (ctx: Context, logger: Logger, nk: Nakama, dispatcher: MatchDispatcher, tick: number, state: T, presences: Presence[]) => { state: T } | null;
  type MatchLeaveFunction<T = MatchState> =
    (ctx: Context, logger: Logger, nk: Nakama, dispatcher: MatchDispatcher, tick: number, state: T, presences: Presence[]) => { state: T } | null;
  type MatchLoopFunction<T = MatchState> =
    (ctx: Context, logger: Logger, nk: Nakama, dispatcher: MatchDispatcher, tick: number, state: T, messages: MatchMessage[]) => { state: T } | null;
  type MatchTerminateFunction<T = MatchState> =
    (ctx: Context, logger: Logger, nk: Nakama, dispatcher: MatchDispatcher, tick: number, state: T, graceSeconds: number) => { state: T } | null;
  type MatchSignalFunction<T = MatchState> =
    (ctx: Context, logger: Logger, nk: Nakama, dispatcher: MatchDispatcher, tick: number, state: T, data: string) => { state: T; data?: string } | null;

  interface MatchHandler<T = MatchState> {
    matchInit: MatchInitFunction<T>;
    matchJoinAttempt: MatchJoinAttemptFunction<T>;
    matchJoin: MatchJoinFunction<T>;
    matchLeave: MatchLeaveFunction<T>;
    matchLoop: MatchLoopFunction<T>;
    matchTerminate: MatchTerminateFunction<T>;
    matchSignal: MatchSignalFunction<T>;
  }

  interface Initializer extends HookRegistrations {
    registerRpc(id: string, fn: RpcFunction): void;
    registerMatch<T = MatchState>(name: string, handler: MatchHandler<T>): void;
    registerMatchmakerMatched(fn: MatchmakerMatchedFunction): void;
    registerRtBefore(message: string, fn: RtBeforeHookFunction<any>): void;
    registerRtAfter(message: string, fn: RtAfterHookFunction<any>): void;
    registerEvent(fn: EventFunction): void;
    registerEventSessionStart(fn: EventFunction): void;
    registerEventSessionEnd(fn: EventFunction): void;
    registerSchedule(expression: string, fn: ScheduleFunction): void;
    registerHttp(path: string, fn: RouteFunction, ...methods: string[]): void;
    registerShutdown(fn: ShutdownFunction): void;
    getConfig(): { [key: string]: any };
  }

  interface User {
    userId: string;
    username: string;
    displayName: string;
    avatarUrl: string;
    langTag: string;
    location: string;
    timezone: string;
    metadata: { [key: string]: any };
    appleId?: string;
    facebookId?: string;
    facebookInstantGameId?: string;
    googleId?: string;
    gamecenterId?: string;
    steamId?: string;
    online: boolean;
    edgeCount: number;
    createTime: number;
    updateTime: number;
  }

  interface AccountDevice {
    id: string;
  }

  interface Account {
    userId: string;
    user: User;
    wallet: { [key: string]: number };
    devices: AccountDevice[];
    email?: string;
    customId?: string;
    verifyTime?: number;
    disableTime?: number;
  }

  interface UserUpdateAccount {
    userId: string;
    username?: string;
    displayName?: string;
    timezone?: string;
    location?: string;
    langTag?: string;
    avatarUrl?: string;
    metadata?: { [key: string]: any };
  }

  interface ChannelMessageAck {
    channelId: string;
    messageId: string;
    code: number;
    username: string;
    createTime: number;
    updateTime: number;
    persistent: boolean;
  }

  interface ChannelMessage {
    channelId: string;
    messageId: string;
    code: number;
    senderId: string;
    username: string;
    content: string;
    createTime: number;
    updateTime: number;
    persistent: boolean;
    roomName?: string;
    groupId?: string;
    userIdOne?: string;
    userIdTwo?: string;
  }

  interface Match {
    matchId: string;
    authoritative: boolean;
    label?: string;
    size: number;
    tickRate: number;
    handlerName: string;
  }

  interface NotificationRequest {
    userId: string;
    subject: string;
    content: { [key: string]: any };
    code: number;
    senderId?: string;
    persistent?: boolean;
  }

  interface NotificationDeleteRequest {
    userId: string;
    notificationId: string;
  }

  interface NotificationUpdate {
    id: string;
    subject?: string;
    content?: { [key: string]: any };
    sender?: string;
  }

  interface Notification {
    id: string;
    userId: string;
    subject: string;
    content: { [key: string]: any };
    code: number;
    senderId: string;
    createTime: number;
    persistent: boolean;
  }

  interface Party {
    partyId: string;
    open: boolean;
    hidden: boolean;
    maxSize: number;
    label: string;
  }

  interface StorageReadRequest {
    collection: string;
    key: string;
    userId?: string;
  }

  interface StorageWriteRequest {
    collection: string;
    key: string;
    userId?: string;
    value: { [key: string]: any };
    version?: string;
    permissionRead?: number;
    permissionWrite?: number;
  }

  interface StorageDeleteRequest {
    collection: string;
    key: string;
    userId?: string;
    version?: string;
  }

  interface StorageObject {
    collection: string;
    key: string;
    userId: string;
    value: { [key: string]: any };
    version: string;
    permissionRead: number;
    permissionWrite: number;
    createTime: number;
    updateTime: number;
  }

  interface StorageWriteAck {
    collection: string;
    key: string;
    userId: string;
    version: string;
    createTime: number;
    updateTime: number;
  }

  interface Stream {
    mode: number;
    subject?: string;
    subcontext?: string;
    label?: string;
  }

  interface PresenceOfUser {
    userId: string;
    sessionId: string;
  }

  interface Presence {
    userId: string;
    sessionId: string;
    username: string;
    node: string;
    nodeId?: string;
    hidden?: boolean;
    persistence?: boolean;
    status?: string;
    reason?: number;
  }

  interface WalletUpdate {
    userId: string;
    changeset: { [key: string]: number };
    metadata?: { [key: string]: any };
  }

  interface WalletUpdateResult {
    userId: string;
    updated: { [key: string]: number };
    previous: { [key: string]: number };
  }

  interface WalletLedgerItem {
    id: string;
    userId: string;
    createTime: number;
    updateTime: number;
    changeset: { [key: string]: number };
    metadata: { [key: string]: any };
  }

  /** The functions of the server. */
  interface Nakama {
    binaryToString(data: ArrayBuffer | Uint8Array): string;
    stringToBinary(text: string): ArrayBuffer;
    /**
     * Reads an account. Answers the account: user, user_id, wallet, devices, and where there are any email, custom_id,
     * verify_time, disable_time.
     */
    accountGetId(userId: string): Account;
    /**
     * Reads accounts. Answers the accounts that exist, each as account_get_id answers it.
     */
    accountsGetId(userIds: string[]): Account[];
    /**
     * Changes what is given of an account.
     */
    accountUpdateId(userId: string, username?: string | null, displayName?: string | null, timezone?: string | null, location?: string | null, langTag?: string | null, avatarUrl?: string | null, metadata?: { [key: string]: any } | null): void;
    /**
     * Deletes an account and all that names its player; sockets close. Recorded, its id and the time are kept.
     */
    accountDeleteId(userId: string, recorded?: boolean | null): void;
    /**
     * Exports all that is stored of a player. Answers a JSON text.
     */
    accountExportId(userId: string): string;
    /**
     * Reads the public part of accounts drawn at random, at most 1,000. Answers users.
     */
    usersGetRandom(count: number): User[];
    /**
     * Reads the public part of accounts. Answers the users that exist.
     */
    usersGetId(userIds?: string[] | null, facebookIds?: string[] | null): User[];
    /**
     * Reads the public part of accounts, by their names. Answers the users that exist.
     */
    usersGetUsername(usernames: string[]): User[];
    /**
     * Finds the account of a device, or makes it. Answers the user's id, the user's name, and whether the account was
     * made.
     */
    authenticateDevice(id: string, username?: string | null, create?: boolean | null): { userId: string; username: string; created: boolean };
    /**
     * Finds the account of an id of the studio's own, or makes it. Answers the user's id, the user's name, and whether the
     * account was made.
     */
    authenticateCustom(id: string, username?: string | null, create?: boolean | null): { userId: string; username: string; created: boolean };
    /**
     * Finds the account of an e-mail address and checks its password, or makes it. Without an address the name leads to
     * the account. Answers the user's id, the user's name, and whether the account was made.
     */
    authenticateEmail(email: string, password: string, username?: string | null, create?: boolean | null): { userId: string; username: string; created: boolean };
    /**
     * Makes a session token for a user. Without a name it has the account's, without a time the usual life. Answers a
     * session token, and when it expires.
     */
    authenticateTokenGenerate(userId: string, username?: string | null, expiresAt?: number | null, vars?: { [key: string]: string } | null): { token: string; exp: number };
    /**
     * Names a channel as players would find it: a room by its name (type 1), the conversation of sender and target (2), or
     * a group's (3). A sender must be one who may join it. Answers the channel's id.
     */
    channelIdBuild(senderId: string | null | undefined, target: string, type: number): string;
    /**
     * Says something in a channel, by default as the server and to be kept. Those who are there have it at once. Answers
     * channel_id, message_id, code, username, create_time, update_time, persistent.
     */
    channelMessageSend(channelId: string, content: { [key: string]: any }, senderId?: string | null, senderUsername?: string | null, persist?: boolean | null): ChannelMessageAck;
    /**
     * Changes what this sender said in a channel. Answers channel_id, message_id, code, username, create_time,
     * update_time, persistent.
     */
    channelMessageUpdate(channelId: string, messageId: string, content: { [key: string]: any }, senderId?: string | null, senderUsername?: string | null, persist?: boolean | null): ChannelMessageAck;
    /**
     * Removes what this sender said in a channel. Answers channel_id, message_id, code, username, create_time,
     * update_time, persistent.
     */
    channelMessageRemove(channelId: string, messageId: string, senderId?: string | null, senderUsername?: string | null, persist?: boolean | null): ChannelMessageAck;
    /**
     * Lists what was said in a channel, oldest first unless asked otherwise. Answers the messages, the cursors of the next
     * and the previous page if there are such, and one for what is newer, whenever it is asked for.
     */
    channelMessagesList(channelId: string, limit?: number | null, forward?: boolean | null, cursor?: string | null): { messages: ChannelMessage[]; nextCursor?: string; prevCursor?: string; cacheableCursor?: string };
    /**
     * Encrypts bytes by AES-128 in CFB mode, with a key of 16 bytes. Answers the encrypted bytes.
     */
    aes128Encrypt(input: string | ArrayBuffer | Uint8Array, key: string): string;
    /**
     * Decrypts what aes128_encrypt encrypted with this key. Answers the bytes.
     */
    aes128Decrypt(input: string | ArrayBuffer | Uint8Array, key: string): string;
    /**
     * Encrypts bytes by AES-256 in CFB mode, with a key of 32 bytes. Answers the encrypted bytes.
     */
    aes256Encrypt(input: string | ArrayBuffer | Uint8Array, key: string): string;
    /**
     * Decrypts what aes256_encrypt encrypted with this key. Answers the bytes.
     */
    aes256Decrypt(input: string | ArrayBuffer | Uint8Array, key: string): string;
    /**
     * The first moment after another that a cron expression names, in UTC. Answers seconds since 1970.
     */
    cronNext(expression: string, timestamp: number): number;
    /**
     * The last moment before another that a cron expression names, in UTC. Answers seconds since 1970.
     */
    cronPrev(expression: string, timestamp: number): number;
    /**
     * The MD5 digest of a text. It protects nothing against anybody. Answers the digest in hexadecimal.
     */
    md5Hash(input: string | ArrayBuffer | Uint8Array): string;
    /**
     * The SHA-256 digest of a text. Answers the digest in hexadecimal.
     */
    sha256Hash(input: string | ArrayBuffer | Uint8Array): string;
    /**
     * The authentication code of a text under a key, by HMAC with SHA-256. Answers the code's 32 bytes.
     */
    hmacSha256Hash(input: string | ArrayBuffer | Uint8Array, key: string | ArrayBuffer | Uint8Array): ArrayBuffer;
    /**
     * Adds to a total on the page of metrics.
     */
    metricsCounterAdd(name: string, tags: { [key: string]: string } | null | undefined, delta: number): void;
    /**
     * Sets a value on the page of metrics.
     */
    metricsGaugeSet(name: string, tags: { [key: string]: string } | null | undefined, value: number): void;
    /**
     * Notes a duration, in nanoseconds, in a distribution on the page of metrics, which is in seconds.
     */
    metricsTimerRecord(name: string, tags: { [key: string]: string } | null | undefined, value: number): void;
    /**
     * Writes a value as JSON. A table with a first element is a list, any other an object. Answers the JSON text.
     */
    jsonEncode(value?: any | null): string;
    /**
     * Reads a JSON text. Answers the value.
     */
    jsonDecode(input: string): any;
    /**
     * Writes bytes in hexadecimal. Answers the hexadecimal text.
     */
    base16Encode(input: string | ArrayBuffer | Uint8Array): string;
    /**
     * Reads a hexadecimal text. Answers the bytes.
     */
    base16Decode(input: string): ArrayBuffer;
    /**
     * Writes bytes in base 64, with padding unless told otherwise. Answers the text in base 64.
     */
    base64Encode(input: string | ArrayBuffer | Uint8Array, padding?: boolean | null): string;
    /**
     * Reads a text in base 64, with padding unless told otherwise. Answers the bytes.
     */
    base64Decode(input: string, padding?: boolean | null): ArrayBuffer;
    /**
     * Writes bytes in base 64 as it may stand in addresses, with padding unless told otherwise. Answers the text in base
     * 64.
     */
    base64UrlEncode(input: string | ArrayBuffer | Uint8Array, padding?: boolean | null): string;
    /**
     * Reads a text in base 64 as it may stand in addresses, with padding unless told otherwise. Answers the bytes.
     */
    base64UrlDecode(input: string, padding?: boolean | null): ArrayBuffer;
    /**
     * A new random id. Answers the id as text.
     */
    uuidv4(): string;
    /**
     * The text of an id that is given as its 16 bytes. Answers the id as text.
     */
    uuidBytesToString(bytes: string | ArrayBuffer | Uint8Array): string;
    /**
     * The bytes of an id that is given as text. Answers the id's 16 bytes.
     */
    uuidStringToBytes(id: string): ArrayBuffer;
    /**
     * Reports an event to the functions registered for events. Nobody waits until they have heard of it.
     */
    event(name: string, properties?: { [key: string]: string } | null, timestamp?: number | null, external?: boolean | null): void;
    /**
     * Reads a file below the folder of the modules. Answers what it holds.
     */
    fileRead(path: string): string;
    /**
     * The part of the server's configuration that game code may need. Answers name, shutdown_grace_sec, logger, session,
     * socket and runtime, each of the last four with its settings.
     */
    getConfig(): { [key: string]: any };
    /**
     * Asks another server. The timeout is in milliseconds, 5,000 without one. Insecure requests take any certificate.
     * Answers the status, the headers by name, and the body.
     */
    httpRequest(url: string, method: string, headers?: { [key: string]: any } | null, body?: string | ArrayBuffer | Uint8Array | null, timeout?: number | null, insecure?: boolean | null): { code: number; headers: { [key: string]: string[] }; body: string };
    /**
     * Links a device to an account.
     */
    linkDevice(userId: string, deviceId: string): void;
    /**
     * Links an id of the studio's own to an account.
     */
    linkCustom(userId: string, customId: string): void;
    /**
     * Links an e-mail address and a password to an account, instead of those there were.
     */
    linkEmail(userId: string, email: string, password: string): void;
    /**
     * Unlinks a device from an account, unless it is the last way to sign in.
     */
    unlinkDevice(userId: string, deviceId: string): void;
    /**
     * Unlinks an account's custom id, if it is this one or none is given, unless it is the last way to sign in.
     */
    unlinkCustom(userId: string, customId?: string | null): void;
    /**
     * Unlinks an account's e-mail address, if it is this one or none is given, unless it is the last way to sign in.
     */
    unlinkEmail(userId: string, email?: string | null): void;
    /**
     * Reads what all game code of this process keeps under a key. Answers a copy of the value; without one the default.
     */
    localcacheGet(key: string, defaultValue?: any | null): any;
    /**
     * Keeps a copy of a value for all game code of this process, for so many seconds, or without an end if they are 0.
     */
    localcachePut(key: string, value?: any | null, ttl?: number | null): void;
    /**
     * Forgets what is kept under a key.
     */
    localcacheDelete(key: string): void;
    /**
     * Forgets everything that is kept in this process.
     */
    localcacheClear(): void;
    /**
     * Writes a line to the log, for developers.
     */
    loggerDebug(message: string): void;
    /**
     * Writes a line to the log.
     */
    loggerInfo(message: string): void;
    /**
     * Writes a warning to the log.
     */
    loggerWarn(message: string): void;
    /**
     * Writes an error to the log.
     */
    loggerError(message: string): void;
    /**
     * Makes a match whose callbacks the module of this name has. It is there once match_init has returned. Answers the
     * match's id.
     */
    matchCreate(module: string, params?: { [key: string]: any } | null): string;
    /**
     * A match by its id: its label, its number of players, and of one that game code runs its handler and tick rate.
     * Answers the match, or nothing if there is none.
     */
    matchGet(id: string): Match | null;
    /**
     * Lists matches, one if no limit is given. Answers matches, the best first and among equals the newest.
     */
    matchList(limit?: number | null, authoritative?: boolean | null, label?: string | null, minSize?: number | null, maxSize?: number | null, query?: string | null): Match[];
    /**
     * Says something to the handler of a match, and waits for its answer. Answers what match_signal of the handler
     * answered.
     */
    matchSignal(id: string, data?: string | null): string;
    /**
     * Sends a notification. One that is persistent waits until it is deleted; others reach who is connected.
     */
    notificationSend(userId: string, subject: string, content: { [key: string]: any }, code: number, senderId?: string | null, persistent?: boolean | null): void;
    /**
     * Sends notifications, all or none. Each has user_id, subject, content, code, and where needed sender_id and
     * persistent.
     */
    notificationsSend(notifications: NotificationRequest[]): void;
    /**
     * Sends a notification to everybody: to who is connected, or if it is persistent to every user, which goes on after
     * the function has answered.
     */
    notificationSendAll(subject: string, content: { [key: string]: any }, code: number, persistent?: boolean | null): void;
    /**
     * Lists the persistent notifications of a user, 1 to 1,000 of them. Answers the notifications that wait for a user,
     * oldest first, and the cursor of the next page if there is one.
     */
    notificationsList(userId: string, limit?: number | null, cursor?: string | null): { notifications: Notification[]; cursor?: string };
    /**
     * Reads persistent notifications by their ids; with a user only those of that user. Answers those of the notifications
     * that there are, in the order asked for.
     */
    notificationsGetId(ids: string[], userId?: any | null): Notification[];
    /**
     * Deletes notifications, each named by user_id and notification_id.
     */
    notificationsDelete(notifications: NotificationDeleteRequest[]): void;
    /**
     * Deletes notifications by their ids; with a user only those of that user.
     */
    notificationsDeleteId(ids: string[], userId?: any | null): void;
    /**
     * Changes persistent notifications, all or none. Each update has id, and of subject, content and sender what changes.
     */
    notificationsUpdate(updates: NotificationUpdate[]): void;
    /**
     * Lists parties that are not hidden, 1 to 100 of them, the best match first. Answers the parties: party_id, open,
     * hidden, max_size, label; and the cursor of the next page if there is one.
     */
    partyList(limit?: number | null, open?: boolean | null, query?: string | null, cursor?: string | null): { parties: Party[]; cursor?: string };
    /**
     * A hash of a password of at most 72 bytes by bcrypt, with a random salt. Answers the hash.
     */
    bcryptHash(input: string): string;
    /**
     * Whether a hash by bcrypt is that of a password. Answers whether it is.
     */
    bcryptCompare(hash: string, plaintext: string): boolean;
    /**
     * Random bytes that nobody can foretell. Answers the bytes.
     */
    secureRandomBytes(length: number): ArrayBuffer;
    /**
     * Closes a session's socket, wherever it is. The token stays valid. The reason is one of the protocol's, 0 to 4.
     */
    sessionDisconnect(sessionId: string, reason?: number | null): void;
    /**
     * Voids the tokens given, or without any all of the user's. Their sockets close.
     */
    sessionLogout(userId: string, token?: string | null, refreshToken?: string | null): void;
    /**
     * Bans users: they cannot sign in, their tokens are void, their sockets are told and close. At most 1,000 at once.
     */
    usersBanId(userIds: string[]): void;
    /**
     * Pardons users, at most 1,000 at once. They sign in anew.
     */
    usersUnbanId(userIds: string[]): void;
    /**
     * A JSON web token. The algorithm is HS256, HS384 or HS512 with a secret as its key, or RS256, RS384 or RS512 with an
     * RSA key in PEM. Answers the token.
     */
    jwtGenerate(algorithm: string, key: string, claims: { [key: string]: any }): string;
    /**
     * Signs bytes by RSA (PKCS #1 v1.5) with SHA-256. The key is in PEM. Answers the signature's bytes.
     */
    rsaSha256Hash(input: string | ArrayBuffer | Uint8Array, key: string): string;
    /**
     * Runs a statement of SQL, as a transaction of its own. Parameters are written $1, $2. Answers how many rows were
     * changed.
     */
    sqlExec(statement: string, parameters?: any[] | null): { rowsAffected: number };
    /**
     * Runs a statement of SQL, as a transaction of its own, and answers its rows. Parameters are written $1, $2. Answers
     * the rows, each with its values by the columns' names.
     */
    sqlQuery(statement: string, parameters?: any[] | null): { [key: string]: any }[];
    /**
     * Reads objects, each named by collection, key and user_id; without user_id they are the server's own. Answers the
     * objects that exist, each with collection, key, user_id, value, version, permission_read, permission_write,
     * create_time, update_time.
     */
    storageRead(objectIds: StorageReadRequest[]): StorageObject[];
    /**
     * Writes objects, all or none. Each has collection, key, user_id, value (a table), and where needed version,
     * permission_read and permission_write. Answers for each object its collection, key, user_id and version, in the order
     * asked for.
     */
    storageWrite(objects: StorageWriteRequest[]): StorageWriteAck[];
    /**
     * Deletes objects, all or none, each named by collection, key and user_id, and where needed version.
     */
    storageDelete(objectIds: StorageDeleteRequest[]): void;
    /**
     * Lists the objects of a collection: those of a user, or everybody's. With a caller only what that player may read.
     * Answers the objects, and the cursor of the next page if there is one.
     */
    storageList(userId: string | null | undefined, collection: string, limit?: number | null, cursor?: string | null, callerId?: string | null): { objects: StorageObject[]; cursor?: string };
    /**
     * Lists who is on a stream. Answers the presences: user_id, session_id, username, node, hidden, persistence, status.
     */
    streamUserList(stream: Stream, includeHidden?: boolean | null, includeNotHidden?: boolean | null): Presence[];
    /**
     * Looks up a session on a stream. Answers the presence as stream_user_list answers it, or nil.
     */
    streamUserGet(userId: string, sessionId: string, stream: Stream): Presence | null;
    /**
     * Brings a session to a stream. Answers whether the session was not there before.
     */
    streamUserJoin(userId: string, sessionId: string, stream: Stream, hidden?: boolean | null, persistence?: boolean | null, status?: string | null): boolean;
    /**
     * Changes as what a session is on a stream.
     */
    streamUserUpdate(userId: string, sessionId: string, stream: Stream, hidden?: boolean | null, persistence?: boolean | null, status?: string | null): void;
    /**
     * Takes a session from a stream.
     */
    streamUserLeave(userId: string, sessionId: string, stream: Stream): void;
    /**
     * Takes a session, named by user_id and session_id, from a stream.
     */
    streamUserKick(presence: PresenceOfUser, stream: Stream): void;
    /**
     * Counts who is on a stream. Answers how many presences there are, hidden ones included.
     */
    streamCount(stream: Stream): number;
    /**
     * Takes everybody from a stream.
     */
    streamClose(stream: Stream): void;
    /**
     * Sends a text to those on a stream: to all of them, or to those among the presences given.
     */
    streamSend(stream: Stream, data: string, presences?: Presence[] | null, reliable?: boolean | null): void;
    /**
     * Sends a message of the realtime protocol, as its JSON would be, to those on a stream.
     */
    streamSendRaw(stream: Stream, envelope: { [key: string]: any }, presences?: Presence[] | null, reliable?: boolean | null): void;
    /**
     * Has a session hear the status of users, at most 1,000 at once.
     */
    statusFollow(sessionId: string, userIds: string[]): void;
    /**
     * Has a session hear the status of users no more.
     */
    statusUnfollow(sessionId: string, userIds: string[]): void;
    /**
     * The present moment. Answers milliseconds since 1970.
     */
    time(): number;
    /**
     * Adds amounts to a player's wallet; less than nothing takes away. Nothing changes if anything would fall below zero.
     * The ledger gets a line if it is asked for. Answers what the wallet holds then, and what it held before.
     */
    walletUpdate(userId: string, changeset: { [key: string]: number }, metadata?: { [key: string]: any } | null, updateLedger?: boolean | null): { updated: { [key: string]: number }; previous: { [key: string]: number } };
    /**
     * Changes wallets, all or none. Each update has user_id, changeset, and where needed metadata. Answers for each wallet
     * its user_id, updated and previous.
     */
    walletsUpdate(updates: WalletUpdate[], updateLedger?: boolean | null): WalletUpdateResult[];
    /**
     * Lists the changes of a player's wallet that were written into the ledger. Answers the items, newest first, and the
     * cursor of the next page if there is one.
     */
    walletLedgerList(userId: string, limit?: number | null, cursor?: string | null): { items: WalletLedgerItem[]; cursor?: string };
    /**
     * Adds metadata to that of an item of the ledger. Answers the item.
     */
    walletLedgerUpdate(itemId: string, metadata: { [key: string]: any }): WalletLedgerItem;
    /**
     * Changes accounts, objects and wallets together, all or nothing. Answers what became of the written objects, and of
     * the wallets.
     */
    multiUpdate(accountUpdates?: UserUpdateAccount[] | null, storageWrites?: StorageWriteRequest[] | null, storageDeletes?: StorageDeleteRequest[] | null, walletUpdates?: WalletUpdate[] | null, updateLedger?: boolean | null): { storageWriteAcks: StorageWriteAck[]; walletUpdateAcks: WalletUpdateResult[] };
  }

  interface HookRegistrations {
    registerBeforeSessionRefresh(fn: BeforeHookFunction<any>): void;
    registerAfterSessionRefresh(fn: AfterHookFunction<any, any>): void;
    registerBeforeSessionLogout(fn: BeforeHookFunction<any>): void;
    registerAfterSessionLogout(fn: AfterHookFunction<any, any>): void;
    registerBeforeAuthenticateApple(fn: BeforeHookFunction<any>): void;
    registerAfterAuthenticateApple(fn: AfterHookFunction<any, any>): void;
    registerBeforeAuthenticateCustom(fn: BeforeHookFunction<any>): void;
    registerAfterAuthenticateCustom(fn: AfterHookFunction<any, any>): void;
    registerBeforeAuthenticateDevice(fn: BeforeHookFunction<any>): void;
    registerAfterAuthenticateDevice(fn: AfterHookFunction<any, any>): void;
    registerBeforeAuthenticateEmail(fn: BeforeHookFunction<any>): void;
    registerAfterAuthenticateEmail(fn: AfterHookFunction<any, any>): void;
    registerBeforeAuthenticateFacebook(fn: BeforeHookFunction<any>): void;
    registerAfterAuthenticateFacebook(fn: AfterHookFunction<any, any>): void;
    registerBeforeAuthenticateFacebookInstantGame(fn: BeforeHookFunction<any>): void;
    registerAfterAuthenticateFacebookInstantGame(fn: AfterHookFunction<any, any>): void;
    registerBeforeAuthenticateGameCenter(fn: BeforeHookFunction<any>): void;
    registerAfterAuthenticateGameCenter(fn: AfterHookFunction<any, any>): void;
    registerBeforeAuthenticateGoogle(fn: BeforeHookFunction<any>): void;
    registerAfterAuthenticateGoogle(fn: AfterHookFunction<any, any>): void;
    registerBeforeAuthenticateSteam(fn: BeforeHookFunction<any>): void;
    registerAfterAuthenticateSteam(fn: AfterHookFunction<any, any>): void;
    registerBeforeGetAccount(fn: BeforeHookFunction<any>): void;
    registerAfterGetAccount(fn: AfterHookFunction<any, any>): void;
    registerBeforeUpdateAccount(fn: BeforeHookFunction<any>): void;
    registerAfterUpdateAccount(fn: AfterHookFunction<any, any>): void;
    registerBeforeDeleteAccount(fn: BeforeHookFunction<any>): void;
    registerAfterDeleteAccount(fn: AfterHookFunction<any, any>): void;
    registerBeforeGetUsers(fn: BeforeHookFunction<any>): void;
    registerAfterGetUsers(fn: AfterHookFunction<any, any>): void;
    registerBeforeLinkApple(fn: BeforeHookFunction<any>): void;
    registerAfterLinkApple(fn: AfterHookFunction<any, any>): void;
    registerBeforeLinkCustom(fn: BeforeHookFunction<any>): void;
    registerAfterLinkCustom(fn: AfterHookFunction<any, any>): void;
    registerBeforeLinkDevice(fn: BeforeHookFunction<any>): void;
    registerAfterLinkDevice(fn: AfterHookFunction<any, any>): void;
    registerBeforeLinkEmail(fn: BeforeHookFunction<any>): void;
    registerAfterLinkEmail(fn: AfterHookFunction<any, any>): void;
    registerBeforeLinkFacebook(fn: BeforeHookFunction<any>): void;
    registerAfterLinkFacebook(fn: AfterHookFunction<any, any>): void;
    registerBeforeLinkFacebookInstantGame(fn: BeforeHookFunction<any>): void;
    registerAfterLinkFacebookInstantGame(fn: AfterHookFunction<any, any>): void;
    registerBeforeLinkGameCenter(fn: BeforeHookFunction<any>): void;
    registerAfterLinkGameCenter(fn: AfterHookFunction<any, any>): void;
    registerBeforeLinkGoogle(fn: BeforeHookFunction<any>): void;
    registerAfterLinkGoogle(fn: AfterHookFunction<any, any>): void;
    registerBeforeLinkSteam(fn: BeforeHookFunction<any>): void;
    registerAfterLinkSteam(fn: AfterHookFunction<any, any>): void;
    registerBeforeUnlinkApple(fn: BeforeHookFunction<any>): void;
    registerAfterUnlinkApple(fn: AfterHookFunction<any, any>): void;
    registerBeforeUnlinkCustom(fn: BeforeHookFunction<any>): void;
    registerAfterUnlinkCustom(fn: AfterHookFunction<any, any>): void;
    registerBeforeUnlinkDevice(fn: BeforeHookFunction<any>): void;
    registerAfterUnlinkDevice(fn: AfterHookFunction<any, any>): void;
    registerBeforeUnlinkEmail(fn: BeforeHookFunction<any>): void;
    registerAfterUnlinkEmail(fn: AfterHookFunction<any, any>): void;
    registerBeforeUnlinkFacebook(fn: BeforeHookFunction<any>): void;
    registerAfterUnlinkFacebook(fn: AfterHookFunction<any, any>): void;
    registerBeforeUnlinkFacebookInstantGame(fn: BeforeHookFunction<any>): void;
    registerAfterUnlinkFacebookInstantGame(fn: AfterHookFunction<any, any>): void;
    registerBeforeUnlinkGameCenter(fn: BeforeHookFunction<any>): void;
    registerAfterUnlinkGameCenter(fn: AfterHookFunction<any, any>): void;
    registerBeforeUnlinkGoogle(fn: BeforeHookFunction<any>): void;
    registerAfterUnlinkGoogle(fn: AfterHookFunction<any, any>): void;
    registerBeforeUnlinkSteam(fn: BeforeHookFunction<any>): void;
    registerAfterUnlinkSteam(fn: AfterHookFunction<any, any>): void;
    registerBeforeListFriends(fn: BeforeHookFunction<any>): void;
    registerAfterListFriends(fn: AfterHookFunction<any, any>): void;
    registerBeforeListFriendsOfFriends(fn: BeforeHookFunction<any>): void;
    registerAfterListFriendsOfFriends(fn: AfterHookFunction<any, any>): void;
    registerBeforeAddFriends(fn: BeforeHookFunction<any>): void;
    registerAfterAddFriends(fn: AfterHookFunction<any, any>): void;
    registerBeforeDeleteFriends(fn: BeforeHookFunction<any>): void;
    registerAfterDeleteFriends(fn: AfterHookFunction<any, any>): void;
    registerBeforeBlockFriends(fn: BeforeHookFunction<any>): void;
    registerAfterBlockFriends(fn: AfterHookFunction<any, any>): void;
    registerBeforeImportFacebookFriends(fn: BeforeHookFunction<any>): void;
    registerAfterImportFacebookFriends(fn: AfterHookFunction<any, any>): void;
    registerBeforeImportSteamFriends(fn: BeforeHookFunction<any>): void;
    registerAfterImportSteamFriends(fn: AfterHookFunction<any, any>): void;
    registerBeforeListGroups(fn: BeforeHookFunction<any>): void;
    registerAfterListGroups(fn: AfterHookFunction<any, any>): void;
    registerBeforeCreateGroup(fn: BeforeHookFunction<any>): void;
    registerAfterCreateGroup(fn: AfterHookFunction<any, any>): void;
    registerBeforeUpdateGroup(fn: BeforeHookFunction<any>): void;
    registerAfterUpdateGroup(fn: AfterHookFunction<any, any>): void;
    registerBeforeDeleteGroup(fn: BeforeHookFunction<any>): void;
    registerAfterDeleteGroup(fn: AfterHookFunction<any, any>): void;
    registerBeforeJoinGroup(fn: BeforeHookFunction<any>): void;
    registerAfterJoinGroup(fn: AfterHookFunction<any, any>): void;
    registerBeforeLeaveGroup(fn: BeforeHookFunction<any>): void;
    registerAfterLeaveGroup(fn: AfterHookFunction<any, any>): void;
    registerBeforeAddGroupUsers(fn: BeforeHookFunction<any>): void;
    registerAfterAddGroupUsers(fn: AfterHookFunction<any, any>): void;
    registerBeforeKickGroupUsers(fn: BeforeHookFunction<any>): void;
    registerAfterKickGroupUsers(fn: AfterHookFunction<any, any>): void;
    registerBeforeBanGroupUsers(fn: BeforeHookFunction<any>): void;
    registerAfterBanGroupUsers(fn: AfterHookFunction<any, any>): void;
    registerBeforePromoteGroupUsers(fn: BeforeHookFunction<any>): void;
    registerAfterPromoteGroupUsers(fn: AfterHookFunction<any, any>): void;
    registerBeforeDemoteGroupUsers(fn: BeforeHookFunction<any>): void;
    registerAfterDemoteGroupUsers(fn: AfterHookFunction<any, any>): void;
    registerBeforeListGroupUsers(fn: BeforeHookFunction<any>): void;
    registerAfterListGroupUsers(fn: AfterHookFunction<any, any>): void;
    registerBeforeListUserGroups(fn: BeforeHookFunction<any>): void;
    registerAfterListUserGroups(fn: AfterHookFunction<any, any>): void;
    registerBeforeListChannelMessages(fn: BeforeHookFunction<any>): void;
    registerAfterListChannelMessages(fn: AfterHookFunction<any, any>): void;
    registerBeforeListNotifications(fn: BeforeHookFunction<any>): void;
    registerAfterListNotifications(fn: AfterHookFunction<any, any>): void;
    registerBeforeDeleteNotifications(fn: BeforeHookFunction<any>): void;
    registerAfterDeleteNotifications(fn: AfterHookFunction<any, any>): void;
    registerBeforeReadStorageObjects(fn: BeforeHookFunction<any>): void;
    registerAfterReadStorageObjects(fn: AfterHookFunction<any, any>): void;
    registerBeforeWriteStorageObjects(fn: BeforeHookFunction<any>): void;
    registerAfterWriteStorageObjects(fn: AfterHookFunction<any, any>): void;
    registerBeforeDeleteStorageObjects(fn: BeforeHookFunction<any>): void;
    registerAfterDeleteStorageObjects(fn: AfterHookFunction<any, any>): void;
    registerBeforeListStorageObjects(fn: BeforeHookFunction<any>): void;
    registerAfterListStorageObjects(fn: AfterHookFunction<any, any>): void;
    registerBeforeListLeaderboardRecords(fn: BeforeHookFunction<any>): void;
    registerAfterListLeaderboardRecords(fn: AfterHookFunction<any, any>): void;
    registerBeforeListLeaderboardRecordsAroundOwner(fn: BeforeHookFunction<any>): void;
    registerAfterListLeaderboardRecordsAroundOwner(fn: AfterHookFunction<any, any>): void;
    registerBeforeWriteLeaderboardRecord(fn: BeforeHookFunction<any>): void;
    registerAfterWriteLeaderboardRecord(fn: AfterHookFunction<any, any>): void;
    registerBeforeDeleteLeaderboardRecord(fn: BeforeHookFunction<any>): void;
    registerAfterDeleteLeaderboardRecord(fn: AfterHookFunction<any, any>): void;
    registerBeforeListTournaments(fn: BeforeHookFunction<any>): void;
    registerAfterListTournaments(fn: AfterHookFunction<any, any>): void;
    registerBeforeListTournamentRecords(fn: BeforeHookFunction<any>): void;
    registerAfterListTournamentRecords(fn: AfterHookFunction<any, any>): void;
    registerBeforeListTournamentRecordsAroundOwner(fn: BeforeHookFunction<any>): void;
    registerAfterListTournamentRecordsAroundOwner(fn: AfterHookFunction<any, any>): void;
    registerBeforeJoinTournament(fn: BeforeHookFunction<any>): void;
    registerAfterJoinTournament(fn: AfterHookFunction<any, any>): void;
    registerBeforeWriteTournamentRecord(fn: BeforeHookFunction<any>): void;
    registerAfterWriteTournamentRecord(fn: AfterHookFunction<any, any>): void;
    registerBeforeDeleteTournamentRecord(fn: BeforeHookFunction<any>): void;
    registerAfterDeleteTournamentRecord(fn: AfterHookFunction<any, any>): void;
    registerBeforeListMatches(fn: BeforeHookFunction<any>): void;
    registerAfterListMatches(fn: AfterHookFunction<any, any>): void;
    registerBeforeGetMatchmakerStats(fn: BeforeHookFunction<any>): void;
    registerAfterGetMatchmakerStats(fn: AfterHookFunction<any, any>): void;
    registerBeforeListParties(fn: BeforeHookFunction<any>): void;
    registerAfterListParties(fn: AfterHookFunction<any, any>): void;
    registerBeforeEvent(fn: BeforeHookFunction<any>): void;
    registerAfterEvent(fn: AfterHookFunction<any, any>): void;
    registerBeforeValidatePurchaseApple(fn: BeforeHookFunction<any>): void;
    registerAfterValidatePurchaseApple(fn: AfterHookFunction<any, any>): void;
    registerBeforeValidatePurchaseGoogle(fn: BeforeHookFunction<any>): void;
    registerAfterValidatePurchaseGoogle(fn: AfterHookFunction<any, any>): void;
    registerBeforeValidatePurchaseHuawei(fn: BeforeHookFunction<any>): void;
    registerAfterValidatePurchaseHuawei(fn: AfterHookFunction<any, any>): void;
    registerBeforeValidatePurchaseFacebookInstant(fn: BeforeHookFunction<any>): void;
    registerAfterValidatePurchaseFacebookInstant(fn: AfterHookFunction<any, any>): void;
    registerBeforeValidatePurchaseSamsung(fn: BeforeHookFunction<any>): void;
    registerAfterValidatePurchaseSamsung(fn: AfterHookFunction<any, any>): void;
    registerBeforeValidateSubscriptionApple(fn: BeforeHookFunction<any>): void;
    registerAfterValidateSubscriptionApple(fn: AfterHookFunction<any, any>): void;
    registerBeforeValidateSubscriptionGoogle(fn: BeforeHookFunction<any>): void;
    registerAfterValidateSubscriptionGoogle(fn: AfterHookFunction<any, any>): void;
    registerBeforeListSubscriptions(fn: BeforeHookFunction<any>): void;
    registerAfterListSubscriptions(fn: AfterHookFunction<any, any>): void;
    registerBeforeGetSubscription(fn: BeforeHookFunction<any>): void;
    registerAfterGetSubscription(fn: AfterHookFunction<any, any>): void;
  }
}
