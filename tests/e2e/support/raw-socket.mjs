// A socket below the official client, for what the client cannot be made to say or does not tell.

import WebSocket from "ws";

/** A socket below the client's: frames as they are. */
export class RawSocket {
  static async open(server, query, headers = {}) {
    const socket = new RawSocket();
    socket.ws = new WebSocket(`ws://127.0.0.1:${server.port}/ws?${query}`, { headers });
    socket.unread = [];
    socket.waiting = [];
    socket.ws.on("message", (data, isBinary) => {
      const frame = isBinary ? data : data.toString();
      const waiting = socket.waiting.shift();
      waiting ? waiting.resolve(frame) : socket.unread.push(frame);
    });
    socket.closed = new Promise((resolve) => {
      socket.ws.once("close", (code, reason) => {
        socket.waiting.forEach(({ reject }) => reject(new Error(`closed with ${code} ${reason}`)));
        resolve({ code, reason: reason.toString() });
      });
    });
    await new Promise((resolve, reject) => socket.ws.once("open", resolve).once("error", reject));
    socket.ws.on("error", () => {});
    return socket;
  }

  send(frame) {
    this.ws.send(frame);
  }

  next() {
    if (this.unread.length > 0) {
      return Promise.resolve(this.unread.shift());
    }
    return new Promise((resolve, reject) => this.waiting.push({ resolve, reject }));
  }

  async ask(envelope) {
    this.send(JSON.stringify(envelope));
    return JSON.parse(await this.next());
  }

  close() {
    this.ws.close();
  }
}
