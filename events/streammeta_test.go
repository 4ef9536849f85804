package events

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestStreamMetadataIsReadAsEventStoreDBWritesIt(t *testing.T) {
	for _, c := range []struct {
		text string
		want StreamMetadata
	}{
		{``, StreamMetadata{}},
		{`{}`, StreamMetadata{}},
		{`null`, StreamMetadata{}},
		{`{"$maxCount":0,"$maxAge":0,"$tb":0}`, StreamMetadata{}},
		{`{"$maxCount":null,"$maxAge":null,"$tb":null,"$acl":null}`, StreamMetadata{}},
		{`{"$maxCount":7}`, StreamMetadata{MaxCount: 7}},
		{`{"$maxAge":60}`, StreamMetadata{MaxAge: time.Minute}},
		{`{"$maxAge":9223372036}`, StreamMetadata{MaxAge: 9223372036 * time.Second}},
		{`{"$tb":9223372036854775807}`, StreamMetadata{TruncateBefore: math.MaxInt64}},
		{
			`{"$acl":{"$r":"auditor","$w":["a","b"],"$d":[],"$mr":null}}`,
			StreamMetadata{ACL: &ACL{Read: []string{"auditor"}, Write: []string{"a", "b"}, Delete: []string{}}},
		},
		{`{"$acl":{}}`, StreamMetadata{ACL: &ACL{}}},
		{
			`{"$cacheControl":7,"owner":{"$tb":4},"":null}`,
			StreamMetadata{Custom: map[string]json.RawMessage{
				"$cacheControl": json.RawMessage("7"), "owner": json.RawMessage(`{"$tb":4}`), "": json.RawMessage("null"),
			}},
		},
		{`{"$maxCount":2,"$tb":-1}`, withCustom(StreamMetadata{MaxCount: 2}, "$tb", "-1")},
		{`{"$tb":-9223372036854775808}`, withCustom(StreamMetadata{}, "$tb", "-9223372036854775808")},
		{`{"$maxAge":60,"$acl":{"$r":7}}`, withCustom(StreamMetadata{MaxAge: time.Minute}, "$acl", `{"$r":7}`)},
	} {
		got, err := ParseStreamMetadata([]byte(c.text))
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", c.text, d)
		}
		again, err := ParseStreamMetadata(got.Marshal())
		if err != nil {
			t.Errorf("%s, written again as %s: %v", c.text, got.Marshal(), err)
		}
		if d := cmp.Diff(got, again); d != "" {
			t.Errorf("%s, written again (-first +second):\n%s", c.text, d)
		}
	}
}

func withCustom(m StreamMetadata, key, value string) StreamMetadata {
	m.Custom = map[string]json.RawMessage{key: json.RawMessage(value)}
	return m
}

// TestValuesThatCannotBeUsedHideNothingAndAreKept: EventStoreDB reads field by field.
func TestValuesThatCannotBeUsedHideNothingAndAreKept(t *testing.T) {
	for key, values := range map[string][]string{
		"$maxCount": {`-1`, `"1"`, `1.5`, `true`, `9223372036854775808`, `[]`},
		"$maxAge":   {`9223372037`, `-1`, `"00:01:00"`, `1e99`},
		"$tb":       {`-1`, `9223372036854775808`, `18446744073709551616`, `"x"`, `{}`},
		"$acl":      {`"auditor"`, `{"$r":7}`, `{"$r":["a",7]}`, `{"$w":{}}`},
	} {
		for _, value := range values {
			text := fmt.Sprintf(`{%q:%s}`, key, value)
			got, err := ParseStreamMetadata([]byte(text))
			if d := cmp.Diff(withCustom(StreamMetadata{}, key, value), got); d != "" || err != nil {
				t.Errorf("%s: %v (-want +got):\n%s", text, err, d)
			}
			if string(got.Marshal()) != text || got.UnusableACL() != (key == "$acl") {
				t.Errorf("%s is written again as %s; an unusable list: %v", text, got.Marshal(), got.UnusableACL())
			}
			got.MaxCount, got.MaxAge, got.TruncateBefore, got.ACL = 1, time.Second, 1, &ACL{}
			want := `{"$acl":{},"$maxAge":1,"$maxCount":1,"$tb":1}`
			if string(got.Marshal()) != want || got.UnusableACL() {
				t.Errorf("%s, set anew, is %s, want %s", text, got.Marshal(), want)
			}
		}
	}
}

