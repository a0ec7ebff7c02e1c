// The greeting: the first message on a socket that asked for a session which survives the socket.

/** The stream mode of greetings. */
const SESSION_MODE = 200;

/** A server's message about the session of a socket. */
export interface Greeting {
  /** The name by which a later socket finds the session; absent if the server keeps no such sessions. */
  session?: string;
  /** Whether the socket continues the session that it asked for. */
  resumed: boolean;
  /** Number of the client's messages that the server has received. */
  received?: number;
  /** How long a session waits for its next socket, in milliseconds. */
  grace_ms?: number;
  /** Why the session that was asked for is not continued: gone, overflow, format or disabled. */
  reason?: string;
}

/** The greeting in a message; `undefined` for other messages, such as those of a server without greetings. */
export function greetingIn(message: any): Greeting | undefined {
  const data = message?.stream_data;
  return data?.stream?.mode === SESSION_MODE ? JSON.parse(data.data) : undefined;
}
