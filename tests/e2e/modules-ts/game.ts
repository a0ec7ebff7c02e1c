// A game module in the style of the original's template: compiled by `tsc` to one file of ES5. It uses what ES5 has no
// words for, so that the compiler's helpers run: classes, generators, async functions, spread, destructuring, for-of.

class Player {
  protected points: number[] = [];
  constructor(public readonly name: string) {}
  score(...points: number[]): this {
    this.points = [...this.points, ...points];
    return this;
  }
  sum(): number {
    let sum = 0;
    for (const points of this.points) {
      sum += points;
    }
    return sum;
  }
  get total(): number {
    return this.sum();
  }
}

let guests = 0;

class Guest extends Player {
  static readonly share = 2;
  constructor(name: string, private readonly host: string = "nobody") {
    super(`${name}?`);
    guests += 1;
  }
  sum(): number {
    return super.sum() / Guest.share;
  }
  toString(): string {
    return `${this.name} of ${this.host}`;
  }
}

class Refused extends Error {
  constructor(message: string, public code: number) {
    super(message);
    Object.setPrototypeOf(this, Refused.prototype);
    this.name = "Refused";
  }
}

function* countdown(from: number): Generator<number, string> {
  try {
    while (from > 0) {
      yield from--;
    }
  } finally {
    from = -1;
  }
  return "lift off";
}

function* twice(): Generator<number | string> {
  const last = yield* countdown(2);
  yield last;
}

const delayed = async (value: number): Promise<number> => {
  await null;
  if (value < 0) {
    throw new Refused("below zero", nkruntime.Codes.OUT_OF_RANGE);
  }
  return value * 2;
};

const rpcLanguage: nkruntime.RpcFunction = (ctx, logger, nk, payload) => {
  const ann = new Player("ann").score(1, 2).score(3);
  const guest = new Guest("bob", ann.name).score(7, 8);
  const { total, ...others } = { total: ann.total, a: 1, b: 2 };
  const [first, , third = 9, ...rest] = [...twice(), ..."xy"];
  const index = new Map<string, Player>([[ann.name, ann], [guest.name, guest]]);
  const names: string[] = [];
  for (const [name, player] of Array.from(index)) {
    names.push(`${name}:${player.total}`);
  }
  const tagged = ((texts: TemplateStringsArray, ...values: unknown[]) => texts.raw.join("|") + values.join())`a${1}b${2}c`;
  return JSON.stringify({
    total, others, first, third, rest, names, tagged, guest: String(guest), guests,
    isPlayer: guest instanceof Player, optional: index.get("nobody")?.name ?? "none",
  });
};

const rpcAsync = async (ctx: nkruntime.Context, logger: nkruntime.Logger, nk: nkruntime.Nakama, payload: string) => {
  const told: string[] = [];
  for (const value of [1, 2]) {
    told.push(String(await delayed(value)));
  }
  told.push(...(await Promise.all([delayed(3), delayed(4)])).map(String));
  try {
    await delayed(-1);
  } catch (error) {
    told.push(error instanceof Refused ? `${error.name} ${error.code}` : String(error));
  } finally {
    told.push("finally");
  }
  const object = { collection: "compiled", key: "k", userId: ctx.userId };
  nk.storageWrite([{ ...object, value: { told } }]);
  const [read] = nk.storageRead([object]);
  return JSON.stringify(read!.value);
};

const rpcConflict: nkruntime.RpcFunction = (ctx, logger, nk) => {
  try {
    nk.storageWrite([{ collection: "compiled", key: "c", userId: ctx.userId, value: {}, version: "another" }]);
  } catch (error) {
    const { message } = error as Error;
    return JSON.stringify({ conflict: message.includes("version check failed"), wrong: error instanceof TypeError });
  }
  return "{}";
};

const InitModule: nkruntime.InitModule = (ctx, logger, nk, initializer) => {
  initializer.registerRpc("language", rpcLanguage);
  initializer.registerRpc("async", rpcAsync as unknown as nkruntime.RpcFunction);
  initializer.registerRpc("conflict", rpcConflict);
};

// The last line of the original's template, which keeps the function from being removed.
// @ts-ignore
!InitModule && InitModule.bind(null);
