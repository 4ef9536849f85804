package slotqueue

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/hostnode/hostnode/events"
)

// start is when all tests begin; times are given as distances from it.
var start = time.Unix(1_700_000_000, 0).UTC()

// request is the id of one repeated byte.
func request(b byte) events.RequestID { return events.RequestID(bytes.Repeat([]byte{b}, 32)) }

func amount(n uint64) events.Amount { return events.NewAmount(n) }

// terms are those of a slot with this profitability.
func terms(profit uint64) Terms {
	return Terms{
		SlotSize: 100, DatasetSize: 300, Profitability: amount(profit), Collateral: amount(100),
		Expiry: start.Add(time.Hour),
	}
}

// queue is the command that offers slots of a request.
func queue(id byte, profit uint64, indices ...uint64) Queue {
	return Queue{At: start, RequestID: request(id), SlotIndices: indices, Terms: terms(profit)}
}

func release(id byte, index uint64, requeue bool) Release {
	return Release{At: start, RequestID: request(id), SlotIndex: index, Outcome: "done", Requeue: requeue}
}

// given folds what commands lead to; they must all be accepted.
func given(t testing.TB, l Limits, commands ...Command) State {
	t.Helper()
	s := New(l)
	for _, c := range commands {
		s, _ = step(t, s, c)
	}
	return s
}

// step decides, folds and checks the indexes.
func step(t testing.TB, s State, c Command) (State, []Event) {
	t.Helper()
	out, err := Decide(s, c)
	if err != nil {
		t.Fatalf("%T: %v", c, err)
	}
	for _, e := range out {
		s = Evolve(s, e)
	}
	if err := s.Check(); err != nil {
		t.Fatalf("after %T: %v", c, err)
	}
	return s, out
}

// tell prints an event on one line, ids by their first byte.
func tell(m proto.Message) string {
	var b strings.Builder
	r := m.ProtoReflect()
	b.WriteString(string(r.Descriptor().Name()))
	fields := r.Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		if f.Name() == "at" || !r.Has(f) && f.JSONName() != "slotIndex" {
			continue
		}
		fmt.Fprintf(&b, " %s=%s", f.JSONName(), value(r.Get(f)))
	}
	return b.String()
}

func value(v protoreflect.Value) string {
	switch v := v.Interface().(type) {
	case protoreflect.Message:
		return "+" + v.Interface().(*timestamppb.Timestamp).AsTime().Sub(start).String()
	case protoreflect.List:
		var items []string
		for i := range v.Len() {
			items = append(items, v.Get(i).String())
		}
		return "[" + strings.Join(items, " ") + "]"
	case string:
		if strings.HasPrefix(v, "0x") && len(v) == 66 {
			return v[:4]
		}
		return fmt.Sprintf("%q", v)
	}
	return v.String()
}

func tellAll(list []Event) string {
	var lines []string
	for _, e := range list {
		lines = append(lines, tell(e))
	}
	return strings.Join(lines, "\n")
}

// order lists the queued slots, the best first.
func order(s State) string {
	var out []string
	for it := range s.Items() {
		slot := fmt.Sprintf("%02x/%d", it.RequestID[0], it.SlotIndex)
		if it.Seen {
			slot += " seen"
		}
		out = append(out, slot)
	}
	return strings.Join(out, ", ")
}

// difference compares two states, quickly first.
func difference(want, got Snapshot) string {
	if reflect.DeepEqual(want, got) {
		return ""
	}
	return cmp.Diff(want, got, cmp.Comparer(func(a, b events.Amount) bool { return a == b }))
}
