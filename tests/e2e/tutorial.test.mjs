// The game of examples/tic-tac-toe, played with the official client as its page plays it, in each of its languages.

import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { test } from "node:test";

import { goModule } from "./support/go.mjs";
import { onEveryServer } from "./support/matrix.mjs";
import { connectPlayers, FORMAT_ORDERS, Player } from "./support/player.mjs";

const OP = { board: 1, move: 2, refused: 3 };
const text = (data) => Buffer.from(data ?? []).toString();

/** What a player is told next: the board, or why a move was refused. */
async function told(player) {
  const { op_code, data } = await player.next("matchData");
  return op_code === OP.board ? JSON.parse(text(data)) : text(data);
}

async function enter(player) {
  const { payload } = await player.client.rpc(player.session, "find_match", {});
  return (await player.socket.joinMatch(payload.match_id)).match_id;
}

for (const language of ["lua", "javascript", "typescript", "go"]) {
  const game = fileURLToPath(new URL(`../../examples/tic-tac-toe/${language}`, import.meta.url));
  const flags = language === "go" ? await goModule(game) : { "runtime.path": game };
  onEveryServer(
    `tic-tac-toe in ${language}`,
    (holder) => {
      for (const formats of FORMAT_ORDERS) {
        test(`a game is played and won: ${formats.join(" and ")}`, async () => {
          const [ann, bob] = await connectPlayers(holder.server, formats, 2);
          const id = await enter(ann);
          assert.deepEqual((await told(ann)).players, [ann.username]);
          assert.equal(await enter(bob), id);
          for (const player of [ann, bob]) {
            const { board, players, turn, over } = await told(player);
            assert.deepEqual([board, players, turn, over], [Array(9).fill(0), [ann.username, bob.username], 1, false]);
          }
          const move = (player, cell) => player.socket.sendMatchState(id, OP.move, JSON.stringify({ cell }));
          await move(bob, 0);
          assert.equal(await told(bob), "it is not your turn");
          const moves = [[ann, 0], [bob, 3], [ann, 1], [bob, 4]];
          for (const [player, cell] of moves) {
            await move(player, cell);
            await told(ann);
            await told(bob);
          }
          for (const nonsense of ["{}", "not JSON", '{"cell":3}', '{"cell":99}']) {
            await ann.socket.sendMatchState(id, OP.move, nonsense);
            assert.equal(await told(ann), "that cell is not free");
          }
          await move(ann, 2);
          for (const player of [ann, bob]) {
            const { board, winner, over } = await told(player);
            assert.deepEqual([board, winner, over], [[1, 1, 1, 2, 2, 0, 0, 0, 0], 1, true]);
          }
          const wallet = async (player) => JSON.parse((await player.client.getAccount(player.session)).wallet);
          assert.deepEqual([await wallet(ann), await wallet(bob)], [{ wins: 1 }, {}]);
          await Promise.all([ann.disconnect(), bob.disconnect()]);
        });
      }

      test("who leaves loses", async () => {
        const [ann, bob] = await connectPlayers(holder.server, FORMAT_ORDERS[0], 2);
        const id = await enter(ann);
        await enter(bob);
        await bob.socket.leaveMatch(id);
        let last;
        do {
          last = await told(ann);
        } while (!last.over);
        assert.equal(last.winner, 1);
        await ann.disconnect();
      });

      test("who loses the connection comes back to the same seat", async () => {
        const [ann, bob, zoe] = await connectPlayers(holder.server, FORMAT_ORDERS[0], 3);
        const id = await enter(ann);
        await enter(bob);
        const move = (player, cell) => player.socket.sendMatchState(id, OP.move, JSON.stringify({ cell }));
        await move(ann, 4);
        while ((await told(ann)).turn !== 2);
        await bob.disconnect();
        await assert.rejects(zoe.socket.joinMatch(id), ({ message }) => message === "two are playing already");
        const back = await Player.connect(holder.server, FORMAT_ORDERS[0][1], { session: bob.session });
        await back.socket.joinMatch(id);
        const { board, players, turn, over } = await told(back);
        assert.deepEqual([board, players, turn, over], [[0, 0, 0, 0, 1, 0, 0, 0, 0], [ann.username, bob.username], 2, false]);
        await move(back, 0);
        assert.deepEqual((await told(back)).board, [2, 0, 0, 0, 1, 0, 0, 0, 0]);
        await Promise.all([ann.disconnect(), back.disconnect(), zoe.disconnect()]);
      });
    },
    flags,
  );
}
