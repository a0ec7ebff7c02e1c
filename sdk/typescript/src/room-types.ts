// Types of rooms and the lobby, as in the server's reference "Rooms and lobby".

/** Any JSON value. */
export type Json = null | boolean | number | string | Json[] | { [name: string]: Json };

/** A room in a listing. */
export interface RoomSummary {
  id: string;
  name: string;
  template?: string;
  path: string;
  capacity: number;
  players: number;
  /** Number of seats that are neither taken nor held. */
  free: number;
  spectators: number;
  spectators_max: number;
  locked: boolean;
  open: boolean;
  owner: string | null;
  properties: Record<string, Json>;
  variables: Record<string, Json>;
  /** Version of the variables; absent in listings. */
  version?: number;
}

/** A player or spectator in a room. */
export interface Member {
  user_id: string;
  username: string;
  session_id: string;
  /** Number of the seat; null for spectators. */
  seat: number | null;
  variables: Record<string, Json>;
}

/** The server's answer to a player who entered a room. */
export interface RoomAnswer {
  room: RoomSummary;
  seat: number | null;
  members: Member[];
  members_total: number;
}

/** Settings of a new room. Missing settings come from the template, or are the server's defaults. */
export interface CreateRoom {
  template?: string;
  name?: string;
  path?: string;
  capacity?: number;
  spectators_max?: number;
  password?: string;
  hidden?: boolean;
  empty_sec?: number;
  life_sec?: number;
  /** Whether the room survives the crash of the node that owns it, in a cluster. */
  recover?: boolean;
  properties?: Record<string, Json>;
  variables?: Record<string, Json>;
}

/** A change of variables, which is made as a whole or not at all. */
export interface SetValues {
  set?: Record<string, Json>;
  unset?: string[];
  private?: boolean;
  /** The version that the variables must have for the change to be made. */
  version?: number;
}

/** Changes of a room by its owner. */
export interface UpdateRoom {
  name?: string;
  open?: boolean;
  /** The new password; null removes it. */
  password?: string | null;
  capacity?: number;
  spectators_max?: number;
  set_properties?: Record<string, Json>;
  unset_properties?: string[];
}

/** A search for rooms. */
export interface FindRooms {
  path?: string;
  filter?: string;
  limit?: number;
  cursor?: string;
}

/** The rooms to watch, and the pace of their changes. */
export interface WatchLobby {
  path?: string;
  filter?: string;
  interval_ms?: number;
  rooms_max?: number;
}

/** A page of a listing of rooms. */
export interface PageOfRooms {
  rooms: RoomSummary[];
  cursor?: string;
}

/** Changed values: first those in `unset` are removed, then those in `set` are written. */
export interface Delta {
  version: number;
  unset: string[];
  set: Record<string, Json>;
}

/** An event that the members of a room are told. */
export type RoomEvent =
  | { type: "message" | "private"; data: string }
  | ({ type: "variables" | "player_variables" } & Delta)
  | { type: "seat"; seat: number | null }
  | { type: "owner"; owner: string | null }
  | { type: "updated"; room: RoomSummary }
  | { type: "out" | "closed"; reason: string };

/** A change that the watchers of a lobby are told. */
export interface LobbyChange {
  revision: number;
  /** Set when the server that kept the list is gone: only rooms that this or a later change names still exist. */
  anew?: boolean;
  rooms: RoomSummary[];
  gone: string[];
}
