package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
)

// table is the server's host table. crates/script/src/typings/go.rs writes it.
type table struct {
	Functions []function `json:"functions"`
	Pending   []function `json:"pending"`
	Records   []struct {
		Name   string  `json:"name"`
		Fields []field `json:"fields"`
	} `json:"records"`
}

// function is a row.
type function struct {
	Name       string  `json:"name"`
	Parameters []field `json:"parameters"`
	Results    []field `json:"results"`
	// ByHand is the method that is written by hand, if it is one.
	ByHand string `json:"by_hand"`
	// Error is the function of this package that turns what the server refuses into an error of nakama-common.
	Error string `json:"error"`
}

// field is a parameter, a result, or a field of a record. Its type is text, bytes, number, flag, any, object, "list of …",
// "map of …", or the name of a record.
type field struct {
	Name     string `json:"name"`
	Type     string `json:"type"`
	Optional bool   `json:"optional"`
	// Argument is what Go calls a parameter.
	Argument string `json:"argument"`
}

func readTable(folder string) (*table, error) {
	text, err := os.ReadFile(filepath.Join(folder, "internal", "generate", "functions.json"))
	if err != nil {
		return nil, err
	}
	read := &table{}
	return read, json.Unmarshal(text, read)
}

// record finds the fields of a record.
func (t *table) record(name string) ([]field, bool) {
	for _, record := range t.Records {
		if record.Name == name {
			return record.Fields, true
		}
	}
	return nil, false
}

// letters are what names of different languages have in common: user_ids, userIDs, UserIds.
func letters(name string) string { return strings.ToLower(strings.ReplaceAll(name, "_", "")) }

// named is the place of what has the server's name among these; without an "_id" at its end, if nothing has all of it.
func named(count int, argument func(int) string, name string) (int, bool) {
	for _, wanted := range []string{name, strings.TrimSuffix(name, "_id")} {
		for index := range count {
			if letters(argument(index)) == letters(wanted) {
				return index, true
			}
		}
	}
	return 0, false
}
