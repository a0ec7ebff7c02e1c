// Declarations of what game code may call, read by TypeScript's own compiler: game code that uses them compiles, and what does
// not fit is refused.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const DECLARATIONS = fileURLToPath(new URL("../../docs/reference/typings/muster.d.ts", import.meta.url));
const COMPILER = fileURLToPath(new URL("node_modules/typescript/bin/tsc", import.meta.url));
const OPTIONS = ["--noEmit", "--strict", "--target", "es2023", "--lib", "es2023", "--module", "preserve"];

function compile(...files) {
  const { status, stdout } = spawnSync(process.execPath, [COMPILER, ...OPTIONS, DECLARATIONS, ...files], { encoding: "utf8" });
  return { status, stdout };
}

/** Compiles the text of a module. */
async function compileText(text) {
  const folder = await mkdtemp(join(tmpdir(), "muster-typings-"));
  try {
    const file = join(folder, "index.ts");
    await writeFile(file, text);
    return compile(file);
  } finally {
    await rm(folder, { recursive: true });
  }
}

test("the example's game compiles", () => {
  const game = fileURLToPath(new URL("../../examples/tic-tac-toe/typescript/index.ts", import.meta.url));
  assert.deepEqual(compile(game), { status: 0, stdout: "" });
});

test("a durable match with timers, and over newer code, compiles", async () => {
  const text = `
    interface Table { turn: number }
    const handler: nkruntime.MatchHandler<Table> = {
      durable: true,
      matchInit: () => ({ state: { turn: 0 }, tickRate: 1, label: "" }),
      matchJoinAttempt: (ctx, logger, nk, dispatcher, tick, state, presence) => ({ state, accept: ctx.userId === presence.userId }),
      matchJoin: (ctx, logger, nk, dispatcher, tick, state) => {
        dispatcher.setTimer("turn", 30_000, "first");
        dispatcher.setTimer("end", 60_000);
        return { state };
      },
      matchLeave: (ctx, logger, nk, dispatcher, tick, state) => ({ state }),
      matchLoop: (ctx, logger, nk, dispatcher, tick, state) => ({ state }),
      matchTerminate: (ctx, logger, nk, dispatcher, tick, state) => ({ state }),
      matchSignal: (ctx, logger, nk, dispatcher, tick, state, data) => ({ state, data }),
      matchTimer: (ctx, logger, nk, dispatcher, tick, state, name, data) => {
        dispatcher.cancelTimer(name);
        return { state: { turn: state.turn + data.length } };
      },
      matchMigrate: (ctx, logger, nk, state, fromGeneration) => ({ state: { turn: state.turn + fromGeneration } }),
    };
    export const InitModule: nkruntime.InitModule = (ctx, logger, nk, initializer) => initializer.registerMatch("table", handler);
  `;
  assert.deepEqual(await compileText(text), { status: 0, stdout: "" });
});

test("game code that uses functions as they are compiles, and other does not", async () => {
  const check = (body) => compileText(`export function f(ctx: nkruntime.Context, logger: nkruntime.Logger, nk: nkruntime.Nakama) {\n${body}\n}\n`);
  const good = `
    const [object] = nk.storageRead([{ collection: "c", key: "k", userId: ctx.userId }]);
    const written: string = nk.storageWrite([{ collection: "c", key: "k", userId: ctx.userId, value: { a: 1 }, version: object?.version }])[0]!.version;
    const { objects, cursor } = nk.storageList(null, "c", 10);
    const gold: number | undefined = nk.walletUpdate(ctx.userId, { gold: 1 }, {}, true).updated["gold"];
    const account: nkruntime.Account = nk.accountGetId(ctx.userId);
    nk.accountUpdateId(ctx.userId, null, "Ann", null, null, null, null, { shoe: 40 });
    const id: string = nk.matchCreate("game", { a: 1 });
    const found = nk.matchGet(id)?.size ?? 0;
    const text: string = nk.binaryToString(nk.base64Decode(nk.base64Encode(new Uint8Array([1]))));
    const { code, body } = nk.httpRequest("https://example.com", "get", { accept: "x" });
    logger.withField("a", "b").info("%s %d", written, found);
    throw { message: text + body + cursor + objects.length + gold + account.user.displayName, code: nkruntime.Codes.NOT_FOUND + code * 0 };`;
  assert.deepEqual(await check(good), { status: 0, stdout: "" });
  for (const bad of ["nk.storageRead(5);", "nk.noSuchFunction();", "nk.walletUpdate(ctx.userId);", "const x: number = nk.uuidv4();"]) {
    assert.notEqual((await check(bad)).status, 0, bad);
  }
});

