package main

import (
	"fmt"
	"go/ast"
	"slices"
	"strings"
)

// ownMethods have no row in the host table, and are written by hand.
var ownMethods = []string{"GetFleetManager"}

// methods are those of nk.
type methods struct {
	host       *table
	from       *sources
	conversion conversions
	out, stubs strings.Builder
}

// methodsOf writes each method of nk for which nobody has written one by hand.
func methodsOf(host *table, from *sources) (*methods, error) {
	m := &methods{host: host, from: from, conversion: conversions{host: host, from: from, written: map[string]string{}}}
	var wrong []string
	from.each("NakamaModule", func(method string, of *ast.FuncType) {
		if err := m.method(method, of); err != nil {
			wrong = append(wrong, fmt.Sprintf("%s: %v", method, err))
		}
	})
	if len(wrong) > 0 {
		return nil, fmt.Errorf("methods that do not follow from the host table; name their arguments in its rows, or write them by hand:\n%s", strings.Join(wrong, "\n"))
	}
	return m, nil
}

func (m *methods) built() string { return m.out.String() + m.conversion.text() }

func (m *methods) pending() string { return m.stubs.String() }

func (m *methods) method(method string, of *ast.FuncType) error {
	isIt := func(row function) bool {
		return row.ByHand == method || (row.ByHand == "" && letters(row.Name) == letters(method))
	}
	if index := slices.IndexFunc(m.host.Functions, isIt); index >= 0 {
		row := m.host.Functions[index]
		if row.ByHand != "" {
			return nil
		}
		return m.call(row, method, of)
	}
	if index := slices.IndexFunc(m.host.Pending, isIt); index >= 0 {
		if m.host.Pending[index].ByHand == "" {
			stub(&m.stubs, m.from, "(module)", "nk.", method, of)
		}
		return nil
	}
	if !slices.Contains(ownMethods, method) {
		return fmt.Errorf("the host table has no such function")
	}
	return nil
}

// call writes a method that calls a function of the server.
func (m *methods) call(row function, method string, of *ast.FuncType) error {
	arguments := m.from.arguments(of)
	ctx, rest := "nil", arguments
	if len(arguments) > 0 && arguments[0].of == "context.Context" {
		ctx, rest = "ctx", arguments[1:]
	}
	given, err := m.given(row, rest)
	if err != nil {
		return err
	}
	asked := strings.Join(append([]string{ctx, fmt.Sprintf("%q", row.Name)}, given...), ", ")
	results, isFailing := m.from.results(of)
	body, err := m.body(row, asked, results, isFailing)
	if err != nil {
		return err
	}
	var parameters []string
	for _, argument := range arguments {
		parameters = append(parameters, argument.name+" "+argument.of)
	}
	shown := numbered(results, isFailing)
	if len(results) == 0 && isFailing {
		shown = "error"
	}
	fmt.Fprintf(&m.out, "func (m module) %s(%s) (%s) {\n%s}\n\n", method, strings.Join(parameters, ", "), shown, body)
	return nil
}

// given are the arguments in the server's order.
func (m *methods) given(row function, arguments []argument) ([]string, error) {
	left := slices.Clone(arguments)
	take := func(name string) (argument, bool) {
		index, is := named(len(left), func(index int) string { return left[index].name }, name)
		if !is {
			return argument{}, false
		}
		taken := left[index]
		left = slices.Delete(left, index, index+1)
		return taken, true
	}
	var given []string
	for _, parameter := range row.Parameters {
		written, err := m.parameter(parameter, take)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", parameter.Name, err)
		}
		given = append(given, written)
	}
	if len(left) > 0 {
		return nil, fmt.Errorf("the server's function has no %s", left[0].name)
	}
	return given, nil
}

// parameter is what the server gets for one: an argument, or a record of several.
func (m *methods) parameter(parameter field, take func(string) (argument, bool)) (string, error) {
	if taken, is := take(parameter.Argument); is {
		return m.conversion.toHost(parameter.Type, parameter.Optional, taken.of, taken.name)
	}
	fields, is := m.host.record(parameter.Type)
	if !is {
		return "", fmt.Errorf("no argument has this name")
	}
	var parts []string
	for _, field := range fields {
		taken, is := take(field.Name)
		if !is {
			return "", fmt.Errorf("no argument has this name, nor that of its %s", field.Name)
		}
		written, err := m.conversion.toHost(field.Type, false, taken.of, taken.name)
		if err != nil {
			return "", err
		}
		parts = append(parts, fmt.Sprintf("{%q, %s}", field.Name, written))
	}
	return "record{" + strings.Join(parts, ", ") + "}", nil
}

func (m *methods) body(row function, asked string, results []string, isFailing bool) (string, error) {
	failed := "err"
	if row.Error != "" {
		failed = row.Error + "(err)"
	}
	switch {
	case len(results) == 0 && !isFailing:
		return fmt.Sprintf("\tm.tell(%s)\n", asked), nil
	case len(results) == 0 && row.Error != "":
		return fmt.Sprintf("\treturn %s(m.done(%s))\n", row.Error, asked), nil
	case len(results) == 0:
		return fmt.Sprintf("\treturn m.done(%s)\n", asked), nil
	case len(results) > len(row.Results):
		return "", fmt.Errorf("the server's function has %d results, Go's method %d", len(row.Results), len(results))
	}
	var read []string
	for index, of := range results {
		value := "answered"
		if len(row.Results) > 1 {
			value = fmt.Sprintf("results[%d]", index)
		}
		written, err := m.conversion.toGo(row.Results[index].Type, of, value)
		if err != nil {
			return "", err
		}
		read = append(read, written)
	}
	body := fmt.Sprintf("\tanswered, err := m.ask(%s)\n\tif err != nil {\n", asked)
	if row.Error != "" {
		body += fmt.Sprintf("\t\terr = %s\n", failed)
	}
	body += "\t\treturn\n\t}\n"
	if len(row.Results) > 1 {
		body += fmt.Sprintf("\tresults := resultsOf(answered, %d)\n", len(row.Results))
	}
	return body + fmt.Sprintf("\treturn %s, nil\n", strings.Join(read, ", ")), nil
}
