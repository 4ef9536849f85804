package events

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestExpectedSaysWhatItExpects(t *testing.T) {
	for _, c := range []struct {
		expected Expected
		text     string
		count    uint64
		exact    bool
	}{
		{Any(), "any", 0, false},
		{Expected{}, "any", 0, false},
		{NoStream(), "no stream", 0, true},
		{ExpectNext(0), "no stream", 0, true},
		{Exact(0), "revision 0", 1, true},
		{ExpectNext(1), "revision 0", 1, true},
		{ExpectNext(8), "revision 7", 8, true},
	} {
		count, exact := c.expected.Count()
		if c.expected.String() != c.text || count != c.count || exact != c.exact ||
			c.expected.IsAny() == exact {
			t.Errorf("%v: count %d, %v, want %s, %d, %v", c.expected, count, exact, c.text, c.count, c.exact)
		}
	}
	if ExpectNext(3) != Exact(2) || NoStream() == Any() || Exact(0) == NoStream() {
		t.Error("expectations compare wrongly")
	}
}

func TestWrongRevisionErrorNamesBothSides(t *testing.T) {
	missing := &WrongRevisionError{Stream: "a-1", Expected: Exact(3)}
	there := &WrongRevisionError{Stream: "a-1", Expected: NoStream(), Actual: 5, Exists: true}
	for err, parts := range map[*WrongRevisionError][]string{
		missing: {"a-1", "revision 3", "is no stream"},
		there:   {"a-1", "expected no stream", "is revision 5"},
	} {
		for _, part := range parts {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%q does not say %q", err, part)
			}
		}
		wrapped := fmt.Errorf("settle: %w", err)
		if !errors.Is(wrapped, ErrWrongRevision) || errors.Is(wrapped, ErrStreamNotFound) {
			t.Errorf("%v is not recognised", wrapped)
		}
	}
}

func TestCheckAppendCountsEverythingOfAnEvent(t *testing.T) {
	fits := NewEvent{ID: EventID{1}, Type: "t", Data: make([]byte, MaxEventBytes-13)}
	fits.Meta = Metadata{Correlation: "ccc", Causation: "ccc", Cause: "ccc", Node: "nnn"}
	if err := CheckAppend("a-1", []NewEvent{fits}); err != nil {
		t.Errorf("an event that just fits: %v", err)
	}
	for name, grow := range map[string]func(*NewEvent){
		"data":        func(e *NewEvent) { e.Data = append(e.Data, 0) },
		"type":        func(e *NewEvent) { e.Type += "t" },
		"correlation": func(e *NewEvent) { e.Meta.Correlation += "c" },
		"causation":   func(e *NewEvent) { e.Meta.Causation += "c" },
		"cause":       func(e *NewEvent) { e.Meta.Cause += "c" },
		"node":        func(e *NewEvent) { e.Meta.Node += "n" },
	} {
		e := fits
		grow(&e)
		if err := CheckAppend("a-1", []NewEvent{e}); !errors.Is(err, ErrTooLarge) {
			t.Errorf("one byte more of %s: %v, want too large", name, err)
		}
	}
}

// TestCheckAppendKeepsFromAServerWhatItDoesNotTake: the first name ends the
// process of an EventStoreDB.
func TestCheckAppendKeepsFromAServerWhatItDoesNotTake(t *testing.T) {
	for name, want := range map[string]error{"$$": ErrMalformed, "$all": ErrReadOnly, "$$$all": nil} {
		if err := CheckAppend(name, nil); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", name, err, want)
		}
	}
}
