package events

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/hostnode/hostnode/messages"
)

// endedTable is a table in which RequestEnded has a past. In version 1 it was called
// RequestOver and its time was "when"; in version 2 the time was "at", and it had a reason,
// which version 3 does not have.
func endedTable() []Entry {
	return []Entry{{
		Name: "RequestEnded", Aliases: []string{"RequestOver"}, Version: 3,
		Example: &messages.RequestEnded{At: TimeToMessage(Unix(7))}, Check: CheckMessage,
		Upcasters: []Upcaster{
			UpcastFields(func(f Fields) error { return f.Rename("when", "at") }),
			UpcastFields(func(f Fields) error {
				var reason string
				if err := f.Get("reason", &reason); err != nil {
					return err
				}
				if reason == "unknown" {
					f.Drop("at") // The time was not known either.
				}
				f.Drop("reason")
				return nil
			}),
		},
	}}
}

func TestEveryOlderVersionIsReadAsTheNewest(t *testing.T) {
	c := NewCodec(endedTable())
	ended, timeless := &messages.RequestEnded{At: TimeToMessage(Unix(7))}, &messages.RequestEnded{}
	for _, tc := range []struct {
		typ     string
		version uint32
		data    string
		want    proto.Message
	}{
		{"RequestOver", 1, `{"when":"1970-01-01T00:00:07Z"}`, ended},
		{"RequestOver", 0, `{"when":"1970-01-01T00:00:07Z"}`, ended}, // No version means the first.
		{"RequestEnded", 2, `{"at":"1970-01-01T00:00:07Z","reason":"time"}`, ended},
		{"RequestEnded", 2, `{"at":"1970-01-01T00:00:07Z","reason":"unknown"}`, timeless},
		{"RequestEnded", 3, `{"at":"1970-01-01T00:00:07Z"}`, ended},
		{"RequestEnded", 1, `{}`, timeless},
	} {
		stored := []byte(tc.data)
		m, err := c.Decode(Recorded{Type: tc.typ, Data: stored, Meta: Metadata{Version: tc.version}})
		if err != nil || !proto.Equal(m, tc.want) {
			t.Errorf("%s version %d %s: %v, %v", tc.typ, tc.version, tc.data, m, err)
			continue
		}
		if string(stored) != tc.data {
			t.Errorf("%s version %d: what is stored became %s", tc.typ, tc.version, stored)
		}
		name, version, data, err := c.Encode(m)
		if err != nil || name != "RequestEnded" || version != 3 {
			t.Fatalf("written again as %s version %d, %v", name, version, err)
		}
		again, err := c.Decode(Recorded{Type: name, Data: data, Meta: Metadata{Version: version}})
		if err != nil || !proto.Equal(m, again) {
			t.Fatalf("%s is read back as %v, %v", data, again, err)
		}
	}
}

func TestAnUpcasterRefusesWhatItDoesNotUnderstand(t *testing.T) {
	c := NewCodec(endedTable())
	for data, version := range map[string]uint32{
		`null`: 1, `[]`: 1, ``: 1, `{"when":1,"at":2}`: 1, `{"reason":5}`: 2, `{"unheard":1}`: 1, `{"reason":"x"}`: 3,
	} {
		_, err := c.Decode(Recorded{
			Stream: "sale-1", Type: "RequestEnded", Data: []byte(data), Meta: Metadata{Version: version},
		})
		if !errors.Is(err, ErrMalformed) || !strings.Contains(err.Error(), "sale-1 revision 0") {
			t.Errorf("%s: %v", data, err)
		}
	}
}

func TestAnAliasIsReadAndNeverWritten(t *testing.T) {
	c := NewCodec(endedTable())
	if name, known := c.Current("RequestOver"); name != "RequestEnded" || !known {
		t.Fatalf("RequestOver is %q, known: %t", name, known)
	}
	if _, known := c.Current("RequestNever"); known {
		t.Fatal("a name that nobody stored is known")
	}
	n := 0
	for e := range c.Entries() {
		if n++; e.Name != "RequestEnded" {
			t.Fatalf("an entry is named %s", e.Name)
		}
	}
	if n != 1 {
		t.Fatalf("%d entries", n)
	}
}

func TestWhatANewerHostnodeWroteIsRefusedWithAHint(t *testing.T) {
	c := NewCodec(endedTable())
	for want, r := range map[error]Recorded{
		ErrNewerEvent:   {Type: "RequestEnded", Data: []byte(`{}`), Meta: Metadata{Version: 4}},
		ErrUnknownEvent: {Type: "RequestEndedTwice", Data: []byte(`{}`), Meta: Metadata{Version: 1}},
	} {
		if _, err := c.Decode(r); !errors.Is(err, want) || !strings.Contains(err.Error(), "upgrade this one") {
			t.Errorf("%v, want %v", err, want)
		}
	}
}

func TestAFieldThatNobodyKnowsIsRefused(t *testing.T) {
	c := NewCodec(endedTable())
	for data, want := range map[string]error{
		`{"at":"1970-01-01T00:00:07Z"}`:                nil,
		`{"at":"1970-01-01T00:00:07Z","colour":"red"}`: ErrMalformed,
		`{"at":7}`: ErrMalformed,
	} {
		r := Recorded{Type: "RequestEnded", Data: []byte(data), Meta: Metadata{Version: 3}}
		if _, err := c.Decode(r); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", data, err, want)
		}
	}
}

func TestAChainWithAGapPanics(t *testing.T) {
	same := func(data []byte) ([]byte, error) { return data, nil }
	for name, e := range map[string]Entry{
		"no version":         {Version: 0},
		"no upcaster":        {Version: 2},
		"the first missing":  {Version: 3, Upcasters: []Upcaster{nil, same}},
		"the last missing":   {Version: 3, Upcasters: []Upcaster{same}},
		"one that is beyond": {Version: 1, Upcasters: []Upcaster{same}},
		"a taken alias":      {Version: 1, Aliases: []string{"Counted"}},
		"itself as an alias": {Version: 1, Aliases: []string{"Slept"}},
	} {
		e.Name, e.Example = "Slept", durationpb.New(1)
		if !panics(func() { NewCodec(testTable()[1:], []Entry{e}) }) {
			t.Errorf("%s: the table was taken", name)
		}
	}
}

func FuzzUpcast(f *testing.F) {
	f.Add([]byte(`{"when":"1970-01-01T00:00:07Z"}`), uint32(1))
	f.Add([]byte(`{"at":"1970-01-01T00:00:07Z","reason":"unknown"}`), uint32(2))
	f.Add([]byte(`{"at":"1970-01-01T00:00:07Z","at":null}`), uint32(3))
	c := NewCodec(endedTable())
	f.Fuzz(func(t *testing.T, data []byte, version uint32) {
		m, err := c.Decode(Recorded{Type: "RequestOver", Data: data, Meta: Metadata{Version: version}})
		if err != nil {
			return
		}
		if !json.Valid(data) || version > 3 {
			t.Fatalf("%q version %d was read as %v", data, version, m)
		}
		if _, newest, _, err := c.Encode(m); err != nil || newest != 3 {
			t.Fatalf("%v cannot be written: version %d, %v", m, newest, err)
		}
	})
}

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
