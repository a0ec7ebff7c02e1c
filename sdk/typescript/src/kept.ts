// Messages that the server may not have: kept in order until it says, or an answer shows, that they arrived.

interface Message {
  cid?: string;
}

export class Kept {
  /** How many messages before these the server has. */
  #arrived = 0;
  #messages: Message[] = [];
  /** How many of these were sent over the present connection. */
  #sent = 0;

  get length(): number {
    return this.#messages.length;
  }

  /** Whether one of them will be answered. */
  get isAnswerDue(): boolean {
    return this.#messages.some((message) => message.cid);
  }

  add(message: Message): void {
    // Adapters change what they send, so the next connection needs another.
    this.#messages.push(structuredClone(message));
  }

  /** Hands each message that was not sent over this connection to `send`. */
  flush(send: (message: Message) => void): void {
    for (; this.#sent < this.#messages.length; this.#sent++) {
      send(structuredClone(this.#messages[this.#sent]!));
    }
  }

  /** An answer came: the server takes messages in order, so it has all up to the one that is answered. */
  answered(cid: string): void {
    const index = this.#messages.findIndex((message) => message.cid === cid);
    if (index >= 0) {
      this.#forget(index + 1);
    }
  }

  /** There is a new connection, and the server has so many messages. Answers whether that can be. */
  resume(arrived: number): boolean {
    const count = arrived - this.#arrived;
    if (!(count >= 0 && count <= this.#messages.length)) {
      return false;
    }
    this.#forget(count);
    this.#sent = 0;
    return true;
  }

  #forget(count: number): void {
    this.#messages.splice(0, count);
    this.#arrived += count;
    this.#sent = Math.max(0, this.#sent - count);
  }
}
