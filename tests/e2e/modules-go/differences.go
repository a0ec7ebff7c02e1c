package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"net"
	"os"
	goruntime "runtime"
	"strconv"

	"github.com/heroiclabs/nakama-common/runtime"
	muster "github.com/muster-server/muster/sdk/go"
)

// version is set when the module is built.
var version string

// keys are all keys and secrets that the configuration tells a module.
var keys []string

func readKeys(initializer runtime.Initializer) error {
	config, err := initializer.GetConfig()
	if err != nil {
		return err
	}
	session := config.GetSession()
	keys = []string{
		session.GetEncryptionKey(), session.GetRefreshEncryptionKey(), config.GetSocket().GetServerKey(), config.GetRuntime().GetHTTPKey(),
	}
	return nil
}

func tellVersion(context.Context, runtime.Logger, *sql.DB, runtime.NakamaModule, string) (string, error) {
	return version, nil
}

// codeOf returns the code of an error of the server, or 0 for any other.
func codeOf(err error) int {
	if refused, ok := err.(*runtime.Error); ok {
		return refused.Code
	}
	return 0
}

// outside tells what a module can reach by itself, and what it can read through the server.
func outside(ctx context.Context, _ runtime.Logger, _ *sql.DB, nk runtime.NakamaModule, payload string) (string, error) {
	_, readError := os.ReadFile("/etc/passwd")
	_, listError := os.ReadDir(".")
	_, dialError := net.Dial("tcp", payload)
	_, fileError := nk.ReadFile("data.txt")
	data, err := muster.ReadFile(ctx, "data.txt")
	if err != nil {
		return "", err
	}
	return written(map[string]any{
		"read": readError != nil, "list": listError != nil, "dial": dialError != nil, "environment": os.Environ(),
		"file": codeOf(fileError), "data": string(data), "processors": goruntime.GOMAXPROCS(0),
	})
}

// missing tells the codes of what is not there, and the keys of the configuration.
func missing(ctx context.Context, _ runtime.Logger, _ *sql.DB, nk runtime.NakamaModule, _ string) (string, error) {
	_, devices := nk.AccountsGetId(ctx, nil, []string{"a-device"})
	_, _, hidden := nk.PartyList(ctx, 10, nil, true, "", "")
	return written(map[string]any{"devices": codeOf(devices), "hidden": codeOf(hidden), "keys": keys})
}

// nested reads lists that lie in each other, and returns how many there are.
func nested(_ context.Context, _ runtime.Logger, _ *sql.DB, _ runtime.NakamaModule, payload string) (string, error) {
	var list []any
	if err := json.Unmarshal([]byte(payload), &list); err != nil {
		return "", err
	}
	return strconv.Itoa(depth(list)), nil
}

func depth(list []any) int {
	if len(list) == 0 {
		return 1
	}
	return 1 + depth(list[0].([]any))
}

// numbers stores an object with a number, and returns the text that it is read as.
func numbers(ctx context.Context, _ runtime.Logger, _ *sql.DB, nk runtime.NakamaModule, payload string) (string, error) {
	value, err := json.Marshal(map[string]json.RawMessage{"n": json.RawMessage(payload)})
	if err != nil {
		return "", err
	}
	user := ctx.Value(runtime.RUNTIME_CTX_USER_ID).(string)
	_, err = nk.StorageWrite(ctx, []*runtime.StorageWrite{{Collection: "numbers", Key: "n", UserID: user, Value: string(value)}})
	if err != nil {
		return "", err
	}
	found, err := nk.StorageRead(ctx, []*runtime.StorageRead{{Collection: "numbers", Key: "n", UserID: user}})
	if err != nil {
		return "", err
	}
	var read map[string]json.RawMessage
	err = json.Unmarshal([]byte(found[0].Value), &read)
	return string(read["n"]), err
}
