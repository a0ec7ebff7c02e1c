package main

import (
	"bytes"
	"context"
	"crypto"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/md5"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"database/sql"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/heroiclabs/nakama-common/api"
	"github.com/heroiclabs/nakama-common/runtime"
	muster "github.com/muster-server/muster/sdk/go"
	"golang.org/x/crypto/bcrypt"
)

// What a game takes from Go's own library, which Lua and JavaScript have of the server.

func registerUtilities(c call, to runtime.Initializer) error {
	// There is one instance, so this runs once.
	_, err := c.nk.StorageWrite(c.ctx, []*runtime.StorageWrite{{
		Collection: "once", Key: "mode", Value: fmt.Sprintf(`{"mode":%q}`, c.value(runtime.RUNTIME_CTX_MODE)),
	}})
	return errors.Join(
		err,
		rpc(to, "once", once), rpc(to, "digests", digests), rpc(to, "encodings", encodings), rpc(to, "ciphers", ciphers),
		rpc(to, "web_token", webToken), rpc(to, "signed_token", signedToken), rpc(to, "passwords", passwords),
		rpc(to, "chance", chance), rpc(to, "crons", crons), rpc(to, "json", throughJSON), rpc(to, "clock", clock),
		rpc(to, "cache", cached), rpc(to, "sql", statements), rpc(to, "metrics", metrics), rpc(to, "http", ask),
		rpc(to, "file", file), rpc(to, "context", shown), rpc(to, "config", configured(to)), rpc(to, "log", log),
		rpc(to, "refuse", refuse), rpc(to, "caught", caught), to.RegisterRpc("nothing", nothing), to.RegisterRpc("echo", echo),
	)
}

type none struct{}

func once(c call, _ none) (answer, error) {
	found, err := c.nk.StorageRead(c.ctx, []*runtime.StorageRead{{Collection: "once", Key: "mode"}})
	if err != nil {
		return nil, err
	}
	return answer{"count": len(found), "version": len(found[0].Version)}, nil
}

func digests(_ call, asked struct{ Text, Key string }) (answer, error) {
	mac := hmac.New(sha256.New, []byte(asked.Key))
	mac.Write([]byte(asked.Text))
	return answer{
		"md5":    fmt.Sprintf("%x", md5.Sum([]byte(asked.Text))),
		"sha256": fmt.Sprintf("%x", sha256.Sum256([]byte(asked.Text))),
		"hmac":   hex.EncodeToString(mac.Sum(nil)),
	}, nil
}

func encodings(_ call, asked struct{ Text string }) (answer, error) {
	text := []byte(asked.Text)
	hexed, plain := hex.EncodeToString(text), base64.StdEncoding.EncodeToString(text)
	bare, url := base64.RawStdEncoding.EncodeToString(text), base64.URLEncoding.EncodeToString(text)
	back := make([]string, 4)
	for index, decode := range []func() ([]byte, error){
		func() ([]byte, error) { return hex.DecodeString(hexed) },
		func() ([]byte, error) { return base64.StdEncoding.DecodeString(plain) },
		func() ([]byte, error) { return base64.RawStdEncoding.DecodeString(bare) },
		func() ([]byte, error) { return base64.URLEncoding.DecodeString(url) },
	} {
		decoded, err := decode()
		if err != nil {
			return nil, err
		}
		back[index] = string(decoded)
	}
	return answer{"hex": hexed, "plain": plain, "bare": bare, "url": url, "back": back}, nil
}

// encrypted has 16 random bytes before what is as long as the text.
func encrypted(text, key string) ([]byte, error) {
	block, err := aes.NewCipher([]byte(key))
	if err != nil {
		return nil, err
	}
	sealed := make([]byte, aes.BlockSize+len(text))
	if _, err := rand.Read(sealed[:aes.BlockSize]); err != nil {
		return nil, err
	}
	cipher.NewCTR(block, sealed[:aes.BlockSize]).XORKeyStream(sealed[aes.BlockSize:], []byte(text))
	return sealed, nil
}

func decrypted(sealed []byte, key string) (string, error) {
	block, err := aes.NewCipher([]byte(key))
	if err != nil {
		return "", err
	}
	text := make([]byte, len(sealed)-aes.BlockSize)
	cipher.NewCTR(block, sealed[:aes.BlockSize]).XORKeyStream(text, sealed[aes.BlockSize:])
	return string(text), nil
}

