// Typed rooms and lobbies of Muster, over a socket of the official client. Joined rooms and watched lobbies are kept up
// to date.

import type { Presence, Socket, StreamData, StreamPresenceEvent } from "@heroiclabs/nakama-js";
import type {
  CreateRoom,
  Delta,
  FindRooms,
  Json,
  LobbyChange,
  Member,
  PageOfRooms,
  RoomAnswer,
  RoomEvent,
  RoomSummary,
  SetValues,
  UpdateRoom,
  WatchLobby,
} from "./room-types.js";

const ROOM_MODE = 201;
const LOBBY_MODE = 202;

/** A game's handlers for events in a room. All are optional. */
export interface RoomHandlers {
  /** A member sent a message to all, or to some if `isPrivate`. */
  onMessage?(data: string, sender: Presence, isPrivate: boolean): void;
  /** Members, seats, variables or settings changed. The room already shows them. */
  onChange?(room: Room): void;
  /** The player left the room: thrown out, replaced by another socket of the same user, or the room was closed. */
  onEnd?(reason: string): void;
}

/** A room that the player has joined. */
export class Room {
  readonly handlers: RoomHandlers = {};
  /** Members by session id. Large rooms do not list all of them. */
  readonly members = new Map<string, Member>();
  summary: RoomSummary;
  /** The player's own seat; null for a spectator. */
  seat: number | null;
  /** Version of the variables. */
  version: number;
  /** Whether all members are known, so that they can be counted here. */
  private readonly isComplete: boolean;

  constructor(
    private readonly rooms: Rooms,
    answer: RoomAnswer,
  ) {
    this.summary = answer.room;
    this.seat = answer.seat;
    this.version = answer.room.version ?? 0;
    this.isComplete = answer.members.length === answer.members_total;
    answer.members.forEach((member) => this.members.set(member.session_id, member));
  }

  get id(): string {
    return this.summary.id;
  }

  get variables(): Readonly<Record<string, Json>> {
    return this.summary.variables;
  }

  async leave(): Promise<void> {
    await this.call("leave", {});
    this.rooms.forget(this);
  }

  /** Sends a message to everybody in the room, including the sender. */
  async send(data: string): Promise<void> {
    await this.call("send", { data });
  }

  /** Sends a message to some users. */
  async sendTo(users: string[], data: string): Promise<void> {
    await this.call("send_to", { users, data });
  }

  /** Changes the room's variables, and returns their new version. */
  async set(change: SetValues): Promise<number> {
    return ((await this.call("set", change)) as { version: number }).version;
  }

  /** Changes the player's own variables, and returns their new version. */
  async setPlayer(change: SetValues): Promise<number> {
    return ((await this.call("set_player", change)) as { version: number }).version;
  }

  /** Gives up the seat to watch, or takes a seat. */
  async spectate(spectator: boolean): Promise<void> {
    await this.call("spectate", { spectator });
  }

  /** Throws a user out, and keeps the user out for `barSec` seconds. Only the owner may do so. */
  async kick(user: string, barSec = 0): Promise<void> {
    await this.call("kick", { user, bar_sec: barSec });
  }

  /** Changes settings of the room. Only the owner may do so. */
  async update(change: UpdateRoom): Promise<void> {
    await this.call("update", change);
  }

  private call(name: string, payload: object): Promise<unknown> {
    return this.rooms.call(`muster.rooms.${name}`, { room: this.id, ...payload });
  }

  /** @internal */
  cameAndWent({ joins = [], leaves = [] }: Partial<StreamPresenceEvent>): void {
    leaves.forEach((presence) => this.members.delete(presence.session_id));
    for (const presence of joins as (Presence & { status?: string })[]) {
      const { user_id, username, session_id, status } = presence;
      // The player's own coming may be told before the join is answered.
      if (!this.members.has(session_id)) {
        const { seat } = JSON.parse(status || '{"seat":null}') as { seat: number | null };
        this.members.set(session_id, { user_id, username, session_id, seat, variables: {} });
      }
    }
    this.recount();
    this.handlers.onChange?.(this);
  }

  /** @internal */
  told(event: RoomEvent, sender: Presence | undefined): void {
    switch (event.type) {
      case "message":
      case "private":
        if (sender) {
          this.handlers.onMessage?.(event.data, sender, event.type === "private");
        }
        return;
      case "out":
      case "closed":
        this.rooms.forget(this);
        this.handlers.onEnd?.(event.reason);
        return;
      case "variables":
        merge(this.summary.variables, event);
        this.version = event.version;
        break;
      case "player_variables":
        this.ofSender(sender, (member) => merge(member.variables, event));
        break;
      case "seat":
        this.ofSender(sender, (member) => (member.seat = event.seat));
        if (sender?.user_id === this.rooms.userId) {
          this.seat = event.seat;
        }
        this.recount();
        break;
      case "owner":
        this.summary.owner = event.owner;
        break;
      case "updated":
        this.summary = event.room;
        break;
    }
    this.handlers.onChange?.(this);
  }

  private ofSender(sender: Presence | undefined, change: (member: Member) => void): void {
    const member = sender && this.members.get(sender.session_id);
    if (member) {
      change(member);
    }
  }

  private recount(): void {
    if (this.isComplete) {
      const seats = [...this.members.values()].map((member) => member.seat);
      this.summary.players = seats.filter((seat) => seat !== null).length;
      this.summary.spectators = seats.length - this.summary.players;
    }
  }
}

