// The first message of a socket that asked for a session which survives it.

/** The mode of streams on which a server of Muster greets. */
const SESSION_MODE = 200;

/** What a server says of the session that a socket has. */
export interface Greeting {
  /** The name by which it is found again; absent where there are no such sessions. */
  session?: string;
  /** Whether it is the session that was asked for. */
  resumed: boolean;
  /** How many messages of ours the server has. */
  received?: number;
  /** How long a session waits for its next socket. */
  grace_ms?: number;
  /** Why it is not the session that was asked for: gone, overflow, format or disabled. */
  reason?: string;
}

/** The greeting in a message; `undefined` if it is another message, as from a server that knows no greetings. */
export function greetingIn(message: any): Greeting | undefined {
  const data = message?.stream_data;
  return data?.stream?.mode === SESSION_MODE ? JSON.parse(data.data) : undefined;
}
