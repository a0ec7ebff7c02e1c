package muster

import (
	"bytes"
	"encoding/base64"
	"encoding/gob"
	"encoding/json"
	"fmt"

	"github.com/heroiclabs/nakama-common/runtime"
)

// Parameters of matches. Go code that creates a match in Go passes parameters with their types. As in the original
// their values have simple types, or types that are registered with encoding/gob.

// typedName is the only name in the JSON that carries typed parameters.
const typedName = "$go"

func init() {
	gob.Register(map[string]any{})
	gob.Register([]any{})
	gob.Register(map[string]string{})
	gob.Register(map[string]int{})
	gob.Register(map[string]int64{})
	gob.Register(map[string]float64{})
	gob.Register(map[string]bool{})
	gob.Register([]map[string]any{})
}

func writeTyped(params map[string]any) (any, error) {
	if len(params) == 0 {
		return nil, nil
	}
	var out bytes.Buffer
	if err := gob.NewEncoder(&out).Encode(params); err != nil {
		return nil, fmt.Errorf("%w: %v", runtime.ErrCannotEncodeParams, err)
	}
	return map[string]string{typedName: base64.StdEncoding.EncodeToString(out.Bytes())}, nil
}

func readTyped(text string) (map[string]any, error) {
	encoded, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, fmt.Errorf("%w: %v", runtime.ErrCannotDecodeParams, err)
	}
	params := map[string]any{}
	if err := gob.NewDecoder(bytes.NewReader(encoded)).Decode(&params); err != nil {
		return nil, fmt.Errorf("%w: %v", runtime.ErrCannotDecodeParams, err)
	}
	return params, nil
}

// paramsOf reads the parameters of a new match. Parameters from Go keep their types.
func paramsOf(value any) (map[string]any, error) {
	text, is := value.(rawJSON)
	if !is {
		return map[string]any{}, nil
	}
	params := map[string]any{}
	if err := json.Unmarshal([]byte(text), &params); err != nil {
		return nil, fmt.Errorf("%w: %v", runtime.ErrCannotDecodeParams, err)
	}
	if typed, is := params[typedName].(string); is {
		return readTyped(typed)
	}
	return params, nil
}
