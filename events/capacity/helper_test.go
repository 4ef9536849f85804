package capacity

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

// fill makes an id of one repeated byte.
func fill[T ~[32]byte](b byte) T { return T(bytes.Repeat([]byte{b}, 32)) }

func amount(n uint64) events.Amount { return events.NewAmount(n) }

func ptr[T any](v T) *T { return &v }

// standard is an offer that standardAsk fits exactly.
func standard() Offer {
	return Offer{
		Size: 1000, Duration: time.Hour, MinPrice: amount(5), Collateral: amount(2000), Enabled: true,
	}
}

func standardAsk() Ask {
	return Ask{
		SlotSize: 1000, Duration: time.Hour, PricePerBytePerSecond: amount(5),
		CollateralPerByte: amount(2), RequestEnd: start.Add(time.Hour), Overhead: 10,
	}
}

// given folds what commands lead to; they must all be accepted.
func given(t testing.TB, commands ...Command) State {
	t.Helper()
	s := New()
	for _, c := range commands {
		s, _ = step(t, s, c)
	}
	return s
}

// step decides, folds and checks the books.
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
		if f.Name() == "at" || !r.Has(f) {
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
	case string:
		if strings.HasPrefix(v, "0x") && len(v) == 66 {
			return v[:4]
		}
		return v
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

// difference compares two states, quickly first.
func difference(want, got Snapshot) string {
	if reflect.DeepEqual(want, got) {
		return ""
	}
	return cmp.Diff(want, got, cmp.Comparer(func(a, b events.Amount) bool { return a == b }))
}
