package events

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

var errNegative = errors.New("negative")

// testTable stands for the tables of the cores.
func testTable() []Entry {
	return []Entry{
		{Name: "Waited", Version: 2, Example: durationpb.New(5), Check: func(m proto.Message) error {
			if m.(*durationpb.Duration).GetSeconds() < 0 {
				return errNegative
			}
			return nil
		}},
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
	} {
		_, err := c.Decode(Recorded{
			Stream: "a-1", Type: r.typ, Data: []byte(r.data), Meta: Metadata{Version: r.version},
		})
		if !errors.Is(err, r.want) {
			t.Errorf("%s: %v, want %v", r.name, err, r.want)
		}
	}
	old := Recorded{Type: "Waited", Data: []byte(`"1s"`), Meta: Metadata{Version: 1}}
	if _, err := c.Decode(old); err != nil {
		t.Errorf("an older version: %v", err)
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
	m := Metadata{Correlation: "c", Causation: "<&>", Version: 7, Epoch: 1<<64 - 1, Node: "n"}
	if back, err := ParseMetadata(m.Marshal()); err != nil || back != m {
		t.Errorf("read back: %+v, %v", back, err)
	}
	if got := string((Metadata{}).Marshal()); got != "{}" {
		t.Errorf("nothing is written as %s", got)
	}
	for _, text := range []string{"", "{}", `{"theirs":[1,2]}`} {
		if got, err := ParseMetadata([]byte(text)); err != nil || got != (Metadata{}) {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{"x", "[]", `{"schemaVersion":-1}`, `{"$correlationId":5}`, "{}{}"} {
		if _, err := ParseMetadata([]byte(text)); !errors.Is(err, ErrMalformed) {
			t.Errorf("%q: %v, want malformed", text, err)
		}
	}
}

func FuzzDecodeEvent(f *testing.F) {
	f.Add("Waited", []byte(`"1.5s"`), uint32(2))
	f.Add("Counted", []byte(`"7"`), uint32(1))
	f.Add("Other", []byte(`{}`), uint32(9))
	c := NewCodec(testTable())
	f.Fuzz(func(t *testing.T, typ string, data []byte, version uint32) {
		m, err := c.Decode(Recorded{Type: typ, Data: data, Meta: Metadata{Version: version}})
		if err != nil {
			return
		}
		name, _, again, err := c.Encode(m)
		if err != nil || name != typ {
			t.Fatalf("decoded %q from %q and cannot encode it: %v", typ, data, err)
		}
		back, err := c.Decode(Recorded{Type: name, Data: again, Meta: Metadata{Version: version}})
		if err != nil || !proto.Equal(m, back) {
			t.Fatalf("%v is read back as %v, %v", m, back, err)
		}
	})
}

func FuzzParseMetadata(f *testing.F) {
	f.Add([]byte(`{"$correlationId":"c","hostEpoch":3}`))
	f.Add([]byte(`{"node":"\ud800"}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		m, err := ParseMetadata(text)
		if err != nil {
			return
		}
		if back, err := ParseMetadata(m.Marshal()); err != nil || back != m {
			t.Fatalf("%q: %+v, then %+v, %v", text, m, back, err)
		}
	})
}
