// A first game: sign in, count the starts in a storage object, and measure a ping over a socket.
//
//     npm install && node index.mjs [host] [port] [server key]
//
// Without arguments it talks to `muster dev` on this machine, at the port that MUSTER_SOCKET__PORT names or at 7350.

import { Client } from "@heroiclabs/nakama-js";
import WebSocket from "ws";

globalThis.WebSocket ??= WebSocket; // node has a WebSocket of its own from version 22 on

const [host = "127.0.0.1", port = process.env.MUSTER_SOCKET__PORT ?? "7350", serverKey = "defaultkey"] = process.argv.slice(2);
const client = new Client(serverKey, host, port);

// A device id is all that a player needs to begin; true makes the account if there is none.
const session = await client.authenticateDevice("my-first-device", true);
console.log(`${session.created ? "welcome" : "welcome back"}, ${session.username} (${session.user_id})`);

// What a player owns is JSON by collection and key.
const place = { collection: "saves", key: "starts" };
const { objects } = await client.readStorageObjects(session, {
  object_ids: [{ ...place, user_id: session.user_id }],
});
const starts = (objects[0]?.value.starts ?? 0) + 1;
await client.writeStorageObjects(session, [{ ...place, value: { starts } }]);
console.log(`you have started this game ${starts} time${starts > 1 ? "s" : ""}`);

// A socket is how the server reaches a player who is there.
const socket = client.createSocket();
await socket.connect(session, true);
const sent = performance.now();
await socket.send({ ping: {} });
console.log(`the server answered a ping in ${(performance.now() - sent).toFixed(1)} ms`);
// Timers of the client would keep node for half a minute.
socket.ondisconnect = () => process.exit();
socket.disconnect(false);
