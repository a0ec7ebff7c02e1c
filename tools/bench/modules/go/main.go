// The function of `muster-bench rpc-go`: parses its payload and serialises it again.
package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"net/http"

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

// The function of `muster-bench rpc-go --waits-for URL`.
func benchWait(ctx context.Context, _ runtime.Logger, _ *sql.DB, _ runtime.NakamaModule, text string) (string, error) {
	var asked struct {
		URL string `json:"url"`
	}
	if err := json.Unmarshal([]byte(text), &asked); err != nil {
		return "", err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, asked.URL, nil)
	if err != nil {
		return "", err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	return text, response.Body.Close()
}

// The function of `muster-bench ticks --bombs`, which ends only because the server ends it.
func benchBomb(_ context.Context, _ runtime.Logger, _ *sql.DB, _ runtime.NakamaModule, kind string) (string, error) {
	var all [][]byte
	for {
		if kind == "memory" {
			all = append(all, make([]byte, 10_000))
		}
	}
}

// InitModule registers the functions.
func InitModule(_ context.Context, _ runtime.Logger, _ *sql.DB, _ runtime.NakamaModule, initializer runtime.Initializer) error {
	if err := initializer.RegisterRpc("bench_wait_go", benchWait); err != nil {
		return err
	}
	if err := initializer.RegisterRpc("bench_bomb_go", benchBomb); err != nil {
		return err
	}
	return initializer.RegisterRpc("bench_go", benchGo)
}
