// Tic-tac-toe, decided by the server: two players, one board, a wallet that counts what they won.
import { begin, giveUp, move, Op, seatOf, type State } from "./board";

/** The reason of a presence that did not leave on purpose. */
const CONNECTION_LOST = 4;
/** For half a minute the seat of a player without a connection is kept. */
const GRACE_TICKS = 300;

function label(state: State): string {
    return JSON.stringify({ game: "tic-tac-toe", open: state.players.length < 2 ? 1 : 0 });
}

// What a player sent may be anything: only a cell that is free counts.
function cellOf(nk: nkruntime.Nakama, state: State, message: nkruntime.MatchMessage): number {
    try {
        const { cell } = JSON.parse(nk.binaryToString(message.data)) as { cell: number };
        return state.board[cell] === 0 ? cell : -1;
    } catch {
        return -1;
    }
}

function show(state: State, dispatcher: nkruntime.MatchDispatcher): void {
    const { board, turn, winner, over } = state;
    const players = state.players.map((player) => player.username);
    dispatcher.broadcastMessage(Op.Board, JSON.stringify({ board, players, turn, winner, over }));
}

const matchInit: nkruntime.MatchInitFunction<State> = () => {
    const state = begin();
    return { state, tickRate: 10, label: label(state) };
};

const matchJoinAttempt: nkruntime.MatchJoinAttemptFunction<State> = (ctx, logger, nk, dispatcher, tick, state, presence) => {
    const accept = state.players.length < 2 || seatOf(state, presence.userId) >= 0;
    return { state, accept, rejectMessage: accept ? undefined : "two are playing already" };
};

const matchJoin: nkruntime.MatchJoinFunction<State> = (ctx, logger, nk, dispatcher, tick, state, presences) => {
    for (const { userId, username, sessionId } of presences) {
        // A player who comes back has the same user id, and another session id.
        const index = seatOf(state, userId);
        state.players[index >= 0 ? index : state.players.length] = { userId, username, sessionId };
    }
    dispatcher.matchLabelUpdate(label(state));
    show(state, dispatcher);
    return { state };
};

const matchLeave: nkruntime.MatchLeaveFunction<State> = (ctx, logger, nk, dispatcher, tick, state, presences) => {
    for (const { userId, sessionId, reason } of presences) {
        const index = seatOf(state, userId);
        const player = state.players[index];
        // The session of a player who is back already may be seen to go later.
        if (player?.sessionId === sessionId && !state.over) {
            if (reason === CONNECTION_LOST) player.lostAt = tick;
            else giveUp(state, index);
        }
    }
    show(state, dispatcher);
    return { state };
};

const matchLoop: nkruntime.MatchLoopFunction<State> = (ctx, logger, nk, dispatcher, tick, state, messages) => {
    for (const message of messages) {
        const cell = message.opCode === Op.Move ? cellOf(nk, state, message) : -1;
        const player = state.players[state.turn - 1];
        if (state.over || state.players.length < 2 || player?.userId !== message.sender.userId) {
            dispatcher.broadcastMessage(Op.Refused, "it is not your turn", [message.sender]);
        } else if (cell < 0) {
            dispatcher.broadcastMessage(Op.Refused, "that cell is not free", [message.sender]);
        } else {
            move(state, cell);
            if (state.winner !== 0) nk.walletUpdate(player.userId, { wins: 1 }, {}, true);
            show(state, dispatcher);
        }
    }
    state.players.forEach(({ lostAt }, index) => {
        if (lostAt !== undefined && tick - lostAt > GRACE_TICKS && !state.over) {
            giveUp(state, index);
            show(state, dispatcher);
        }
    });
    return state.over ? null : { state }; // null ends the match
};

const matchSignal: nkruntime.MatchSignalFunction<State> = (ctx, logger, nk, dispatcher, tick, state, data) => ({ state, data });

const matchTerminate: nkruntime.MatchTerminateFunction<State> = (ctx, logger, nk, dispatcher, tick, state) => ({ state });

const findMatch: nkruntime.RpcFunction = (ctx, logger, nk) => {
    const [waiting] = nk.matchList(1, true, null, 0, 1, "+label.game:tic-tac-toe +label.open:1");
    return JSON.stringify({ match_id: waiting?.matchId ?? nk.matchCreate("tictactoe", {}) });
};

export const InitModule: nkruntime.InitModule = (ctx, logger, nk, initializer) => {
    initializer.registerMatch("tictactoe", {
        matchInit, matchJoinAttempt, matchJoin, matchLeave, matchLoop, matchSignal, matchTerminate,
    });
    initializer.registerRpc("find_match", findMatch);
};
