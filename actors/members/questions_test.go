package members

import (
	"context"
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/hostnode/hostnode/actors/port"
	"github.com/hostnode/hostnode/actors/shell/shelltest"
	"github.com/hostnode/hostnode/events"
)

// direct carries questions to one member, in memory.
type direct struct {
	port.Cluster
	to Answers
}

func (d direct) Member() events.Member { return "north" }

func (d direct) Call(ctx context.Context, _ events.Member, q []byte) ([]byte, error) {
	return d.to.Serve(ctx, "north", q)
}

// fullMarket answers everything with values that have no zero field.
type fullMarket struct {
	port.Market
	err  error
	seen []any
}

func filled[T any](v *T) T {
	fill(reflect.ValueOf(v).Elem(), 1)
	return *v
}

func fill(v reflect.Value, n int) {
	if t, ok := v.Addr().Interface().(*time.Time); ok {
		*t = time.Unix(1_700_000_000, 5).UTC()
		return
	}
	if a, ok := v.Addr().Interface().(*events.Amount); ok {
		*a = events.NewAmount(1 << 60).MulSaturating(1 << 60)
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), n+i)
		}
	case reflect.Array:
		for i := range v.Len() {
			fill(v.Index(i), n+i)
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(v.Index(0), n)
		fill(v.Index(1), n+1)
	case reflect.Uint64, reflect.Uint32, reflect.Uint8:
		v.SetUint(uint64(n%200 + 1))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.String:
		v.SetString("text")
	default:
		panic(v.Type().String())
	}
}

func (m *fullMarket) ReserveSlot(_ context.Context, call events.SlotCall) (r events.Receipt, _ error) {
	m.seen = []any{call}
	return filled(&r), m.err
}

func (m *fullMarket) FillSlot(_ context.Context, call events.SlotCall, p events.Proof) (f events.Fill, _ error) {
	m.seen = []any{call, p}
	return filled(&f), m.err
}

func (m *fullMarket) SubmitProof(_ context.Context, call events.SlotCall, period uint64, p events.Proof,
) (r events.Receipt, _ error) {
	m.seen = []any{call, period, p}
	return filled(&r), m.err
}

func (m *fullMarket) TakenProofs(_ context.Context, slot events.SlotID, from uint64) (t []events.TakenProof, _ error) {
	m.seen = []any{slot, from}
	return filled(&t), m.err
}

func (m *fullMarket) FreeSlot(_ context.Context, call events.SlotCall) (r events.PayoutReceipt, _ error) {
	m.seen = []any{call}
	return filled(&r), m.err
}

func owned(member events.Member) func() (events.Member, bool) {
	return func() (events.Member, bool) { return member, member != "" }
}

// Each transaction of a member arrives at the owner as it was given, and the owner's answer at the
// member.
func TestTransactionsTravelWhole(t *testing.T) {
	there, here := &fullMarket{}, &fullMarket{}
	to := Answers{}
	NewMarket(there, Route{}).Answer(to)
	m := NewMarket(here, Route{
		Cluster: direct{to: to}, Owner: owned("south"), Clock: shelltest.Clock{}, Now: time.Now,
		Before: func(ctx context.Context, _ time.Time, _ error) (context.Context, context.CancelFunc) {
			return context.WithCancel(ctx)
		},
	})
	var call events.SlotCall
	var proof events.Proof
	filled(&call)
	filled(&proof)
	ctx := t.Context()
	for name, try := range map[string]func(port.Market) (any, error){
		"reserve": func(m port.Market) (any, error) { return m.ReserveSlot(ctx, call) },
		"fill":    func(m port.Market) (any, error) { return m.FillSlot(ctx, call, proof) },
		"prove":   func(m port.Market) (any, error) { return m.SubmitProof(ctx, call, 7, proof) },
		"taken":   func(m port.Market) (any, error) { return m.TakenProofs(ctx, call.Slot, 3) },
		"free":    func(m port.Market) (any, error) { return m.FreeSlot(ctx, call) },
	} {
		t.Run(name, func(t *testing.T) {
			there.seen = nil
			got, err := try(m)
			if err != nil {
				t.Fatal(err)
			}
			seen := there.seen
			want, _ := try(there)
			if !reflect.DeepEqual(there.seen, seen) {
				t.Errorf("the question was %+v, and arrived as %+v", there.seen, seen)
			}
			if !reflect.DeepEqual(want, got) {
				t.Errorf("the answer was %+v, and arrived as %+v", want, got)
			}
			if here.seen != nil {
				t.Error("it was sent here, although another member is the owner")
			}
		})
	}
}

// The owner's own transactions do not travel, and without an owner nothing is sent.
func TestWhoSendsTransactions(t *testing.T) {
	here := &fullMarket{}
	north, nobody := Route{Cluster: direct{}, Owner: owned("north")}, Route{Cluster: direct{}, Owner: owned("")}
	if _, err := NewMarket(here, north).ReserveSlot(t.Context(), events.SlotCall{}); err != nil || here.seen == nil {
		t.Errorf("the owner sent %v, %v", here.seen, err)
	}
	if _, err := NewMarket(here, nobody).ReserveSlot(t.Context(), events.SlotCall{}); !errors.Is(err, events.ErrNoOwner) {
		t.Errorf("without an owner: %v", err)
	}
}

// A sale decides by the outcome of a transaction, so an outcome arrives as what it was.
func TestOutcomesArrive(t *testing.T) {
	there := &fullMarket{}
	to := Answers{}
	NewMarket(there, Route{}).Answer(to)
	m := NewMarket(&fullMarket{}, Route{Cluster: direct{to: to}, Owner: owned("south")})
	for code, outcome := range outcomes {
		there.err = errors.Join(errors.New("fill"), outcome)
		_, err := m.FillSlot(t.Context(), events.SlotCall{}, events.Proof{})
		if !errors.Is(err, outcome) {
			t.Errorf("%s: %v", code, err)
		}
		for _, other := range outcomes {
			if !errors.Is(outcome, other) && errors.Is(err, other) {
				t.Errorf("%s arrives as %v, too", code, other)
			}
		}
	}
	there.err = errors.New("the node does not answer")
	if _, err := m.FreeSlot(t.Context(), events.SlotCall{}); err == nil {
		t.Error("a temporary failure arrives as success")
	}
}

// What does not come from a member of this version is an error that says so, and nothing is done.
func TestQuestionsThatAreNotKnown(t *testing.T) {
	to := Answers{}
	NewMarket(&fullMarket{}, Route{}).Answer(to)
	for _, q := range []string{"", "{", "[]", `{"Kind":"fly"}`, `{"Kind":"fill-slot","Body":"x"}`, `{"Kind":"fill-slot"}`} {
		answer, err := to.Serve(t.Context(), "south", []byte(q))
		if err == nil && !errorIn(answer) {
			t.Errorf("%q was answered with %s", q, answer)
		}
	}
}

func errorIn(answer []byte) bool {
	return len(answer) > 0 && string(answer) != "null" && !hasBody(answer)
}

func hasBody(answer []byte) bool { return len(answer) > 8 && string(answer[:8]) == `{"Body":` }
