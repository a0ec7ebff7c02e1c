// Game code for go.test.mjs: functions, hooks and a match, written as a studio writes them for the original.
package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/heroiclabs/nakama-common/runtime"
	muster "github.com/muster-server/muster/sdk/go"
)

func main() { muster.Run(InitModule) }

// calls counts calls in a variable, since one instance serves the whole server.
var calls int

type function = func(ctx context.Context, logger runtime.Logger, db *sql.DB, nk runtime.NakamaModule, payload string) (string, error)

// InitModule registers all functions, hooks and matches.
func InitModule(ctx context.Context, logger runtime.Logger, db *sql.DB, nk runtime.NakamaModule, initializer runtime.Initializer) error {
	functions := map[string]function{
		"echo": echo, "context": show, "refuse": refuse, "broken": broken, "panicking": panicking, "endless": endless, "hog": hog,
		"count": count, "prize": prize, "query": query, "fetch": fetch, "later": later, "forever": forever, "joined": joined, "unbuilt": unbuilt,
		"arena_create": create, "arena_signal": signal, "arena_list": list, "crash": crash, "bomb": bomb, "leave": leave,
		"seats_create": createSeats, "version": tellVersion, "outside": outside, "missing": missing, "numbers": numbers,
		"nested": nested,
	}
	for id, fn := range functions {
		if err := initializer.RegisterRpc(id, fn); err != nil {
			return err
		}
	}
	if kind := ctx.Value(runtime.RUNTIME_CTX_ENV).(map[string]string)["BOMB"]; kind != "" {
		explode(kind)
	}
	return errors.Join(
		readKeys(initializer),
		initializer.RegisterBeforeUpdateAccount(beforeUpdateAccount),
		initializer.RegisterBeforeListNotifications(beforeListNotifications),
		initializer.RegisterAfterAuthenticateDevice(afterAuthenticateDevice),
		initializer.RegisterBeforeRt("ChannelMessageSend", beforeChannelMessageSend),
		initializer.RegisterAfterRt("channeljoin", afterChannelJoin),
		initializer.RegisterMatch("arena", func(context.Context, runtime.Logger, *sql.DB, runtime.NakamaModule) (runtime.Match, error) {
			return arena{}, nil
		}),
		initializer.RegisterMatch("bells", func(context.Context, runtime.Logger, *sql.DB, runtime.NakamaModule) (runtime.Match, error) {
			return bells{}, nil
		}),
		initializer.RegisterMatch("seats", func(context.Context, runtime.Logger, *sql.DB, runtime.NakamaModule) (runtime.Match, error) {
			return seats{}, nil
		}),
		initializer.RegisterMatchmakerMatched(matched),
		// Nothing calls these yet, but a module that registers them loads.
		initializer.RegisterLeaderboardReset(nil),
		initializer.RegisterTournamentEnd(nil),
		initializer.RegisterStorageIndex("index", "collection", "", []string{"field"}, nil, 10, false),
		initializer.RegisterHttp("/shop/{item}", shop, http.MethodPost),
	)
}

func shop(response http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(request.Body)
	if err != nil {
		http.Error(response, err.Error(), http.StatusInternalServerError)
		return
	}
	response.Header().Set("X-Item", request.PathValue("item"))
	response.WriteHeader(http.StatusAccepted)
	fmt.Fprintf(response, "%s for %s", body, request.URL.Query().Get("for"))
}

func echo(_ context.Context, _ runtime.Logger, _ *sql.DB, _ runtime.NakamaModule, payload string) (string, error) {
	return payload, nil
}

func show(ctx context.Context, _ runtime.Logger, _ *sql.DB, _ runtime.NakamaModule, _ string) (string, error) {
	values := map[string]any{}
	for _, key := range []string{
		runtime.RUNTIME_CTX_ENV, runtime.RUNTIME_CTX_MODE, runtime.RUNTIME_CTX_USER_ID, runtime.RUNTIME_CTX_USERNAME,
		runtime.RUNTIME_CTX_VARS, runtime.RUNTIME_CTX_MATCH_ID,
	} {
		values[key] = ctx.Value(key)
	}
	return written(values)
}

func written(value any) (string, error) {
	text, err := json.Marshal(value)
	return string(text), err
}

func refuse(context.Context, runtime.Logger, *sql.DB, runtime.NakamaModule, string) (string, error) {
	return "", runtime.NewError("no chips", 9)
}

