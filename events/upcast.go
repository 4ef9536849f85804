package events

import (
	"encoding/json"
	"errors"
	"fmt"
)

// Upcaster turns an event's stored data of one schema version into that of the
// next. It is pure, never changes the bytes it is given, and refuses what it
// does not understand. Once released, it never changes.
type Upcaster func(data []byte) ([]byte, error)

// Fields are the fields of an event's JSON by their stored names. Fields with
// the default value of their type are not stored, so any may be missing.
type Fields map[string]json.RawMessage

// UpcastFields is the upcaster that changes fields of an event.
func UpcastFields(change func(Fields) error) Upcaster {
	return func(data []byte) ([]byte, error) {
		var fields Fields
		if err := json.Unmarshal(data, &fields); err != nil {
			return nil, err
		}
		if fields == nil {
			return nil, errors.New("null is not an object")
		}
		if err := change(fields); err != nil {
			return nil, err
		}
		return json.Marshal(fields)
	}
}

// Rename gives a field another name. A missing field stays missing; a name that
// is in use is an error, because a value would be lost.
func (f Fields) Rename(from, to string) error {
	value, stored := f[from]
	if !stored {
		return nil
	}
	if _, used := f[to]; used {
		return fmt.Errorf("rename field %q: there is a field %q already", clip(from), clip(to))
	}
	delete(f, from)
	f[to] = value
	return nil
}

// Get reads a field; one that is missing leaves the target as it is.
func (f Fields) Get(name string, to any) error {
	value, stored := f[name]
	if !stored {
		return nil
	}
	if err := json.Unmarshal(value, to); err != nil {
		return fmt.Errorf("field %q: %w", clip(name), err)
	}
	return nil
}

// Set gives a field a value. Ids and 64-bit numbers are strings, as they are
// stored.
func (f Fields) Set(name string, value any) error {
	b, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("field %q: %w", clip(name), err)
	}
	f[name] = b
	return nil
}

// Drop removes a field whose meaning is gone.
func (f Fields) Drop(name string) { delete(f, name) }
