// Tic-tac-toe, decided by the server: two players, one board, a wallet that counts what they won.
package main

import (
	"context"
	"database/sql"
	"encoding/json"

	"github.com/heroiclabs/nakama-common/runtime"
	muster "github.com/muster-server/muster/sdk/go"
)

func main() { muster.Run(InitModule) }

// InitModule registers the match, and the function that players call first.
func InitModule(ctx context.Context, logger runtime.Logger, db *sql.DB, nk runtime.NakamaModule, initializer runtime.Initializer) error {
	if err := initializer.RegisterRpc("find_match", findMatch); err != nil {
		return err
	}
	return initializer.RegisterMatch("tictactoe", func(context.Context, runtime.Logger, *sql.DB, runtime.NakamaModule) (runtime.Match, error) {
		return ticTacToe{}, nil
	})
}

// findMatch answers a match that waits, or a new one.
func findMatch(ctx context.Context, logger runtime.Logger, db *sql.DB, nk runtime.NakamaModule, payload string) (string, error) {
	least, most := 0, 1
	waiting, err := nk.MatchList(ctx, 1, true, "", &least, &most, "+label.game:tic-tac-toe +label.open:1")
	if err != nil {
		return "", err
	}
	id := ""
	if len(waiting) > 0 {
		id = waiting[0].MatchId
	} else if id, err = nk.MatchCreate(ctx, "tictactoe", nil); err != nil {
		return "", err
	}
	answer, err := json.Marshal(map[string]string{"match_id": id})
	return string(answer), err
}
