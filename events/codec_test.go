package events

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

var errNegative = errors.New("negative")

// fromSeconds: version 1 of Waited was a number of seconds.
func fromSeconds(data []byte) ([]byte, error) {
	var seconds uint32
	if err := json.Unmarshal(data, &seconds); err != nil {
		return nil, err
	}
	return fmt.Appendf(nil, `"%ds"`, seconds), nil
}

// testTable stands for the tables of the cores.
func testTable() []Entry {
	return []Entry{
		{Name: "Waited", Version: 2, Example: durationpb.New(5), Check: func(m proto.Message) error {
			if m.(*durationpb.Duration).GetSeconds() < 0 {
				return errNegative
			}
			return nil
		}, Upcasters: []Upcaster{fromSeconds}},
		{Name: "Counted", Version: 1, Example: wrapperspb.UInt64(1)},
	}
}

func TestCodecRoundTrip(t *testing.T) {
	c := NewCodec(testTable())
	for _, e := range testTable() {
		name, version, data, err := c.Encode(e.Example)
		if err != nil || name != e.Name || version != e.Version {
			t.Fatalf("%s: encoded as %s version %d, %v", e.Name, name, version, err)
		}
		m, err := c.Decode(Recorded{Type: name, Data: data, Meta: Metadata{Version: version}})
		if err != nil || !proto.Equal(m, e.Example) {
			t.Fatalf("%s: decoded as %v, %v", e.Name, m, err)
		}
		if m == e.Example {
			t.Fatalf("%s: decoding returned the table's own example", e.Name)
		}
	}
	var names []string
	for e := range c.Entries() {
		names = append(names, e.Name)
	}
	if diff := cmp.Diff([]string{"Counted", "Waited"}, names); diff != "" {
		t.Fatalf("entries (-want +got):\n%s", diff)
	}
}

func TestCodecRefusesWhatAFoldMustNotMeet(t *testing.T) {
	c := NewCodec(testTable()[:1], testTable()[1:])
	for _, r := range []struct {
		name    string
		typ     string
		data    string
		version uint32
		want    error
	}{
		{"an unknown type", "Guessed", `"1s"`, 1, ErrUnknownEvent},
		{"no type", "", `"1s"`, 1, ErrUnknownEvent},
		{"a newer version", "Waited", `"1s"`, 3, ErrNewerEvent},
		{"no data", "Waited", ``, 2, ErrMalformed},
		{"data cut off", "Waited", `"1`, 2, ErrMalformed},
		{"the wrong kind of value", "Counted", `{"value":1}`, 1, ErrMalformed},
		{"a number that does not fit", "Counted", `"18446744073709551616"`, 1, ErrMalformed},
		{"what the table's check refuses", "Waited", `"-1s"`, 2, errNegative},
		{"an older version in the newer form", "Waited", `"1s"`, 1, ErrMalformed},
		{"a newer version in the older form", "Waited", `1`, 2, ErrMalformed},
	} {
		_, err := c.Decode(Recorded{
			Stream: "a-1", Type: r.typ, Data: []byte(r.data), Meta: Metadata{Version: r.version},
		})
		if !errors.Is(err, r.want) {
			t.Errorf("%s: %v, want %v", r.name, err, r.want)
		}
	}
	if _, _, _, err := c.Encode(&emptypb.Empty{}); !errors.Is(err, ErrUnknownEvent) {
		t.Errorf("encoding an unknown message: %v", err)
	}
	if _, _, _, err := c.Encode(&durationpb.Duration{Seconds: -1}); !errors.Is(err, errNegative) {
		t.Errorf("encoding what the check refuses: %v", err)
	}
}

func TestTwoEntriesForOneThingPanic(t *testing.T) {
	sameName := Entry{Name: "Waited", Version: 1, Example: &emptypb.Empty{}}
	sameMessage := Entry{Name: "Slept", Version: 1, Example: durationpb.New(1)}
	for _, e := range []Entry{sameName, sameMessage} {
		if !panics(func() { NewCodec(testTable(), []Entry{e}) }) {
			t.Errorf("%s of %T was taken twice", e.Name, e.Example)
		}
	}
}

func TestMetadataIsJSONThatOthersMayExtend(t *testing.T) {
	ours := Metadata{Correlation: "c", Causation: "<&>", Cause: "look", Version: 7, Epoch: 1<<64 - 1, Node: "n"}
	old := Metadata{Correlation: "c", Causation: "look", Version: 7, Epoch: 1, Node: "n"}
	for _, c := range []struct {
		text    string
		meta    Metadata
		foreign bool
	}{
		{string(ours.Marshal()), ours, false},
		{`{"$correlationId":"c","$causationId":"look","schemaVersion":7,"hostEpoch":1,"node":"n"}`, old, false},
		{`{"cause":"look", "theirs":1}`, Metadata{Cause: "look"}, true},
		{"", Metadata{}, false},
		{"{}", Metadata{}, true},
		{`{"theirs":[1,2]}`, Metadata{}, true},
		{`{"$correlationId":"c", "theirs":1}`, Metadata{Correlation: "c"}, true},
		{`{"$correlationId": "c"}`, Metadata{Correlation: "c"}, true}, // Not our spelling.
		{"x", Metadata{}, true},
		{"[]", Metadata{}, true},
		{`{"schemaVersion":-1}`, Metadata{}, true},
		{`{"$correlationId":5}`, Metadata{}, true},
		{"{}{}", Metadata{}, true},
	} {
		meta, foreign := DecodeMetadata([]byte(c.text))
		if meta != c.meta || (foreign != nil) != c.foreign {
			t.Errorf("%s: %+v, foreign %q", c.text, meta, foreign)
		}
		if back := EncodeMetadata(meta, foreign); string(back) != c.text {
			t.Errorf("%s comes back as %s", c.text, back)
		}
	}
}

func FuzzDecodeEvent(f *testing.F) {
	f.Add("Waited", []byte(`"1.5s"`), uint32(2))
	f.Add("Waited", []byte(`7`), uint32(1))
	f.Add("Counted", []byte(`"7"`), uint32(1))
	f.Add("Other", []byte(`{}`), uint32(9))
	c := NewCodec(testTable())
	f.Fuzz(func(t *testing.T, typ string, data []byte, version uint32) {
		m, err := c.Decode(Recorded{Type: typ, Data: data, Meta: Metadata{Version: version}})
		if err != nil {
			return
		}
		name, newest, again, err := c.Encode(m)
		if err != nil || name != typ {
			t.Fatalf("decoded %q from %q and cannot encode it: %v", typ, data, err)
		}
		back, err := c.Decode(Recorded{Type: name, Data: again, Meta: Metadata{Version: newest}})
		if err != nil || !proto.Equal(m, back) {
			t.Fatalf("%v is read back as %v, %v", m, back, err)
		}
	})
}

func FuzzDecodeMetadata(f *testing.F) {
	f.Add([]byte(`{"$correlationId":"c","hostEpoch":3}`))
	f.Add([]byte(`{"node":"\ud800"}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if back := EncodeMetadata(DecodeMetadata(text)); string(back) != string(text) {
			t.Fatalf("%q comes back as %q", text, back)
		}
	})
}
