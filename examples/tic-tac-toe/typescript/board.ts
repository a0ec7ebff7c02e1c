// What a game is, and who has won it. Nothing here knows of the server.

export enum Op { Board = 1, Move, Refused }

export interface Player {
    userId: string;
    username: string;
    /** The newest session of the player. */
    sessionId: string;
    /** The tick in which the connection was lost. */
    lostAt?: number;
}

export interface State {
    board: number[];
    players: Player[];
    /** Whose turn it is: 1 or 2, as marks on the board. */
    turn: number;
    moves: number;
    winner: number;
    over: boolean;
}

const LINES = [[0, 1, 2], [3, 4, 5], [6, 7, 8], [0, 3, 6], [1, 4, 7], [2, 5, 8], [0, 4, 8], [2, 4, 6]] as const;

export function begin(): State {
    return { board: Array(9).fill(0), players: [], turn: 1, moves: 0, winner: 0, over: false };
}

/** The index of a player's seat, or -1. */
export function seatOf(state: State, userId: string): number {
    return state.players.findIndex((player) => player.userId === userId);
}

/** Ends the game: the other player wins. */
export function giveUp(state: State, index: number): void {
    state.over = true;
    state.winner = state.players.length === 2 ? 2 - index : 0;
}

/** Sets the mark of whose turn it is. */
export function move(state: State, cell: number): void {
    state.board[cell] = state.turn;
    state.moves += 1;
    state.winner = winner(state.board);
    state.over = state.winner !== 0 || state.moves === 9;
    state.turn = 3 - state.turn;
}

function winner(board: number[]): number {
    for (const [a, b, c] of LINES) {
        if (board[a] !== 0 && board[a] === board[b] && board[a] === board[c]) return board[a]!;
    }
    return 0;
}
