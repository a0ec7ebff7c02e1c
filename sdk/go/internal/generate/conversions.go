package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// conversions turn arguments into what the server takes, and what it answers into results. For records they are functions,
// one for each struct of nakama-common. Those for interfaces are written by hand.
type conversions struct {
	host    *table
	from    *sources
	written map[string]string
}

// text are all functions that are needed.
func (c *conversions) text() string {
	var out strings.Builder
	for _, name := range slices.Sorted(maps.Keys(c.written)) {
		out.WriteString(c.written[name])
	}
	return out.String()
}

func noRule(of, goType string) error { return fmt.Errorf("there is no rule for %s and %s", of, goType) }

// toHost is an expression of Go's type as the server takes it.
func (c *conversions) toHost(of string, isOptional bool, goType, expression string) (string, error) {
	if each, is := strings.CutPrefix(goType, "..."); is {
		goType = "[]" + each
	}
	if strings.HasPrefix(goType, "*") && slices.Contains([]string{"text", "number", "flag"}, of) {
		return "pointed(" + expression + ")", nil
	}
	inner, isList := strings.CutPrefix(of, "list of ")
	_, isRecord := c.host.record(inner)
	switch {
	case of == "text" && goType == "string" && isOptional:
		return "optional(" + expression + ")", nil
	case (of == "text" || of == "bytes") && goType == "string", of == "flag" && goType == "bool", of == "list of text" && goType == "[]string":
		return expression, nil
	case of == "number" && slices.Contains([]string{"int", "int64", "float64"}, goType):
		return expression, nil
	case of == "number" && goType == "time.Duration":
		return expression + ".Nanoseconds()", nil
	case of == "number":
		return "int(" + expression + ")", nil
	case of == "object" && goType == "string":
		return "rawJSON(" + expression + ")", nil
	case (of == "object" || strings.HasPrefix(of, "map of ")) && strings.HasPrefix(goType, "map[string]"):
		if isOptional {
			return "table(" + expression + ")", nil
		}
		return "someTable(" + expression + ")", nil
	case isRecord && isList && strings.HasPrefix(goType, "[]"):
		name, err := c.writer(inner, goType[2:])
		return fmt.Sprintf("list(%s, %s)", expression, name), err
	case isRecord && !isList:
		name, err := c.writer(inner, goType)
		return fmt.Sprintf("%s(%s)", name, expression), err
	}
	return "", noRule(of, goType)
}

// toGo is an expression of the server's value as Go's type.
func (c *conversions) toGo(of, goType, expression string) (string, error) {
	inner, isList := strings.CutPrefix(of, "list of ")
	_, isRecord := c.host.record(inner)
	switch {
	case of == "text" && goType == "string":
		return "textOf(" + expression + ")", nil
	case of == "number" && slices.Contains([]string{"int", "int32", "int64", "float64"}, goType):
		return fmt.Sprintf("%s(numberOf(%s))", goType, expression), nil
	case of == "flag" && goType == "bool":
		return "flagOf(" + expression + ")", nil
	case of == "map of number" && goType == "map[string]int64":
		return "amountsOf(" + expression + ")", nil
	case isRecord && isList && strings.HasPrefix(goType, "[]"):
		name, err := c.reader(inner, goType[2:])
		return fmt.Sprintf("each(%s, %s)", expression, name), err
	case isRecord && !isList:
		name, err := c.reader(inner, goType)
		return fmt.Sprintf("one(%s, %s)", expression, name), err
	}
	return "", noRule(of, goType)
}

// title is a type in the name of a function: RuntimeWalletUpdate.
func title(goType string) string {
	of, name, _ := strings.Cut(strings.TrimPrefix(goType, "*"), ".")
	return strings.ToUpper(of[:1]) + of[1:] + name
}