func ciphers(_ call, asked struct{ Text, Key16, Key32 string }) (answer, error) {
	lengths, back := []int{}, []string{}
	for _, key := range []string{asked.Key16, asked.Key32} {
		sealed, err := encrypted(asked.Text, key)
		if err != nil {
			return nil, err
		}
		text, err := decrypted(sealed, key)
		if err != nil {
			return nil, err
		}
		lengths, back = append(lengths, len(sealed)), append(back, text)
	}
	return answer{"lengths": lengths, "back": back}, nil
}

// signed is a token of the web whose signature is made by this.
func signed(algorithm, claim string, sign func(text string) ([]byte, error)) (answer, error) {
	claims, err := json.Marshal(map[string]string{"claim": claim})
	if err != nil {
		return nil, err
	}
	head := fmt.Sprintf(`{"alg":%q,"typ":"JWT"}`, algorithm)
	encode := base64.RawURLEncoding.EncodeToString
	text := encode([]byte(head)) + "." + encode(claims)
	signature, err := sign(text)
	return answer{"token": text + "." + encode(signature)}, err
}

func webToken(_ call, asked struct{ Key, Claim string }) (answer, error) {
	return signed("HS256", asked.Claim, func(text string) ([]byte, error) {
		mac := hmac.New(sha256.New, []byte(asked.Key))
		mac.Write([]byte(text))
		return mac.Sum(nil), nil
	})
}

func signedToken(_ call, asked struct{ Key, Claim string }) (answer, error) {
	block, _ := pem.Decode([]byte(asked.Key))
	if block == nil {
		return nil, errors.New("no key")
	}
	key, err := x509.ParsePKCS1PrivateKey(block.Bytes)
	if err != nil {
		return nil, err
	}
	return signed("RS256", asked.Claim, func(text string) ([]byte, error) {
		digest := sha256.Sum256([]byte(text))
		return rsa.SignPKCS1v15(rand.Reader, key, crypto.SHA256, digest[:])
	})
}

func passwords(_ call, asked struct{ Text string }) (answer, error) {
	hash, err := bcrypt.GenerateFromPassword([]byte(asked.Text), bcrypt.MinCost)
	if err != nil {
		return nil, err
	}
	is := func(text string) bool { return bcrypt.CompareHashAndPassword(hash, []byte(text)) == nil }
	return answer{"begins": string(hash[:4]), "right": is(asked.Text), "wrong": is(asked.Text + "?")}, nil
}

func chance(_ call, asked struct{ Count int }) (answer, error) {
	drawn := make([]byte, asked.Count)
	if _, err := rand.Read(drawn); err != nil {
		return nil, err
	}
	one, other := newID(), newID()
	return answer{"bytes": len(drawn), "length": len(one), "differ": one != other}, nil
}

func newID() string {
	var id [16]byte
	// It never fails.
	_, _ = rand.Read(id[:])
	id[6], id[8] = id[6]&0x0f|0x40, id[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:])
}

func crons(c call, asked struct {
	Expression string
	At         int64
}) (answer, error) {
	next, err := c.nk.CronNext(asked.Expression, asked.At)
	if err != nil {
		return nil, err
	}
	prev, err := c.nk.CronPrev(asked.Expression, asked.At)
	return answer{"next": next, "prev": prev}, err
}

func throughJSON(_ call, asked struct{ Value map[string]any }) (answer, error) {
	text, err := json.Marshal(asked.Value)
	if err != nil {
		return nil, err
	}
	var value map[string]any
	err = json.Unmarshal(text, &value)
	return answer{"value": value, "number": value["number"].(float64) + 1, "length": len(value["list"].([]any))}, err
}

func clock(_ call, asked struct{ Now int64 }) (answer, error) {
	return answer{"is_near": time.Since(time.UnixMilli(asked.Now)).Abs() < time.Hour}, nil
}

// cache is a variable: there is one instance.
var cache = map[string]string{}

func cached(_ call, asked struct{ Key, Value string }) (answer, error) {
	get := func(otherwise string) string {
		if value, is := cache[asked.Key]; is {
			return value
		}
		return otherwise
	}
	before := get("none")
	cache[asked.Key] = asked.Value
	there := get("")
	delete(cache, asked.Key)
	gone := get("gone")
	cache[asked.Key] = "again"
	clear(cache)
	return answer{"before": before, "there": there, "is_gone": gone == "gone", "cleared": get("cleared")}, nil
}