test("hooks get the messages that they are registered for", async () => {
  const check = (body) => compileText(`export function f(initializer: nkruntime.Initializer) {\n${body}\n}\n`);
  const good = `
    initializer.registerBeforeUpdateAccount((ctx, logger, nk, data) => {
      if (data.displayName?.includes("rude")) throw { message: "be kind", code: nkruntime.Codes.INVALID_ARGUMENT };
      return { ...data, langTag: null };
    });
    const named: nkruntime.BeforeHookFunction<nkruntime.UpdateAccountRequest> = (ctx, logger, nk, data) => data;
    initializer.registerBeforeUpdateAccount(named);
    initializer.registerBeforeGetAccount(() => {});
    initializer.registerAfterGetAccount((ctx, logger, nk, account) => logger.info(account.user?.metadata.trim() ?? ""));
    initializer.registerAfterAuthenticateDevice((ctx, logger, nk, out: nkruntime.Session, { account }) => {
      if (out.created && account?.id) nk.walletUpdate(ctx.userId, { gold: 100 });
    });
    initializer.registerRtBefore("ChannelMessageSend", (ctx, logger, nk, envelope) => {
      envelope.channelMessageSend.content = "{}";
      return envelope;
    });
    const joins: nkruntime.RtAfterHookFunction<nkruntime.EnvelopeChannelJoin> = (ctx, logger, nk, output, input) =>
      logger.info(output.channel.id, input.channelJoin.target);
    initializer.registerRtAfter("ChannelJoin", joins);
    initializer.registerEvent((ctx, logger, nk, event) => logger.info(event.timestamp ?? event.name));
    // The names that Nakama's declarations have.
    initializer.registerBeforeUpdateAccount(null! as nkruntime.BeforeHookFunction<nkruntime.UserUpdateAccount>);
    initializer.registerAfterGetAccount(null! as nkruntime.AfterHookFunction<nkruntime.Account, void>);
    initializer.registerAfterListNotifications(null! as nkruntime.AfterHookFunction<nkruntime.ApiNotificationList, nkruntime.ListNotificationsRequest>);
    initializer.registerRtBefore("MatchCreate", null! as nkruntime.RtBeforeHookFunction<nkruntime.EnvelopeMatchCreateMessage>);
    initializer.registerRtBefore("Ping", null! as nkruntime.RtBeforeHookFunction<nkruntime.Envelope>);`;
  assert.deepEqual(await check(good), { status: 0, stdout: "" });
  for (const bad of [
    "initializer.registerBeforeUpdateAccount((ctx, logger, nk, data) => { data.display_name; return data; });",
    "initializer.registerBeforeUpdateAcount((ctx, logger, nk, data) => data);",
    "initializer.registerAfterAuthenticateDevice((ctx, logger, nk, out) => logger.info(out.isCreated));",
    'initializer.registerRtBefore("ChannelMessageSend", (ctx, logger, nk, { channelMessageSend }) => { channelMessageSend.text; });',
    'initializer.registerRtBefore("ChannelMesageSend", (ctx, logger, nk, envelope) => envelope);',
  ]) {
    assert.notEqual((await check(bad)).status, 0, bad);
  }
});

test("presences have the name of their node", async () => {
  const text = `
    export const nodes = (nk: nkruntime.Nakama, stream: nkruntime.Stream): string[] => nk.streamUserList(stream).map(({ node }) => node);
    export const sender = ({ sender: { node } }: nkruntime.MatchMessage): string => node;
    export const matched: nkruntime.MatchmakerMatchedFunction = (ctx, logger, nk, [first]) => first?.presence.node;
  `;
  assert.deepEqual(await compileText(text), { status: 0, stdout: "" });
});
