// A socket of the protocol, below any client: envelopes in JSON, replies by their `cid`, and events in the order of
// their arrival.

import WebSocket from "ws";

/** How long an event or a reply may take before it counts as missing. Far above what a busy machine needs. */
export const EVENT_LIMIT_MS = Number(process.env.CONFORMANCE_LIMIT_MS ?? 10_000);

export class Socket {
  #ws;
  #events = [];
  #replies = new Map();
  #wakes = new Set();
  #count = 0;
  closed = null;

  /** Opens a socket, or answers the HTTP status with which that was refused. */
  static async open(url, query, headers = {}) {
    const socket = new Socket();
    socket.#ws = new WebSocket(`${url.replace(/^http/, "ws")}/ws?${query}`, { headers });
    socket.#ws.on("message", (data) => socket.#receive(JSON.parse(data.toString())));
    socket.#ws.on("close", (code) => {
      socket.closed = { code };
      socket.#wake();
    });
    socket.#ws.on("error", () => {});
    const status = await new Promise((resolve) => {
      socket.#ws.once("open", () => resolve(101));
      socket.#ws.once("unexpected-response", (request, response) => {
        request.destroy();
        resolve(response.statusCode);
      });
    });
    return { status, socket };
  }

  #receive(envelope) {
    if (envelope.cid === undefined) {
      this.#events.push(envelope);
    } else {
      this.#replies.set(envelope.cid, envelope);
    }
    this.#wake();
  }

  #wake() {
    this.#wakes.forEach((wake) => wake());
    this.#wakes.clear();
  }

  /** Resolves with what `look` finds, or with undefined when the time is up or the socket has closed. */
  async #until(look, limitMs = EVENT_LIMIT_MS) {
    const late = Date.now() + limitMs;
    for (;;) {
      const found = look();
      if (found !== undefined || this.closed || Date.now() >= late) {
        return found;
      }
      let timer;
      await new Promise((resolve) => {
        this.#wakes.add(resolve);
        timer = setTimeout(resolve, late - Date.now());
      });
      clearTimeout(timer);
    }
  }

  #reply(cid) {
    const reply = this.#replies.get(cid);
    this.#replies.delete(cid);
    return reply;
  }

  send(frame) {
    this.#ws.send(typeof frame === "string" ? frame : JSON.stringify(frame));
  }

  /** Sends an envelope and answers its reply without the `cid`, or "none" when a later ping was answered first. */
  async ask(envelope) {
    this.#count += 1;
    const [cid, ping] = [`c${this.#count}`, `p${this.#count}`];
    this.send({ cid, ...envelope });
    this.send({ cid: ping, ping: {} });
    await this.#until(() => (this.#replies.has(cid) || this.#replies.has(ping) ? true : undefined));
    const { cid: _, ...reply } = this.#reply(cid) ?? {};
    if (Object.keys(reply).length > 0) {
      await this.#until(() => this.#reply(ping));
      return reply;
    }
    return this.closed ? "closed" : "none";
  }

  /** Resolves when everything that was sent before has been answered. */
  async settled() {
    this.#count += 1;
    const cid = `q${this.#count}`;
    if (!this.closed) {
      this.send({ cid, ping: {} });
      await this.#until(() => this.#reply(cid));
    }
  }

  /** The next event, or the next that has a field `kind`. */
  event(kind) {
    return this.#until(() => {
      const index = this.#events.findIndex((event) => kind === undefined || kind in event);
      return index < 0 ? undefined : this.#events.splice(index, 1)[0];
    });
  }

  /** Every event that nobody has read. */
  unread() {
    return this.#events.splice(0);
  }

  /** Resolves with the code with which the socket closed. */
  async end() {
    await this.#until(() => this.closed ?? undefined);
    return this.closed ?? "open";
  }

  async close() {
    this.#ws.close();
    return this.end();
  }
}
