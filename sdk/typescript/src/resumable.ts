// A socket adapter for the official client that survives its connection. It connects again by itself, and the game
// notices neither the cut nor a gap. The server's reference, "Sessions that survive their socket", explains how.

import type {
  SocketCloseHandler, SocketErrorHandler, SocketMessageHandler, SocketOpenHandler, WebSocketAdapter,
} from "@heroiclabs/nakama-js";

import { greetingIn, type Greeting } from "./greeting.js";
import { Kept } from "./kept.js";

export interface ResumableOptions {
  /** Returns a token for the next connection, in case the first one has expired by then. */
  token?: () => string;
  /** Called when the session continues over a new connection. No message was missed. */
  onResume?: () => void;
  /**
   * Milliseconds after which a connection is replaced if an answer is due and no message comes. 0 means never.
   */
  silenceMs?: number;
}

/** Close code of a connection that ended without a close frame: only then may the session continue. */
const ABNORMAL = 1006;
const SILENCE_MS = 5_000;
/** Delays before attempts to connect, in milliseconds; the last one repeats. */
const RETRY_DELAYS_MS = [0, 100, 250, 500, 1_000, 2_000];
/** Most messages that are kept without an answer; beyond them the session is given up. */
const KEPT_MAX = 10_000;

type Phase = "closed" | "opening" | "open" | "lost";

interface Target {
  scheme: string;
  host: string;
  port: string;
  createStatus: boolean;
  token: string;
}

/**
 * Wraps the adapter that `makeAdapter` makes for each connection:
 *
 *     client.createSocket(useSSL, verbose, new ResumableAdapter(() => new WebSocketAdapterText()))
 *
 * With a server that keeps no such sessions it behaves as the adapter that it wraps.
 */
export class ResumableAdapter implements WebSocketAdapter {
  onClose: SocketCloseHandler | null = null;
  onError: SocketErrorHandler | null = null;
  onMessage: SocketMessageHandler | null = null;
  onOpen: SocketOpenHandler | null = null;

