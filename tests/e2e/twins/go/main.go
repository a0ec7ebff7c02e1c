// Twin of the modules in Lua and JavaScript: the same functions and matches, as a studio writes them in Go.
package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"

	"github.com/heroiclabs/nakama-common/runtime"
	muster "github.com/muster-server/muster/sdk/go"
)

func main() { muster.Run(InitModule) }

// call is what every function is given.
type call struct {
	ctx    context.Context
	logger runtime.Logger
	db     *sql.DB
	nk     runtime.NakamaModule
}

func (c call) value(key string) string {
	text, _ := c.ctx.Value(key).(string)
	return text
}

// answer is what a function answers, as JSON.
type answer map[string]any

var done = answer{"done": true}

// rpc registers a function that takes and answers JSON.
func rpc[T any](to runtime.Initializer, id string, run func(c call, asked T) (answer, error)) error {
	return to.RegisterRpc(id, func(ctx context.Context, logger runtime.Logger, db *sql.DB, nk runtime.NakamaModule, payload string) (string, error) {
		var asked T
		if payload != "" {
			if err := json.Unmarshal([]byte(payload), &asked); err != nil {
				return "", err
			}
		}
		answered, err := run(call{ctx, logger, db, nk}, asked)
		if err != nil {
			return "", err
		}
		text, err := json.Marshal(answered)
		return string(text), err
	})
}

// match registers a match whose callbacks are one value's.
func match(to runtime.Initializer, name string, callbacks runtime.Match) error {
	return to.RegisterMatch(name, func(context.Context, runtime.Logger, *sql.DB, runtime.NakamaModule) (runtime.Match, error) {
		return callbacks, nil
	})
}

// InitModule registers what the other files have.
func InitModule(ctx context.Context, logger runtime.Logger, db *sql.DB, nk runtime.NakamaModule, to runtime.Initializer) error {
	c := call{ctx, logger, db, nk}
	return errors.Join(
		registerUtilities(c, to), registerData(to), registerReach(to),
		match(to, "relay", relay{}), match(to, "lobby", lobby{}), match(to, "turns", turns{}), match(to, "signals", signals{}),
		match(to, "warden", warden{}), match(to, "ticker", ticker{}),
	)
}
