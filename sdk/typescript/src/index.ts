// Muster's additions to the official JavaScript client. The client itself is not changed.

export { ResumableAdapter, type ResumableOptions } from "./resumable.js";
export { Lobby, Room, Rooms, type RoomHandlers } from "./rooms.js";
export type * from "./room-types.js";
