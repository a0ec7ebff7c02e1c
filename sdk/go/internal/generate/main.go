// Command generate writes Go code that follows from the interfaces of nakama-common: a method of the initializer for
// each hook, and for each function of nk a method that answers that it is not available yet. Run it in sdk/go: go
// generate ./...
package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/printer"
	"go/token"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

const header = `// Made by internal/generate; not edited.

package muster

`

func main() {
	folder, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/heroiclabs/nakama-common").Output()
	if err != nil {
		log.Fatal(err)
	}
	files := token.NewFileSet()
	source, err := parser.ParseFile(files, filepath.Join(strings.TrimSpace(string(folder)), "runtime", "runtime.go"), nil, 0)
	if err != nil {
		log.Fatal(err)
	}
	g := generator{files: files, types: map[string]bool{}}
	ast.Inspect(source, func(node ast.Node) bool {
		spec, is := node.(*ast.TypeSpec)
		if is {
			g.types[spec.Name.Name] = true
		}
		return true
	})
	var hooks, pending bytes.Buffer
	hooks.WriteString(header + importing("context", "database/sql", "", "github.com/heroiclabs/nakama-common/api", "github.com/heroiclabs/nakama-common/runtime"))
	pending.WriteString(header + importing("context", "os", "time", "", "github.com/heroiclabs/nakama-common/api", "github.com/heroiclabs/nakama-common/rtapi", "github.com/heroiclabs/nakama-common/runtime"))
	pending.WriteString("// pending has every function of nk: each says that it is not there yet.\ntype pending struct{}\n\n")
	pending.WriteString("// pendingSatori has every function of Satori's client.\ntype pendingSatori struct{}\n\n")
	each(source, "Initializer", func(method string, of *ast.FuncType) { g.hook(&hooks, method, of) })
	each(source, "NakamaModule", func(method string, of *ast.FuncType) { g.pending(&pending, "pending", "nk.", method, of) })
	each(source, "Satori", func(method string, of *ast.FuncType) {
		g.pending(&pending, "pendingSatori", "nk.GetSatori().", method, of)
	})
	write("hooks_generated.go", hooks.Bytes())
	write("pending_generated.go", pending.Bytes())
}

func importing(paths ...string) string {
	lines := "import (\n"
	for _, path := range paths {
		if path == "" {
			lines += "\n"
		} else {
			lines += fmt.Sprintf("\t%q\n", path)
		}
	}
	return lines + ")\n\n"
}

func write(path string, source []byte) {
	formatted, err := format.Source(source)
	if err != nil {
		log.Fatal(err)
	}
	if err := os.WriteFile(path, formatted, 0o644); err != nil {
		log.Fatal(err)
	}
}

// each calls see for each method of an interface.
func each(source *ast.File, name string, see func(string, *ast.FuncType)) {
	ast.Inspect(source, func(node ast.Node) bool {
		spec, is := node.(*ast.TypeSpec)
		if !is || spec.Name.Name != name {
			return true
		}
		for _, method := range spec.Type.(*ast.InterfaceType).Methods.List {
			if of, is := method.Type.(*ast.FuncType); is {
				see(method.Names[0].Name, of)
			}
		}
		return false
	})
}

type generator struct {
	files *token.FileSet
	types map[string]bool
}

// text returns a type as package muster writes it: types of package runtime get the package's name before them.
func (g generator) text(of ast.Expr) string {
	var named func(ast.Node) bool
	named = func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.SelectorExpr:
			return false
		case *ast.Field:
			ast.Inspect(node.Type, named)
			return false
		case *ast.Ident:
			if g.types[node.Name] {
				node.Name = "runtime." + node.Name
			}
		}
		return true
	}
	ast.Inspect(of, named)
	var out bytes.Buffer
	if err := printer.Fprint(&out, g.files, of); err != nil {
		log.Fatal(err)
	}
	return out.String()
}

func (g generator) hook(out *bytes.Buffer, method string, of *ast.FuncType) {
	isBefore := strings.HasPrefix(method, "RegisterBefore")
	name := strings.TrimPrefix(strings.TrimPrefix(method, "RegisterBefore"), "RegisterAfter")
	if name == method || name == "Rt" {
		return
	}
	fn := of.Params.List[0].Type.(*ast.FuncType)
	var messages []string
	for _, parameter := range fn.Params.List[4:] {
		for _, name := range parameter.Names {
			messages = append(messages, name.Name)
		}
	}
	run := ""
	switch {
	case isBefore && len(messages) == 0:
		run = "beforeNothing(fn)"
	case isBefore:
		run = "before(fn)"
	case len(messages) == 0:
		run = "beforeNothing(fn)"
	case len(messages) == 2:
		run = "after(fn)"
	case messages[0] == "out":
		run = "afterOne(0, fn)"
	case messages[0] == "in":
		run = "afterOne(1, fn)"
	default:
		log.Fatalf("%s: %v", method, messages)
	}
	fmt.Fprintf(out, "func (i initializer) %s(fn %s) error {\n\treturn i.hook(%q, %t, false, %s)\n}\n\n", method, g.text(fn), name, !isBefore, run)
}

func (g generator) pending(out *bytes.Buffer, receiver, of, method string, function *ast.FuncType) {
	var parameters, results []string
	for _, parameter := range function.Params.List {
		for range max(len(parameter.Names), 1) {
			parameters = append(parameters, g.text(parameter.Type))
		}
	}
	isFailing := false
	if function.Results != nil {
		for _, result := range function.Results.List {
			for range max(len(result.Names), 1) {
				text := g.text(result.Type)
				isFailing = text == "error"
				results = append(results, fmt.Sprintf("r%d %s", len(results), text))
			}
		}
	}
	if isFailing {
		results[len(results)-1] = "err error"
	}
	fmt.Fprintf(out, "func (%s) %s(%s) (%s) {\n", receiver, method, strings.Join(parameters, ", "), strings.Join(results, ", "))
	if isFailing {
		fmt.Fprintf(out, "\terr = notYet(%q)\n", of+method)
	}
	if len(results) > 0 {
		out.WriteString("\treturn\n")
	}
	out.WriteString("}\n\n")
}
