package main

import (
	"fmt"
	"go/ast"
	"log"
	"strings"
)

// hooks are the methods of the initializer that register hooks.
func hooks(from *sources) string {
	var out strings.Builder
	from.each("Initializer", func(method string, of *ast.FuncType) { hook(&out, from, method, of) })
	return out.String()
}

func hook(out *strings.Builder, from *sources, method string, of *ast.FuncType) {
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
	fmt.Fprintf(out, "func (i initializer) %s(fn %s) error {\n\treturn i.hook(%q, %t, false, %s)\n}\n\n", method, from.text("runtime", fn), name, !isBefore, run)
}

// satori are the methods of Satori's client: each says that it is not there yet.
func satori(from *sources) string {
	var out strings.Builder
	out.WriteString("// pendingSatori has every function of Satori's client.\ntype pendingSatori struct{}\n\n")
	from.each("Satori", func(method string, of *ast.FuncType) {
		stub(&out, from, "(pendingSatori)", "nk.GetSatori().", method, of)
	})
	return out.String()
}

// stub is a method that says that it is not there yet.
func stub(out *strings.Builder, from *sources, receiver, of, method string, function *ast.FuncType) {
	var parameters []string
	for _, argument := range from.arguments(function) {
		parameters = append(parameters, argument.of)
	}
	results, isFailing := from.results(function)
	fmt.Fprintf(out, "func %s %s(%s) (%s) {\n", receiver, method, strings.Join(parameters, ", "), numbered(results, isFailing))
	if isFailing {
		fmt.Fprintf(out, "\terr = notYet(%q)\n", of+method)
	}
	if isFailing || len(results) > 0 {
		out.WriteString("\treturn\n")
	}
	out.WriteString("}\n\n")
}

// numbered are results with names, so that a method can return before it has any.
func numbered(results []string, isFailing bool) string {
	var named []string
	for index, of := range results {
		named = append(named, fmt.Sprintf("r%d %s", index, of))
	}
	if isFailing {
		named = append(named, "err error")
	}
	return strings.Join(named, ", ")
}
