// Players of high card that play by themselves, come back when their server does, and know how many chips there must be.

export const GIFT = 1000;
const OP = { sit: 1, stay: 2, fold: 3, stand: 4, table: 10, card: 11, shown: 12, refused: 13 };
const BUY_IN = 100;
/** Who has less is not dealt a card. */
const CHIPS_MIN = 30;
const STAYS_FROM_RANK = 8;
/** After so many hands a player takes its chips home, and comes back. */
const HANDS_OF_A_VISIT = 5;
const RETRY_MS = 100;
const LOOK_MS = 250;
/** What was asked for so long is asked for again: it went to a server that died. */
const ASKED_MS_MAX = 3_000;

/** The error of a match that has ended. */
const MATCH_NOT_FOUND = 4;

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** One player. `connect` signs it in and answers its client, session and a socket that is not connected yet. */
class Bot {
  view = null;
  hands = 0;
  faults = [];
  #connect;
  #table;
  #line = null;
  #asked = null;
  #card = null;
  #chosen = 0;
  #sat = 0;
  #isHeld = false;
  #isOver = false;

  constructor(connect) {
    this.#connect = connect;
    this.lives = this.#live();
  }

  /** Whether it is at its table and waits for nothing that would move chips. */
  get isSettled() {
    return this.view !== null && this.#asked === null;
  }

  get table() {
    return this.#table;
  }

  get line() {
    return this.#line;
  }

  /** From now on it neither sits down nor stands up, or does again. */
  hold(isHeld) {
    this.#isHeld = isHeld;
  }

  async end() {
    this.#isOver = true;
    this.#line?.socket.disconnect(false);
    await this.lives;
  }

  async #live() {
    while (!this.#isOver) {
      try {
        await this.#visit();
      } catch {
        // Nobody there: the server is on its way back.
        await pause(RETRY_MS);
      }
      [this.view, this.#asked, this.#line, this.#chosen] = [null, null, null, 0];
    }
  }

  /** Plays until the connection ends. */
  async #visit() {
    const line = await this.#connect();
    const ended = new Promise((resolve) => (line.socket.ondisconnect = resolve));
    line.socket.onmatchdata = (message) => this.#hear(message);
    line.socket.onheartbeattimeout = () => {};
    await line.client.rpc(line.session, "welcome", {});
    await line.socket.connect(line.session, true);
    this.#line = line;
    const look = setInterval(() => this.#act(), LOOK_MS);
    try {
      await this.#join();
      await ended;
    } finally {
      clearInterval(look);
      line.socket.disconnect(false);
    }
  }

  /** Its table from before, or another one if that has ended. */
  async #join() {
    const { client, session, socket } = this.#line;
    if (this.#table !== undefined) {
      const known = await socket.joinMatch(this.#table).catch((error) => error);
      if (known?.match_id !== undefined) {
        return;
      }
      if (known?.code !== MATCH_NOT_FOUND) {
        throw known;
      }
    }
    const { payload } = await client.rpc(session, "find_table", {});
    this.#table = payload.match_id;
    await socket.joinMatch(this.#table);
  }

  #hear({ op_code, data }) {
    const text = Buffer.from(data ?? []).toString();
    if (op_code === OP.refused) {
      this.#asked = null;
    } else if (op_code === OP.card) {
      this.#card = JSON.parse(text);
    } else if (op_code === OP.shown) {
      this.hands += 1;
    } else if (op_code === OP.table) {
      if (text.includes('"card"')) {
        this.faults.push(`a card that is nobody's business: ${text}`);
      }
      this.view = JSON.parse(text);
      this.#act();
    }
  }

  #act() {
    if (this.view === null) {
      return;
    }
    const seat = Object.values(this.view.seats).find(({ user_id }) => user_id === this.#line.session.user_id);
    if (this.#asked && (this.#asked.wantsSeat === (seat !== undefined) || Date.now() > this.#asked.until)) {
      this.#asked = null;
    }
    if (seat?.playing && !seat.chosen && this.#chosen < this.view.hand && this.#card?.hand === this.view.hand) {
      this.#chosen = this.view.hand;
      this.#send(this.#card.card.rank >= STAYS_FROM_RANK ? OP.stay : OP.fold);
    }
    if (this.#isHeld || this.#asked) {
      return;
    }
    if (seat === undefined) {
      this.#ask(true, OP.sit, { chips: BUY_IN });
      this.#sat = this.view.hand;
    } else if (!seat.playing && (seat.chips < CHIPS_MIN || this.view.hand - this.#sat >= HANDS_OF_A_VISIT)) {
      this.#ask(false, OP.stand);
    }
  }

  #ask(wantsSeat, op, data = {}) {
    this.#asked = { wantsSeat, until: Date.now() + ASKED_MS_MAX };
    this.#send(op, data);
  }

  #send(op, data = {}) {
    // What cannot be sent is asked for again, by the next connection if need be.
    Promise.resolve(this.#line.socket.sendMatchState(this.#table, op, JSON.stringify(data))).catch(() => {});
  }
}

/** Players who play until they are ended. */
export class Bots {
  bots = [];

  /**
   * They come one after the other, so that tables fill.
   *
   * @param {(() => Promise<{client, session, socket}>)[]} connects one for each
   */
  static async come(connects) {
    const bots = new Bots();
    for (const connect of connects) {
      const bot = new Bot(connect);
      bots.bots.push(bot);
      await bots.#until(() => bot.isSettled);
    }
    return bots;
  }

  get hands() {
    return this.bots.reduce((sum, { hands }) => sum + hands, 0);
  }

  get faults() {
    return this.bots.flatMap(({ faults }) => faults);
  }

  /** Resolves when each of them has seen so many more hands to their end. */
  async play(hands) {
    const goals = this.bots.map((bot) => bot.hands + hands);
    await this.#until(() => this.bots.every((bot, index) => bot.hands >= goals[index]));
  }

  /** Lets no chip go to or from a table for a moment, and counts them all. */
  async count() {
    this.bots.forEach((bot) => bot.hold(true));
    try {
      for (;;) {
        await this.#until(() => this.bots.every(({ isSettled }) => isSettled));
        const counted = await this.#countOnce().catch(() => undefined);
        if (counted !== undefined) {
          return counted;
        }
        await pause(RETRY_MS);
      }
    } finally {
      this.bots.forEach((bot) => bot.hold(false));
    }
  }

  /** Wallets before and after the tables: nothing moved between. */
  async #countOnce() {
    const before = await this.#inWallets();
    const { client, session } = this.bots[0].line;
    let onTables = 0;
    for (const match_id of new Set(this.bots.map(({ table }) => table))) {
      const { payload } = await client.rpc(session, "count_table", { match_id });
      onTables += payload.chips;
    }
    const inWallets = await this.#inWallets();
    const expected = GIFT * this.bots.length;
    return before === inWallets ? { inWallets, onTables, expected, isRight: inWallets + onTables === expected } : undefined;
  }

  async #inWallets() {
    const wallets = this.bots.map(async ({ line: { client, session } }) => (await client.getAccount(session)).wallet);
    return (await Promise.all(wallets)).reduce((sum, wallet) => sum + (JSON.parse(wallet).chips ?? 0), 0);
  }

  async end() {
    await Promise.all(this.bots.map((bot) => bot.end()));
  }

  async #until(isSo) {
    while (!isSo()) {
      await pause(RETRY_MS / 4);
    }
  }
}
