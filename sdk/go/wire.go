package muster

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
)

// Encoding of the frames between the server and the module, field by field: numbers in little endian, texts and lists
// behind their length. crates/script/src/wasm/codec.rs is the other side.

const (
	tagNil = iota
	tagFalse
	tagTrue
	tagNumber
	tagBytes
	tagList
	tagRecord
	tagJSON
)

// rawJSON is a value that crosses as JSON, because a studio chose its names.
type rawJSON string

// field is a name of a record with its value.
type field struct {
	name  string
	value any
}

// record holds values under names of the server.
type record []field

// writer writes a frame for the server.
type writer struct{ b []byte }

func frame(kind byte) *writer {
	w := &writer{b: make([]byte, 0, 256)}
	w.byte(kind)
	return w
}

func (w *writer) byte(b byte)  { w.b = append(w.b, b) }
func (w *writer) u32(n uint32) { w.b = binary.LittleEndian.AppendUint32(w.b, n) }
func (w *writer) u64(n uint64) { w.b = binary.LittleEndian.AppendUint64(w.b, n) }
func (w *writer) i64(n int64)  { w.u64(uint64(n)) }

func (w *writer) flag(flag bool) {
	if flag {
		w.byte(1)
	} else {
		w.byte(0)
	}
}

func (w *writer) text(text string) {
	w.u32(uint32(len(text)))
	w.b = append(w.b, text...)
}

func (w *writer) bytes(bytes []byte) {
	w.u32(uint32(len(bytes)))
	w.b = append(w.b, bytes...)
}

// values writes a list of values.
func (w *writer) values(values []any) error {
	w.u32(uint32(len(values)))
	for _, value := range values {
		if err := w.value(value); err != nil {
			return err
		}
	}
	return nil
}

func (w *writer) number(number float64) {
	w.byte(tagNumber)
	w.u64(math.Float64bits(number))
}

func (w *writer) value(value any) error {
	switch value := value.(type) {
	case nil:
		w.byte(tagNil)
	case bool:
		if value {
			w.byte(tagTrue)
		} else {
			w.byte(tagFalse)
		}
	case int:
		w.number(float64(value))
	case int64:
		w.number(float64(value))
	case float64:
		w.number(value)
	case string:
		w.byte(tagBytes)
		w.text(value)
	case []byte:
		w.byte(tagBytes)
		w.bytes(value)
	case rawJSON:
		w.byte(tagJSON)
		w.text(string(value))
	case []string:
		w.byte(tagList)
		w.u32(uint32(len(value)))
		for _, text := range value {
			w.byte(tagBytes)
			w.text(text)
		}
	case []any:
		w.byte(tagList)
		return w.values(value)
	case record:
		w.byte(tagRecord)
		w.u32(uint32(len(value)))
		for _, field := range value {
			w.text(field.name)
			if err := w.value(field.value); err != nil {
				return err
			}
		}
	default:
		text, err := json.Marshal(value)
		if err != nil {
			return fmt.Errorf("a value cannot be written as JSON: %w", err)
		}
		w.byte(tagJSON)
		w.bytes(text)
	}
	return nil
}

// reader reads a frame from the server. It panics on bytes that are no frame: server and module would not understand
// each other.
type reader struct{ b []byte }

func (r *reader) take(length int) []byte {
	taken := r.b[:length]
	r.b = r.b[length:]
	return taken
}

func (r *reader) byte() byte    { return r.take(1)[0] }
func (r *reader) flag() bool    { return r.byte() != 0 }
func (r *reader) u32() uint32   { return binary.LittleEndian.Uint32(r.take(4)) }
func (r *reader) u64() uint64   { return binary.LittleEndian.Uint64(r.take(8)) }
func (r *reader) i64() int64    { return int64(r.u64()) }
func (r *reader) length() int   { return int(r.u32()) }
func (r *reader) text() string  { return string(r.take(r.length())) }
func (r *reader) bytes() []byte { return append([]byte(nil), r.take(r.length())...) }

func (r *reader) pairs() map[string]string {
	length := r.length()
	pairs := make(map[string]string, length)
	for range length {
		name := r.text()
		pairs[name] = r.text()
	}
	return pairs
}

func (r *reader) multimap() map[string][]string {
	length := r.length()
	values := make(map[string][]string, length)
	for range length {
		name := r.text()
		list := make([]string, r.length())
		for i := range list {
			list[i] = r.text()
		}
		values[name] = list
	}
	return values
}

// value reads a value: nil, a bool, float64, string, []any, fields or rawJSON.
func (r *reader) value() any {
	switch kind := r.byte(); kind {
	case tagNil:
		return nil
	case tagFalse:
		return false
	case tagTrue:
		return true
	case tagNumber:
		return math.Float64frombits(r.u64())
	case tagBytes:
		return r.text()
	case tagList:
		list := make([]any, r.length())
		for i := range list {
			list[i] = r.value()
		}
		return list
	case tagRecord:
		length := r.length()
		record := make(fields, length)
		for range length {
			name := r.text()
			record[name] = r.value()
		}
		return record
	case tagJSON:
		return rawJSON(r.text())
	default:
		panic(fmt.Sprintf("muster: a value of an unknown kind %d", kind))
	}
}
