// Tic-tac-toe, decided by the server: two players, one board, a wallet that counts what they won.
var BOARD = 1, MOVE = 2, REFUSED = 3; // op codes
var CONNECTION_LOST = 4; // the reason of a presence that did not leave on purpose
var GRACE_TICKS = 300; // for half a minute the seat of a player without a connection is kept
var LINES = [[0, 1, 2], [3, 4, 5], [6, 7, 8], [0, 3, 6], [1, 4, 7], [2, 5, 8], [0, 4, 8], [2, 4, 6]];

function label(state) {
    return JSON.stringify({ game: "tic-tac-toe", open: state.players.length < 2 ? 1 : 0 });
}

function winner(board) {
    for (var line of LINES) {
        var mark = board[line[0]];
        if (mark !== 0 && mark === board[line[1]] && mark === board[line[2]]) return mark;
    }
    return 0;
}

// What a player sent may be anything: only a cell that is free counts.
function cellOf(nk, state, message) {
    try {
        var cell = JSON.parse(nk.binaryToString(message.data)).cell;
        return state.board[cell] === 0 ? cell : -1;
    } catch (error) {
        return -1;
    }
}

function show(state, dispatcher) {
    dispatcher.broadcastMessage(BOARD, JSON.stringify({
        board: state.board, players: state.players.map(function (player) { return player.username; }),
        turn: state.turn, winner: state.winner, over: state.over,
    }));
}

function seatOf(state, userId) {
    return state.players.findIndex(function (player) { return player.userId === userId; });
}

function giveUp(state, index) {
    state.over = true;
    state.winner = state.players.length === 2 ? 2 - index : 0;
}

function matchInit(ctx, logger, nk, params) {
    var state = { board: [0, 0, 0, 0, 0, 0, 0, 0, 0], players: [], turn: 1, moves: 0, winner: 0, over: false };
    return { state: state, tickRate: 10, label: label(state) };
}

function matchJoinAttempt(ctx, logger, nk, dispatcher, tick, state, presence, metadata) {
    var isBack = seatOf(state, presence.userId) >= 0;
    if (state.players.length >= 2 && !isBack) return { state: state, accept: false, rejectMessage: "two are playing already" };
    return { state: state, accept: true };
}

function matchJoin(ctx, logger, nk, dispatcher, tick, state, presences) {
    presences.forEach(function (presence) {
        // A player who comes back has the same user id, and another session id.
        var index = seatOf(state, presence.userId);
        var player = { userId: presence.userId, username: presence.username, sessionId: presence.sessionId, lostAt: null };
        state.players[index >= 0 ? index : state.players.length] = player;
    });
    dispatcher.matchLabelUpdate(label(state));
    show(state, dispatcher);
    return { state: state };
}

function matchLeave(ctx, logger, nk, dispatcher, tick, state, presences) {
    presences.forEach(function (presence) {
        var index = seatOf(state, presence.userId);
        // The session of a player who is back already may be seen to go later.
        if (index >= 0 && state.players[index].sessionId === presence.sessionId && !state.over) {
            if (presence.reason === CONNECTION_LOST) state.players[index].lostAt = tick;
            else giveUp(state, index);
        }
    });
    show(state, dispatcher);
    return { state: state };
}

function matchLoop(ctx, logger, nk, dispatcher, tick, state, messages) {
    messages.forEach(function (message) {
        var cell = message.opCode === MOVE ? cellOf(nk, state, message) : -1;
        var player = state.players[state.turn - 1];
        if (state.over || state.players.length < 2 || player.userId !== message.sender.userId) {
            dispatcher.broadcastMessage(REFUSED, "it is not your turn", [message.sender]);
        } else if (cell < 0) {
            dispatcher.broadcastMessage(REFUSED, "that cell is not free", [message.sender]);
        } else {
            state.board[cell] = state.turn;
            state.moves += 1;
            state.winner = winner(state.board);
            state.over = state.winner !== 0 || state.moves === 9;
            if (state.winner !== 0) nk.walletUpdate(player.userId, { wins: 1 }, {}, true);
            state.turn = 3 - state.turn;
            show(state, dispatcher);
        }
    });
    state.players.forEach(function (player, index) {
        if (player.lostAt !== null && tick - player.lostAt > GRACE_TICKS && !state.over) {
            giveUp(state, index);
            show(state, dispatcher);
        }
    });
    return state.over ? null : { state: state }; // null ends the match
}

function matchSignal(ctx, logger, nk, dispatcher, tick, state, data) {
    return { state: state, data: data };
}

function matchTerminate(ctx, logger, nk, dispatcher, tick, state, graceSeconds) {
    return { state: state };
}

function findMatch(ctx, logger, nk, payload) {
    var waiting = nk.matchList(1, true, null, 0, 1, "+label.game:tic-tac-toe +label.open:1");
    var id = waiting.length > 0 ? waiting[0].matchId : nk.matchCreate("tictactoe", {});
    return JSON.stringify({ match_id: id });
}

function InitModule(ctx, logger, nk, initializer) {
    initializer.registerMatch("tictactoe", {
        matchInit: matchInit, matchJoinAttempt: matchJoinAttempt, matchJoin: matchJoin, matchLeave: matchLeave,
        matchLoop: matchLoop, matchSignal: matchSignal, matchTerminate: matchTerminate,
    });
    initializer.registerRpc("find_match", findMatch);
}
