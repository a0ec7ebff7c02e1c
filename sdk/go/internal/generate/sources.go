package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"os/exec"
	"path/filepath"
	"strings"
)

// sources are the interfaces and structs of nakama-common.
type sources struct {
	files *token.FileSet
	// types are the names of each package's types.
	types map[string]map[string]bool
	// runtime is the file that holds the interfaces.
	runtime *ast.File
	// structs are the exported fields of structs, by names such as api.User.
	structs map[string][]argument
}

// argument is a parameter of a method or a field of a struct, its type as this package writes it.
type argument struct{ name, of string }

func readSources(folder string) (*sources, error) {
	list := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/heroiclabs/nakama-common")
	list.Dir = folder
	root, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("where is nakama-common: %w", err)
	}
	s := &sources{files: token.NewFileSet(), types: map[string]map[string]bool{}, structs: map[string][]argument{}}
	for _, path := range []string{"api/api.pb.go", "rtapi/realtime.pb.go", "runtime/runtime.go"} {
		file, err := parser.ParseFile(s.files, filepath.Join(strings.TrimSpace(string(root)), path), nil, 0)
		if err != nil {
			return nil, err
		}
		s.read(file)
		if file.Name.Name == "runtime" {
			s.runtime = file
		}
	}
	return s, nil
}

// read notes the types of a file.
func (s *sources) read(file *ast.File) {
	of := file.Name.Name
	s.types[of] = map[string]bool{}
	var structs []*ast.TypeSpec
	ast.Inspect(file, func(node ast.Node) bool {
		spec, is := node.(*ast.TypeSpec)
		if !is {
			return true
		}
		s.types[of][spec.Name.Name] = true
		if _, is := spec.Type.(*ast.StructType); is {
			structs = append(structs, spec)
		}
		return false
	})
	for _, spec := range structs {
		name := of + "." + spec.Name.Name
		for _, field := range spec.Type.(*ast.StructType).Fields.List {
			for _, each := range field.Names {
				if each.IsExported() {
					s.structs[name] = append(s.structs[name], argument{each.Name, s.text(of, field.Type)})
				}
			}
		}
	}
}

// text returns a type of a package as package muster writes it: types that the package declares get its name before them.
func (s *sources) text(of string, expression ast.Expr) string {
	var named func(ast.Node) bool
	named = func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.SelectorExpr:
			return false
		case *ast.Field:
			ast.Inspect(node.Type, named)
			return false
		case *ast.Ident:
			if s.types[of][node.Name] {
				node.Name = of + "." + node.Name
			}
		}
		return true
	}
	ast.Inspect(expression, named)
	var out bytes.Buffer
	if err := printer.Fprint(&out, s.files, expression); err != nil {
		panic(err)
	}
	return out.String()
}

// each calls see for each method of an interface.
func (s *sources) each(name string, see func(string, *ast.FuncType)) {
	ast.Inspect(s.runtime, func(node ast.Node) bool {
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

// arguments are the parameters of a method.
func (s *sources) arguments(of *ast.FuncType) (arguments []argument) {
	for _, parameter := range of.Params.List {
		text := s.text("runtime", parameter.Type)
		for _, name := range parameter.Names {
			arguments = append(arguments, argument{name.Name, text})
		}
		if len(parameter.Names) == 0 {
			arguments = append(arguments, argument{"_", text})
		}
	}
	return arguments
}

// results are the types of a method's results, but for an error at the end.
func (s *sources) results(of *ast.FuncType) (results []string, isFailing bool) {
	if of.Results == nil {
		return nil, false
	}
	for _, result := range of.Results.List {
		for range max(len(result.Names), 1) {
			results = append(results, s.text("runtime", result.Type))
		}
	}
	if last := len(results) - 1; results[last] == "error" {
		return results[:last], true
	}
	return results, false
}