// find is the field of a record that a member of a struct stands for: that with its letters, with "_id" behind them (sender_id
// is a Sender), or with the record's name before them (a User's user_id is its Id).
func find(record string, fields []field, member string) (field, bool) {
	for _, wanted := range []string{member, member + "id", record + member} {
		is := func(field field) bool { return letters(field.Name) == letters(wanted) }
		if index := slices.IndexFunc(fields, is); index >= 0 {
			return fields[index], true
		}
	}
	return field{}, false
}

// writer is the name of the function that makes a record of a struct.
func (c *conversions) writer(record, goType string) (string, error) {
	name := "write" + title(goType)
	members, isStruct := c.from.structs[strings.TrimPrefix(goType, "*")]
	if _, is := c.written[name]; is || !isStruct {
		return name, nil
	}
	c.written[name] = ""
	fields, _ := c.host.record(record)
	var parts strings.Builder
	for _, member := range members {
		field, is := find(record, fields, member.name)
		if !is {
			return "", fmt.Errorf("%s has no field for %s of %s", record, member.name, goType)
		}
		isOptional := field.Optional && field.Type != "text"
		value, err := c.toHost(field.Type, isOptional, member.of, "given."+member.name)
		if err != nil {
			return "", fmt.Errorf("%s of %s: %w", member.name, goType, err)
		}
		fmt.Fprintf(&parts, "\t\t{%q, %s},\n", field.Name, value)
	}
	c.written[name] = fmt.Sprintf("func %s(given %s) record {\n\treturn record{\n%s\t}\n}\n\n", name, goType, parts.String())
	return name, nil
}

// reader is the name of the function that makes a struct of a record. What the record has not stays empty.
func (c *conversions) reader(record, goType string) (string, error) {
	name := "read" + title(goType)
	members, isStruct := c.from.structs[strings.TrimPrefix(goType, "*")]
	if _, is := c.written[name]; is || !isStruct {
		return name, nil
	}
	c.written[name] = ""
	fields, _ := c.host.record(record)
	var parts strings.Builder
	for _, member := range members {
		field, is := find(record, fields, member.name)
		if !is {
			continue
		}
		value, err := c.member(field, member.of)
		if err != nil {
			return "", fmt.Errorf("%s of %s: %w", member.name, goType, err)
		}
		fmt.Fprintf(&parts, "\t\t%s: %s,\n", member.name, value)
	}
	made := strings.Replace(goType, "*", "&", 1)
	c.written[name] = fmt.Sprintf("func %s(f fields) %s {\n\treturn %s{\n%s\t}\n}\n\n", name, goType, made, parts.String())
	return name, nil
}

// readers are the methods of fields by the types of the server and of Go.
var readers = map[[2]string]string{
	{"text", "string"}:                    "f.text(%q)",
	{"text", "*wrapperspb.StringValue"}:   "wrapperspb.String(f.text(%q))",
	{"object", "string"}:                  "f.json(%q)",
	{"object", "map[string]any"}:          "f.object(%q)",
	{"map of number", "string"}:           "f.json(%q)",
	{"map of number", "map[string]int64"}: "f.amounts(%q)",
	{"number", "int"}:                     "f.int(%q)",
	{"number", "int32"}:                   "f.int32(%q)",
	{"number", "int64"}:                   "f.int64(%q)",
	{"number", "uint32"}:                  "uint32(f.int(%q))",
	{"number", "*timestamppb.Timestamp"}:  "f.time(%q)",
	{"number", "*wrapperspb.Int32Value"}:  "f.int32Value(%q)",
	{"flag", "bool"}:                      "f.flag(%q)",
	{"flag", "*wrapperspb.BoolValue"}:     "f.boolValue(%q)",
}

// member is a field of a record as a member of a struct.
func (c *conversions) member(field field, goType string) (string, error) {
	if reader, is := readers[[2]string{field.Type, goType}]; is {
		return fmt.Sprintf(reader, field.Name), nil
	}
	return c.toGo(field.Type, goType, fmt.Sprintf("f[%q]", field.Name))
}
