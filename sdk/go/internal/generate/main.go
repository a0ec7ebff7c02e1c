// Command generate writes Go code that follows from the interfaces of nakama-common: a method of the initializer for each
// hook, and from the server's host table the methods of nk. Run it in sdk/go: go generate ./...
package main

import (
	"fmt"
	"go/format"
	"log"
	"os"
	"regexp"
	"strings"
)

const header = `// Made by internal/generate; not edited.

package muster

`

func main() {
	files, err := generated(".")
	if err != nil {
		log.Fatal(err)
	}
	for path, source := range files {
		if err := os.WriteFile(path, source, 0o644); err != nil {
			log.Fatal(err)
		}
	}
}

// generated are the files of the package in the folder, by their names.
func generated(folder string) (map[string][]byte, error) {
	read, err := readSources(folder)
	if err != nil {
		return nil, err
	}
	host, err := readTable(folder)
	if err != nil {
		return nil, err
	}
	methods, err := methodsOf(host, read)
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	for path, body := range map[string]string{
		"hooks_generated.go":   hooks(read),
		"nk_generated.go":      methods.built(),
		"pending_generated.go": methods.pending() + satori(read),
	} {
		formatted, err := format.Source([]byte(header + importing(body) + body))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		files[path] = formatted
	}
	return files, nil
}

// importing imports the packages that a file uses.
func importing(body string) string {
	var own, others []string
	for _, path := range []string{
		"context", "database/sql", "os", "time", "github.com/heroiclabs/nakama-common/api", "github.com/heroiclabs/nakama-common/rtapi",
		"github.com/heroiclabs/nakama-common/runtime", "google.golang.org/protobuf/types/known/wrapperspb",
	} {
		name := path[strings.LastIndex(path, "/")+1:]
		switch {
		case !regexp.MustCompile(`\b` + name + `\.`).MatchString(body):
		case strings.Contains(path, "."):
			others = append(others, fmt.Sprintf("\t%q\n", path))
		default:
			own = append(own, fmt.Sprintf("\t%q\n", path))
		}
	}
	return "import (\n" + strings.Join(own, "") + "\n" + strings.Join(others, "") + ")\n\n"
}
