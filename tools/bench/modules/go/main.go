// What `muster-bench rpc-go` calls: reads its payload and writes it again.
package main

import (
	"context"
	"database/sql"
	"encoding/json"

	"github.com/heroiclabs/nakama-common/runtime"
	muster "github.com/muster-server/muster/sdk/go"
)

func main() { muster.Run(InitModule) }

type item struct {
	Name  string `json:"name"`
	Count int    `json:"count"`
}

type payload struct {
	Number int `json:"number"`
	Player struct {
		Name   string `json:"name"`
		Level  int    `json:"level"`
		Online bool   `json:"online"`
	} `json:"player"`
	Items []item `json:"items"`
}

func benchGo(_ context.Context, _ runtime.Logger, _ *sql.DB, _ runtime.NakamaModule, text string) (string, error) {
	var asked payload
	if err := json.Unmarshal([]byte(text), &asked); err != nil {
		return "", err
	}
	answer, err := json.Marshal(asked)
	return string(answer), err
}

// InitModule registers the function.
func InitModule(_ context.Context, _ runtime.Logger, _ *sql.DB, _ runtime.NakamaModule, initializer runtime.Initializer) error {
	return initializer.RegisterRpc("bench_go", benchGo)
}
