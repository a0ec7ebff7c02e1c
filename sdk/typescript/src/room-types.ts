// Shapes of rooms and the lobby, as the server's reference ("Rooms and lobby") has them.

/** Any JSON value. */
export type Json = null | boolean | number | string | Json[] | { [name: string]: Json };

/** A room as listings show it. */
export interface RoomSummary {
  id: string;
  name: string;
  template?: string;
  path: string;
  capacity: number;
  players: number;
  /** Seats neither taken nor held. */
  free: number;
  spectators: number;
  spectators_max: number;
  locked: boolean;
  open: boolean;
  owner: string | null;
  properties: Record<string, Json>;
  variables: Record<string, Json>;
  /** Of the variables; listings leave it out. */
  version?: number;
}

/** Somebody in a room. */
export interface Member {
  user_id: string;
  username: string;
  session_id: string;
  /** Null for spectators. */
  seat: number | null;
  variables: Record<string, Json>;
}

/** The answer to whoever came into a room. */
export interface RoomAnswer {
  room: RoomSummary;
  seat: number | null;
  members: Member[];
  members_total: number;
}

/** What a room is made with; what is missing comes from the template, or is the server's default. */
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
  /** In a cluster: it survives the crash of the node that owns it. */
  recover?: boolean;
  properties?: Record<string, Json>;
  variables?: Record<string, Json>;
}

/** A change of variables: all of it or nothing. */
export interface SetValues {
  set?: Record<string, Json>;
  unset?: string[];
  private?: boolean;
  /** Only if the variables are at this version. */
  version?: number;
}

/** What the owner changes. */
export interface UpdateRoom {
  name?: string;
  open?: boolean;
  /** Null for none. */
  password?: string | null;
  capacity?: number;
  spectators_max?: number;
  set_properties?: Record<string, Json>;
  unset_properties?: string[];
}

/** Which rooms to look for. */
export interface FindRooms {
  path?: string;
  filter?: string;
  limit?: number;
  cursor?: string;
}

/** Which rooms to watch, and how much of their changes at a time. */
export interface WatchLobby {
  path?: string;
  filter?: string;
  interval_ms?: number;
  rooms_max?: number;
}

/** Some rooms. */
export interface PageOfRooms {
  rooms: RoomSummary[];
  cursor?: string;
}

/** Values that changed: what went, then what came. */
export interface Delta {
  version: number;
  unset: string[];
  set: Record<string, Json>;
}

/** What those in a room are told. */
export type RoomEvent =
  | { type: "message" | "private"; data: string }
  | ({ type: "variables" | "player_variables" } & Delta)
  | { type: "seat"; seat: number | null }
  | { type: "owner"; owner: string | null }
  | { type: "updated"; room: RoomSummary }
  | { type: "out" | "closed"; reason: string };

/** What those who watch a lobby are told. */
export interface LobbyChange {
  revision: number;
  /** The server that kept the list has gone: rooms that this and the next changes do not name are gone. */
  anew?: boolean;
  rooms: RoomSummary[];
  gone: string[];
}