/** A part of the lobby that the player watches. */
export class Lobby {
  /** Matching rooms by id. Rooms behind the first page are added when they change. */
  readonly rooms = new Map<string, RoomSummary>();
  /** Called when rooms have changed. */
  onChange: (lobby: Lobby) => void = () => {};

  constructor(
    private readonly owner: Rooms,
    /** The name of the lobby in pushed messages. */
    readonly name: string,
    private revision: number,
    page: PageOfRooms,
  ) {
    page.rooms.forEach((room) => this.rooms.set(room.id, room));
  }

  /** Stops watching. */
  async close(): Promise<void> {
    this.owner.forgetLobby(this);
    await this.owner.call("muster.lobby.unsubscribe", { lobby: this.name });
  }

  /** @internal */
  told(change: LobbyChange): void {
    if (change.revision <= this.revision) {
      return;
    }
    this.revision = change.revision;
    if (change.anew) {
      this.rooms.clear();
    }
    change.rooms.forEach((room) => this.rooms.set(room.id, room));
    change.gone.forEach((id) => this.rooms.delete(id));
    this.onChange(this);
  }
}

/** A message that was pushed before the answer which names its room or lobby. */
type Early = { data: StreamData } | { presences: StreamPresenceEvent };

/** Rooms and lobbies of one socket. Create it last: messages of other streams go to the handlers that are set then. */
export class Rooms {
  private readonly rooms = new Map<string, Room>();
  private readonly lobbies = new Map<string, Lobby>();
  /** Number of calls under way whose answers name rooms or lobbies, and the messages that were pushed meanwhile. */
  private pending = 0;
  private early: Early[] = [];

  /** @param userId user of the session with which the socket is connected */
  constructor(
    private readonly socket: Socket,
    readonly userId: string,
  ) {
    const { onstreamdata, onstreampresence } = socket;
    socket.onstreamdata = (data) => this.take({ data }) || onstreamdata.call(socket, data);
    socket.onstreampresence = (presences) => this.take({ presences }) || onstreampresence.call(socket, presences);
  }

  /** Takes a seat in an open room of a template, or in a new one. */
  place(template = "default", size?: number): Promise<Room> {
    return this.enter("place", { template, ...(size === undefined ? {} : { size }) });
  }

  create(room: CreateRoom = {}): Promise<Room> {
    return this.enter("create", room);
  }

  join(room: string, options: { password?: string; spectator?: boolean } = {}): Promise<Room> {
    return this.enter("join", { room, ...options });
  }

  /** Takes a seat in the first open room that matches. */
  quickJoin(where: { path?: string; filter?: string } = {}): Promise<Room> {
    return this.enter("quick_join", where);
  }

  async find(where: FindRooms = {}): Promise<PageOfRooms> {
    return (await this.call("muster.rooms.find", where)) as PageOfRooms;
  }

  /** Watches a part of the lobby. */
  watch(where: WatchLobby = {}): Promise<Lobby> {
    return this.during(async () => {
      const answer = (await this.call("muster.lobby.subscribe", where)) as PageOfRooms & {
        lobby: string;
        revision: number;
      };
      const lobby = new Lobby(this, answer.lobby, answer.revision, answer);
      this.lobbies.set(lobby.name, lobby);
      return lobby;
    });
  }

  /** Calls a built-in function of Muster. */
  async call(id: string, payload: object): Promise<unknown> {
    const { payload: result } = await this.socket.rpc(id, JSON.stringify(payload));
    return JSON.parse(result || "{}");
  }

  /** @internal */
  forget(room: Room): void {
    if (this.rooms.get(room.id) === room) {
      this.rooms.delete(room.id);
    }
  }

  /** @internal */
  forgetLobby(lobby: Lobby): void {
    if (this.lobbies.get(lobby.name) === lobby) {
      this.lobbies.delete(lobby.name);
    }
  }

  private enter(name: string, payload: object): Promise<Room> {
    return this.during(async () => {
      const room = new Room(this, (await this.call(`muster.rooms.${name}`, payload)) as RoomAnswer);
      this.rooms.set(room.id, room);
      return room;
    });
  }

  /** Runs a call. Messages that are pushed before its answer is read are handled after it. */
  private async during<T>(work: () => Promise<T>): Promise<T> {
    this.pending += 1;
    try {
      return await work();
    } finally {
      this.pending -= 1;
      const early = this.early;
      this.early = [];
      early.forEach((push) => this.take(push));
    }
  }

  /** Handles a pushed message. Returns whether it was of a room or a lobby. */
  private take(push: Early): boolean {
    const { stream } = "data" in push ? push.data : push.presences;
    if (stream.mode !== ROOM_MODE && stream.mode !== LOBBY_MODE) {
      return false;
    }
    const known = stream.mode === ROOM_MODE ? this.rooms.get(stream.subject) : this.lobbies.get(stream.label);
    if (known instanceof Lobby && "data" in push) {
      known.told(JSON.parse(push.data.data) as LobbyChange);
    } else if (known instanceof Room && "data" in push) {
      known.told(JSON.parse(push.data.data) as RoomEvent, push.data.sender);
    } else if (known instanceof Room && "presences" in push) {
      known.cameAndWent(push.presences);
    } else if (this.pending > 0) {
      this.early.push(push);
    }
    return true;
  }
}

/** Applies changed values. */
function merge(values: Record<string, Json>, delta: Delta): void {
  delta.unset.forEach((name) => delete values[name]);
  Object.assign(values, delta.set);
}
