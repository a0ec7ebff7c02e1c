// What Muster adds to the official JavaScript client. Nothing of that is changed.

export { ResumableAdapter, type ResumableOptions } from "./resumable.js";
export { Lobby, Room, Rooms, type RoomHandlers } from "./rooms.js";
export type * from "./room-types.js";