func statements(c call, asked struct{ Place, Name string }) (answer, error) {
	result, err := c.db.ExecContext(c.ctx, "UPDATE users SET location = $1 WHERE username = $2", asked.Place, asked.Name)
	if err != nil {
		return nil, err
	}
	changed, err := result.RowsAffected()
	if err != nil {
		return nil, err
	}
	var name, place string
	row := c.db.QueryRowContext(c.ctx, "SELECT username, location FROM users WHERE username = $1", asked.Name)
	err = row.Scan(&name, &place)
	return answer{"changed": changed, "rows": []answer{{"username": name, "location": place}}}, err
}

func metrics(c call, asked struct{ Amount int64 }) (answer, error) {
	c.nk.MetricsCounterAdd("twins_counter", map[string]string{"language": "any"}, asked.Amount)
	c.nk.MetricsGaugeSet("twins_gauge", map[string]string{}, float64(asked.Amount))
	c.nk.MetricsTimerRecord("twins_timer", map[string]string{}, time.Duration(asked.Amount))
	return done, c.nk.Event(c.ctx, &api.Event{Name: "twins", Properties: map[string]string{"amount": fmt.Sprint(asked.Amount)}})
}

func ask(c call, asked struct {
	URL, Method, Body string
	Headers           map[string]string
}) (answer, error) {
	ctx, cancel := context.WithTimeout(c.ctx, 5*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, strings.ToUpper(asked.Method), asked.URL, strings.NewReader(asked.Body))
	if err != nil {
		return nil, err
	}
	for name, value := range asked.Headers {
		request.Header.Set(name, value)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return answer{"code": response.StatusCode, "header": response.Header.Get("X-Answer"), "body": string(body)}, err
}

func file(c call, asked struct{ Path string }) (answer, error) {
	text, err := muster.ReadFile(c.ctx, asked.Path)
	return answer{"text": string(bytes.Clone(text))}, err
}

func shown(c call, _ none) (answer, error) {
	env, _ := c.ctx.Value(runtime.RUNTIME_CTX_ENV).(map[string]string)
	vars, _ := c.ctx.Value(runtime.RUNTIME_CTX_VARS).(map[string]string)
	expires, _ := c.ctx.Value(runtime.RUNTIME_CTX_USER_SESSION_EXP).(int64)
	return answer{
		"user_id":     c.value(runtime.RUNTIME_CTX_USER_ID),
		"username":    c.value(runtime.RUNTIME_CTX_USERNAME),
		"mode":        c.value(runtime.RUNTIME_CTX_MODE),
		"game":        env["GAME"],
		"mood":        vars["mood"],
		"has_time":    expires > 0,
		"has_address": c.value(runtime.RUNTIME_CTX_CLIENT_IP) != "",
	}, nil
}

func configured(to runtime.Initializer) func(call, none) (answer, error) {
	config, err := to.GetConfig()
	return func(call, none) (answer, error) {
		if err != nil {
			return nil, err
		}
		return answer{"name": config.GetName(), "has_times": config.GetSession().GetTokenExpirySec() > 0}, nil
	}
}

func log(c call, asked struct{ Text string }) (answer, error) {
	c.logger.Debug("%s d", asked.Text)
	c.logger.Info("%s i", asked.Text)
	c.logger.Warn("%s w", asked.Text)
	c.logger.Error("%s e", asked.Text)
	return done, nil
}

func refuse(_ call, asked struct {
	Message string
	Code    int
}) (answer, error) {
	return nil, runtime.NewError(asked.Message, asked.Code)
}

func caught(c call, asked struct{ Key string }) (answer, error) {
	_, err := c.nk.StorageRead(c.ctx, []*runtime.StorageRead{{Collection: "", Key: asked.Key}})
	return answer{"is_refused": err != nil}, nil
}

// nothing answers an empty text, which clients see as no payload.
func nothing(context.Context, runtime.Logger, *sql.DB, runtime.NakamaModule, string) (string, error) {
	return "", nil
}

func echo(_ context.Context, _ runtime.Logger, _ *sql.DB, _ runtime.NakamaModule, payload string) (string, error) {
	return payload, nil
}
