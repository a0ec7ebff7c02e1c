// Requests that no HTTP client would send: the lines of a head as they stand.

import { once } from "node:events";
import { connect } from "node:net";

/** A request that every server answers, to see whether a connection is still open. */
const NEXT = "GET /healthcheck HTTP/1.1\r\nHost: next\r\n\r\n";

/** Answers of a connection, one after the other. */
class Answers {
  #bytes = Buffer.alloc(0);
  #chunks;

  constructor(socket) {
    this.#chunks = socket[Symbol.asyncIterator]();
  }

  /** Whether more bytes came before the end of the connection. */
  async #more() {
    const { value, done } = await this.#chunks.next().catch(() => ({ done: true }));
    this.#bytes = done ? this.#bytes : Buffer.concat([this.#bytes, value]);
    return !done;
  }

  /** The next answer's status and body, or undefined if the connection ended before. */
  async next() {
    while (!this.#bytes.includes("\r\n\r\n")) {
      if (!(await this.#more())) {
        return undefined;
      }
    }
    const end = this.#bytes.indexOf("\r\n\r\n") + 4;
    const head = this.#bytes.subarray(0, end).toString();
    this.#bytes = this.#bytes.subarray(end);
    const length = Number(head.match(/^content-length: (\d+)/im)?.[1] ?? 0);
    while (this.#bytes.length < length && (await this.#more())) {}
    const body = this.#bytes.subarray(0, length).toString();
    this.#bytes = this.#bytes.subarray(length);
    return { status: Number(head.split(" ")[1]), body };
  }
}

/**
 * Sends a head of these lines, and a body of the lines of `text`, and answers `{ status, body, connection }`. The
 * connection is "open" if a second request on it is answered.
 */
export async function rawRequest(url, lines, text) {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port), noDelay: true });
  socket.on("error", () => {});
  await once(socket, "connect");
  const answers = new Answers(socket);
  try {
    socket.write([...lines, "", ...(text.length > 0 ? text : [""])].join("\r\n"));
    const first = await answers.next();
    if (!first) {
      return "closed";
    }
    socket.write(NEXT);
    const connection = (await answers.next()) ? "open" : "closed";
    const isJson = /^\s*[{[]/.test(first.body);
    const body = isJson ? { body: JSON.parse(first.body) } : first.body ? { text: first.body } : {};
    return { status: first.status, ...body, connection };
  } finally {
    socket.destroy();
  }
}
