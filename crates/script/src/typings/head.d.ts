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