  readonly #makeAdapter: () => WebSocketAdapter;
  readonly #options: ResumableOptions;
  #phase: Phase = "closed";
  #target: Target | null = null;
  #inner: WebSocketAdapter | null = null;
  /** Adapters that were given up but not closed: a close frame that still came through would end the session. */
  #abandoned: WebSocketAdapter[] = [];
  #isGreeted = false;
  #session: string | null = null;
  #graceMs = 0;
  #received = 0;
  #kept = new Kept();
  #resumed = 0;
  #lostAt = 0;
  #loss: CloseEvent | null = null;
  #attempts = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(makeAdapter: () => WebSocketAdapter, options: ResumableOptions = {}) {
    this.#makeAdapter = makeAdapter;
    this.#options = options;
  }

  /** How often the session has continued over a new connection. */
  get resumed(): number {
    return this.#resumed;
  }

  /** Whether messages may be sent. They are kept while the connection is replaced. */
  isOpen(): boolean {
    return this.#phase === "open" || this.#phase === "lost";
  }

  connect(scheme: string, host: string, port: string, createStatus: boolean, token: string): void {
    this.#target = { scheme, host, port, createStatus, token };
    this.#phase = "opening";
    this.#session = null;
    this.#received = 0;
    this.#kept = new Kept();
    this.#open("resume=new");
  }

  send(message: any): void {
    if (!this.isOpen()) {
      throw new Error("The socket is not open.");
    }
    this.#kept.add(message);
    if (this.#session !== null && this.#kept.length > KEPT_MAX) {
      this.close();
    } else if (this.#phase === "open") {
      this.#flush();
    }
  }

  /** Ends the session. */
  close(): void {
    const wasLost = this.#phase === "lost";
    this.#phase = "closed";
    this.#session = null;
    clearTimeout(this.#timer);
    this.#closeAbandoned();
    if (wasLost) {
      this.#inner?.close();
      this.#inner = null;
      this.#tellClosed(this.#loss);
    } else {
      this.#inner?.close();
    }
  }

  #open(query: string): void {
    const { scheme, host, port, createStatus, token } = this.#target!;
    const inner = this.#makeAdapter();
    this.#inner = inner;
    this.#isGreeted = false;
    // The wrapped adapter appends a path and its first parameter to the port. Both become the value of our last
    // parameter.
    inner.connect(scheme, host, `${port}/ws?${query}&path=`, createStatus, this.#options.token?.() ?? token);
    inner.onOpen = (event) => {
      if (this.#phase === "opening") {
        this.#phase = "open";
        this.onOpen?.call(undefined as never, event);
      }
    };
    inner.onMessage = (message) => this.#take(message);
    // A close event follows. The game does not see the error while the session may continue.
    inner.onError = (event) => {
      if (this.#session === null) {
        this.onError?.call(undefined as never, event);
      }
    };
    inner.onClose = (event) => this.#closed(inner, event);
    this.#watch();
  }

  #take(message: any): void {
    if (!this.#isGreeted) {
      this.#isGreeted = true;
      const greeting = greetingIn(message);
      if (greeting !== undefined) {
        this.#greet(greeting);
        return;
      }
    }
    this.#received++;
    if (message.cid) {
      this.#kept.answered(message.cid);
    }
    this.#watch();
    this.onMessage?.(message);
  }

  #greet(greeting: Greeting): void {
    if (this.#phase !== "lost") {
      this.#session = greeting.session ?? null;
      this.#graceMs = greeting.grace_ms ?? 0;
    } else if (greeting.resumed && this.#kept.resume(greeting.received ?? 0)) {
      // The session may continue at another node, under another name.
      this.#session = greeting.session ?? this.#session;
      this.#phase = "open";
      this.#resumed++;
      this.#closeAbandoned();
      this.#flush();
      this.#options.onResume?.();
    } else {
      // To the game this is any lost connection: it connects and joins again.
      this.close();
    }
  }

  #flush(): void {
    const inner = this.#inner;
    if (inner?.isOpen()) {
      this.#kept.flush((message) => inner.send(message));
    }
    this.#watch();
  }

  #closed(inner: WebSocketAdapter, event: CloseEvent): void {
    if (inner !== this.#inner) {
      return;
    }
    this.#inner = null;
    if (this.#phase === "lost" && event.code === ABNORMAL) {
      this.#retry();
    } else if (this.#phase === "open" && event.code === ABNORMAL && this.#session !== null) {
      this.#lose(event);
    } else {
      clearTimeout(this.#timer);
      this.#phase = "closed";
      this.#session = null;
      this.#tellClosed(event);
    }
  }

  #lose(event: CloseEvent | null): void {
    this.#phase = "lost";
    this.#lostAt = Date.now();
    this.#loss = event;
    this.#attempts = 0;
    this.#retry();
  }

  #retry(): void {
    if (Date.now() - this.#lostAt > this.#graceMs) {
      this.close();
      return;
    }
    const delay = RETRY_DELAYS_MS[Math.min(this.#attempts++, RETRY_DELAYS_MS.length - 1)];
    clearTimeout(this.#timer);
    const query = `resume=${encodeURIComponent(this.#session!)}&received=${this.#received}`;
    this.#timer = setTimeout(() => this.#open(query), delay);
  }

  /** Gives the connection up if an answer is due and no message comes for too long. */
  #watch(): void {
    clearTimeout(this.#timer);
    const silenceMs = this.#options.silenceMs ?? SILENCE_MS;
    const isDue = this.#phase === "lost" || (this.#phase === "open" && this.#kept.isAnswerDue);
    if (silenceMs > 0 && isDue && this.#session !== null) {
      this.#timer = setTimeout(() => this.#abandon(), silenceMs);
    }
  }

  #abandon(): void {
    const inner = this.#inner;
    this.#inner = null;
    if (inner?.isOpen()) {
      inner.onMessage = () => {};
      this.#abandoned.push(inner);
    } else {
      inner?.close();
    }
    if (this.#phase === "lost") {
      this.#retry();
    } else {
      this.#lose(null);
    }
  }

  #closeAbandoned(): void {
    for (const inner of this.#abandoned.splice(0)) {
      inner.close();
    }
  }

  #tellClosed(event: CloseEvent | null): void {
    this.onClose?.call(undefined as never, event ?? ({ code: ABNORMAL, reason: "", wasClean: false } as CloseEvent));
  }
}