func broken(context.Context, runtime.Logger, *sql.DB, runtime.NakamaModule, string) (string, error) {
	return "", errors.New("broken")
}

func panicking(context.Context, runtime.Logger, *sql.DB, runtime.NakamaModule, string) (string, error) {
	var none map[string]int
	none["x"]++
	return "", nil
}

// crash ends the instance: a panic on a goroutine of its own cannot be caught.
func crash(context.Context, runtime.Logger, *sql.DB, runtime.NakamaModule, string) (string, error) {
	go panic("a goroutine of its own")
	select {}
}

func forever(context.Context, runtime.Logger, *sql.DB, runtime.NakamaModule, string) (string, error) {
	select {}
}

func endless(context.Context, runtime.Logger, *sql.DB, runtime.NakamaModule, string) (string, error) {
	for {
		calls += 0
	}
}

var kept [][]byte

func hog(context.Context, runtime.Logger, *sql.DB, runtime.NakamaModule, string) (string, error) {
	for {
		kept = append(kept, make([]byte, 1<<20))
	}
}

func count(context.Context, runtime.Logger, *sql.DB, runtime.NakamaModule, string) (string, error) {
	calls++
	return fmt.Sprint(calls), nil
}

// prize gives a prize once a day, as a game would.
func prize(ctx context.Context, logger runtime.Logger, _ *sql.DB, nk runtime.NakamaModule, payload string) (string, error) {
	var asked, last struct {
		Day     int `json:"day"`
		LastDay int `json:"last_day"`
	}
	if err := json.Unmarshal([]byte(payload), &asked); err != nil {
		return "", err
	}
	user := ctx.Value(runtime.RUNTIME_CTX_USER_ID).(string)
	seen, err := nk.StorageRead(ctx, []*runtime.StorageRead{{Collection: "prizes", Key: "daily", UserID: user}})
	if err != nil {
		return "", err
	}
	version := "*"
	if len(seen) > 0 {
		if err := json.Unmarshal([]byte(seen[0].Value), &last); err != nil {
			return "", err
		}
		version = seen[0].Version
	}
	if last.LastDay == asked.Day {
		return "", runtime.NewError("come back tomorrow", 9)
	}
	updated, _, err := nk.WalletUpdate(ctx, user, map[string]int64{"gold": 10}, map[string]any{"reason": "daily"}, true)
	if err != nil {
		return "", err
	}
	_, err = nk.StorageWrite(ctx, []*runtime.StorageWrite{{
		Collection: "prizes", Key: "daily", UserID: user, Value: fmt.Sprintf(`{"last_day":%d}`, asked.Day), Version: version,
		PermissionRead: runtime.STORAGE_PERMISSION_OWNER_READ,
	}})
	if err != nil {
		return "", err
	}
	logger.WithField("user", user).Info("a prize for day %d", asked.Day)
	return written(map[string]int64{"gold": updated["gold"]})
}

func query(ctx context.Context, _ runtime.Logger, db *sql.DB, _ runtime.NakamaModule, payload string) (string, error) {
	var name string
	var number int64
	row := db.QueryRowContext(ctx, "SELECT username, CAST($2 AS BIGINT) FROM users WHERE username = $1", payload, int64(1)<<60)
	if err := row.Scan(&name, &number); err != nil {
		return "", err
	}
	_, err := db.Begin()
	return fmt.Sprint(name, " ", number, " ", err != nil), nil
}

func fetch(ctx context.Context, _ runtime.Logger, _ *sql.DB, _ runtime.NakamaModule, payload string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, payload, nil)
	if err != nil {
		return "", err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return fmt.Sprintf("%d %s", response.StatusCode, body), err
}

// later waits for a goroutine that uses a timer and a function of the server.
func later(ctx context.Context, _ runtime.Logger, _ *sql.DB, nk runtime.NakamaModule, payload string) (string, error) {
	told := make(chan string)
	go func() {
		time.Sleep(time.Millisecond)
		users, err := nk.UsersGetUsername(ctx, []string{payload})
		told <- fmt.Sprint(len(users), " ", err)
	}()
	return <-told, nil
}

func unbuilt(ctx context.Context, _ runtime.Logger, _ *sql.DB, nk runtime.NakamaModule, _ string) (string, error) {
	return "", nk.LeaderboardDelete(ctx, "x")
}
