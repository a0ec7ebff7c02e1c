// Messages that the server may not have received. They are kept in order until the server says, or an answer shows,
// that they arrived.

interface Message {
  cid?: string;
}

export class Kept {
  /** Number of earlier messages that the server has received. */
  #arrived = 0;
  #messages: Message[] = [];
  /** Number of kept messages that were sent over the present connection. */
  #sent = 0;

  get length(): number {
    return this.#messages.length;
  }

  /** Whether the server will answer one of the kept messages. */
  get isAnswerDue(): boolean {
    return this.#messages.some((message) => message.cid);
  }

  add(message: Message): void {
    // Adapters change the messages that they send, so a copy is kept for the next connection.
    this.#messages.push(structuredClone(message));
  }

  /** Calls `send` with each message that was not sent over the present connection. */
  flush(send: (message: Message) => void): void {
    for (; this.#sent < this.#messages.length; this.#sent++) {
      send(structuredClone(this.#messages[this.#sent]!));
    }
  }

  /** Forgets all messages up to the answered one: the server takes messages in order. */
  answered(cid: string): void {
    const index = this.#messages.findIndex((message) => message.cid === cid);
    if (index >= 0) {
      this.#forget(index + 1);
    }
  }

  /** Prepares for a new connection to a server that has `arrived` messages. Returns whether that number is possible. */
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
