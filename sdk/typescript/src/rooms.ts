// Rooms and the lobby of Muster, typed, over a socket of the official client. What is told of a room that one is in, and
// of a lobby that one watches, is kept up to date here.

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

/** What a game does about what happens in a room. Everything is optional. */
export interface RoomHandlers {
  /** Somebody says something to all, or (`isPrivate`) to some. */
  onMessage?(data: string, sender: Presence, isPrivate: boolean): void;
  /** Members, seats, variables or settings changed; the room shows them. */
  onChange?(room: Room): void;
  /** One is no longer in the room: thrown out, replaced by another socket of the same user, or the room has closed. */
  onEnd?(reason: string): void;
}

/** A room that one is in. */
export class Room {
  readonly handlers: RoomHandlers = {};
  /** Who is in it, by session. Of a large room not all are known. */
  readonly members = new Map<string, Member>();
  summary: RoomSummary;
  /** One's own seat; null while watching. */
  seat: number | null;
  /** Of the variables. */
  version: number;
  /** All members are known, so that they can be counted here. */
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

  /** Says something to everybody in the room, oneself included. */
  async send(data: string): Promise<void> {
    await this.call("send", { data });
  }

  /** Says something to these users alone. */
  async sendTo(users: string[], data: string): Promise<void> {
    await this.call("send_to", { users, data });
  }

  /** Changes the room's variables; answers their version. */
  async set(change: SetValues): Promise<number> {
    return ((await this.call("set", change)) as { version: number }).version;
  }

  /** Changes one's own variables; answers their version. */
  async setPlayer(change: SetValues): Promise<number> {
    return ((await this.call("set_player", change)) as { version: number }).version;
  }

  /** Stands up, or sits down. */
  async spectate(spectator: boolean): Promise<void> {
    await this.call("spectate", { spectator });
  }

  /** As the owner: throws a user out, and keeps the user out for so long. */
  async kick(user: string, barSec = 0): Promise<void> {
    await this.call("kick", { user, bar_sec: barSec });
  }

  /** As the owner: changes what is given. */
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
      // One's own coming may be told before it is answered.
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

/** A part of the lobby that one watches. */
export class Lobby {
  /** The rooms that fit, as last told, by id. Those behind the first page come as they change. */
  readonly rooms = new Map<string, RoomSummary>();
  /** Called when rooms changed. */
  onChange: (lobby: Lobby) => void = () => {};

  constructor(
    private readonly owner: Rooms,
    /** What pushes name it by. */
    readonly name: string,
    private revision: number,
    page: PageOfRooms,
  ) {
    page.rooms.forEach((room) => this.rooms.set(room.id, room));
  }

  /** Watches no longer. */
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

/** Something that was pushed before the answer that says what it is about. */
type Early = { data: StreamData } | { presences: StreamPresenceEvent };

/** Rooms and lobbies of one socket. Make it once the socket's other handlers are set: it passes on what is not its. */
export class Rooms {
  private readonly rooms = new Map<string, Room>();
  private readonly lobbies = new Map<string, Lobby>();
  /** Calls on their way whose answers name rooms or lobbies, and what was pushed meanwhile. */
  private pending = 0;
  private early: Early[] = [];

  /** @param userId of the session with which the socket is connected */
  constructor(
    private readonly socket: Socket,
    readonly userId: string,
  ) {
    const { onstreamdata, onstreampresence } = socket;
    socket.onstreamdata = (data) => this.take({ data }) || onstreamdata.call(socket, data);
    socket.onstreampresence = (presences) => this.take({ presences }) || onstreampresence.call(socket, presences);
  }

  /** A seat in an open room of a template, or in a new one. */
  place(template = "default", size?: number): Promise<Room> {
    return this.enter("place", { template, ...(size === undefined ? {} : { size }) });
  }

  create(room: CreateRoom = {}): Promise<Room> {
    return this.enter("create", room);
  }

  join(room: string, options: { password?: string; spectator?: boolean } = {}): Promise<Room> {
    return this.enter("join", { room, ...options });
  }

  /** A seat in the first open room that fits. */
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

  /** Calls a function of Muster. */
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

  /** Pushes may be read before the answer is; they are looked at behind it. */
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

  /** Answers whether a push was of a room or a lobby. */
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

/** What went, then what came. */
function merge(values: Record<string, Json>, delta: Delta): void {
  delta.unset.forEach((name) => delete values[name]);
  Object.assign(values, delta.set);
}
