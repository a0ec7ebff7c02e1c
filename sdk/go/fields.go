package muster

import (
	"encoding/json"

	"google.golang.org/protobuf/types/known/timestamppb"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// fields are the values of a record from the server, by the server's names. Missing values are read as empty ones.
type fields map[string]any

func (f fields) text(name string) string {
	text, _ := f[name].(string)
	return text
}

func (f fields) flag(name string) bool {
	flag, _ := f[name].(bool)
	return flag
}

func (f fields) int(name string) int {
	number, _ := f[name].(float64)
	return int(number)
}

func (f fields) int64(name string) int64 {
	number, _ := f[name].(float64)
	return int64(number)
}

func (f fields) int32(name string) int32 { return int32(f.int(name)) }

// time reads seconds since 1970; nil if the value is missing.
func (f fields) time(name string) *timestamppb.Timestamp {
	seconds, is := f[name].(float64)
	if !is {
		return nil
	}
	return &timestamppb.Timestamp{Seconds: int64(seconds)}
}

// json reads the text of a value that crossed as JSON.
func (f fields) json(name string) string {
	text, _ := f[name].(rawJSON)
	return string(text)
}

func (f fields) int32Value(name string) *wrapperspb.Int32Value {
	return wrapperspb.Int32(f.int32(name))
}

func (f fields) boolValue(name string) *wrapperspb.BoolValue {
	return wrapperspb.Bool(f.flag(name))
}

// object reads an object that crossed as JSON.
func (f fields) object(name string) map[string]any {
	object := map[string]any{}
	if text, is := f[name].(rawJSON); is {
		// The server wrote valid JSON.
		_ = json.Unmarshal([]byte(text), &object)
	}
	return object
}

// amounts reads whole numbers by name, such as a wallet's.
func (f fields) amounts(name string) map[string]int64 { return amountsOf(f[name]) }

func amountsOf(value any) map[string]int64 {
	amounts := map[string]int64{}
	if text, is := value.(rawJSON); is {
		// The server wrote valid JSON.
		_ = json.Unmarshal([]byte(text), &amounts)
	}
	return amounts
}

// one reads a record; without one it returns the zero value.
func one[T any](value any, read func(fields) T) (none T) {
	if record, is := value.(fields); is {
		return read(record)
	}
	return none
}

// each reads a list of records.
func each[T any](value any, read func(fields) T) []T {
	list, _ := value.([]any)
	read_ := make([]T, 0, len(list))
	for _, value := range list {
		record, _ := value.(fields)
		read_ = append(read_, read(record))
	}
	return read_
}

// resultsOf reads the results of a function with several of them; missing ones up to count are nil.
func resultsOf(value any, count int) []any {
	results, _ := value.([]any)
	for len(results) < count {
		results = append(results, nil)
	}
	return results
}

func textOf(value any) string {
	text, _ := value.(string)
	return text
}

func numberOf(value any) float64 {
	number, _ := value.(float64)
	return number
}

func flagOf(value any) bool {
	flag, _ := value.(bool)
	return flag
}

// plain converts a value from the server to one that encoding/json writes.
func plain(value any) any {
	switch value := value.(type) {
	case rawJSON:
		return json.RawMessage(value)
	case fields:
		named := make(map[string]any, len(value))
		for name, each := range value {
			named[name] = plain(each)
		}
		return named
	case []any:
		list := make([]any, len(value))
		for index, each := range value {
			list[index] = plain(each)
		}
		return list
	default:
		return value
	}
}
