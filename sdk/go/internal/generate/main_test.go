package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// Every method of nk is made from the host table, written by hand where its row says so, or pending: nothing else compiles.
func TestGeneratedFilesAreUpToDate(t *testing.T) {
	const folder = "../.."
	files, err := generated(folder)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range files {
		committed, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil || !bytes.Equal(committed, want) {
			t.Errorf("%s: run go generate ./... in sdk/go", name)
		}
	}
}