func TestStreamMetadataThatIsNoObjectIsAnError(t *testing.T) {
	for _, text := range []string{`{`, `[]`, `7`, `"x"`, `{} {}`, `{"$tb":1`} {
		got, err := ParseStreamMetadata([]byte(text))
		if !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: %+v, %v, want malformed", text, got, err)
		}
		if d := cmp.Diff(StreamMetadata{}, got); d != "" {
			t.Errorf("%s gives metadata beside the error:\n%s", text, d)
		}
	}
}

func TestDeletionKeepsTheRestOfTheMetadata(t *testing.T) {
	m := StreamMetadata{MaxCount: 3, TruncateBefore: 2, ACL: &ACL{Read: []string{}}}
	deleted, err := ParseStreamMetadata(m.DeletedMetadata().Marshal())
	if err != nil || !deleted.Deleted() || m.Deleted() {
		t.Fatalf("deleted %v, before %v, %v", deleted.Deleted(), m.Deleted(), err)
	}
	m.TruncateBefore = math.MaxInt64
	if d := cmp.Diff(m, deleted); d != "" {
		t.Fatalf("deleted metadata (-want +got):\n%s", d)
	}
}

func TestFirstIsTheFirstRevisionThatMetadataLeaves(t *testing.T) {
	for _, c := range []struct {
		m           StreamMetadata
		count, want uint64
	}{
		{StreamMetadata{}, 0, 0},
		{StreamMetadata{}, 5, 0},
		{StreamMetadata{MaxCount: 2}, 5, 3},
		{StreamMetadata{MaxCount: 5}, 5, 0},
		{StreamMetadata{MaxCount: math.MaxInt64}, 5, 0},
		{StreamMetadata{TruncateBefore: 4}, 5, 4},
		{StreamMetadata{TruncateBefore: 5}, 5, 5},
		{StreamMetadata{TruncateBefore: 9}, 5, 5},
		{StreamMetadata{TruncateBefore: 4, MaxCount: 2}, 5, 4},
		{StreamMetadata{TruncateBefore: 1, MaxCount: 2}, 5, 3},
		{StreamMetadata{}.DeletedMetadata(), 5, 5},
	} {
		if got := c.m.First(c.count); got != c.want {
			t.Errorf("%+v of %d events: first is %d, want %d", c.m, c.count, got, c.want)
		}
	}
}

func FuzzStreamMetadata(f *testing.F) {
	for _, seed := range []string{
		``, `{}`, `null`, `{"$maxCount":7,"$maxAge":60,"$tb":3}`, `{"$acl":{"$r":"a","$w":["a","b"],"$d":[]}}`,
		`{"x":{"y":[1.50,null]},"x":2}`, `{"$tb":-1}`, "{\"\xff\":1}", `{"a":"\u2028<&>"}`, `{"$maxCount":1e3}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := ParseStreamMetadata(data)
		if err != nil {
			if !errors.Is(err, ErrMalformed) {
				t.Fatalf("%q: %v", data, err)
			}
			return
		}
		again, err := ParseStreamMetadata(m.Marshal())
		if err != nil {
			t.Fatalf("%q, written again as %s: %v", data, m.Marshal(), err)
		}
		// The text of foreign keys may change, but not their meaning.
		if d := cmp.Diff(m, again, cmpopts.IgnoreFields(StreamMetadata{}, "Custom")); d != "" {
			t.Fatalf("%q, written again (-first +second):\n%s", data, d)
		}
		if len(m.Custom) != len(again.Custom) {
			t.Fatalf("%q has %d keys of others, written again %d", data, len(m.Custom), len(again.Custom))
		}
		for key, value := range m.Custom {
			var first, second any
			if json.Unmarshal(value, &first) != nil || json.Unmarshal(again.Custom[key], &second) != nil {
				continue // Numbers beyond any type are not ours.
			}
			if d := cmp.Diff(first, second); d != "" {
				t.Fatalf("%q: key %q, written again (-first +second):\n%s", data, key, d)
			}
		}
	})
}
