package members

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/hostnode/hostnode/actors/port"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/events/slotqueue"
)

// Question is what one member asks another one; A is the answer. Both are plain data.
type Question[A any] interface {
	// kind names the question; the answer is there for its type alone.
	kind() (string, A)
}

// None is the answer to a question that only wants something done.
type None struct{}

type (
	// Sell asks a member to sell a slot. With Try it only asks whether it would.
	Sell struct {
		// Started is the SaleStarted that would begin the sale, as protobuf. Its attempt is not
		// used.
		Started []byte
		By      events.EventID // the event that handed the slot out; zero: Try
		Try     bool
	}
	// Sells is the answer to Sell: why the member does not, or nil. Of a slot that is the host's already, it says what
	// the member has of its data.
	Sells struct {
		Refused *Refusal
		Copy    Copy `json:",omitempty"`
	}
	// Copy is what a member has of a slot's data.
	Copy string
	// Refusal says why a member does not take a slot. With RetryAt it may take it from that chain
	// time on.
	Refusal struct {
		Criterion, Reason string
		RetryAt           time.Time
	}
	// LetGo asks a member to end a sale that is not filled yet.
	LetGo struct {
		Work   slotqueue.Work
		Reason string
	}

	// The transactions of port.Market.
	reserveSlot struct{ Call events.SlotCall }
	fillSlot    struct {
		Call  events.SlotCall
		Proof events.Proof
	}
	submitProof struct {
		Call   events.SlotCall
		Period uint64
		Proof  events.Proof
	}
	passOnProof submitProof // to the owner, which the asking member does not reach
	takenProofs struct {
		Slot events.SlotID
		From uint64
	}
	freeSlot struct{ Call events.SlotCall }
)

// What a member may have of a slot's data; nothing: "". Sound is all of it, and undamaged as far as is known.
const (
	PartOfCopy Copy = "part"
	SoundCopy  Copy = "sound"
)

func (Sell) kind() (k string, a Sells)                      { return "sell", a }
func (LetGo) kind() (k string, a None)                      { return "let-go", a }
func (reserveSlot) kind() (k string, a events.Receipt)      { return "reserve-slot", a }
func (fillSlot) kind() (k string, a events.Fill)            { return "fill-slot", a }
func (submitProof) kind() (k string, a events.Receipt)      { return "submit-proof", a }
func (passOnProof) kind() (k string, a events.Receipt)      { return "pass-on-proof", a }
func (takenProofs) kind() (k string, a []events.TakenProof) { return "taken-proofs", a }
func (freeSlot) kind() (k string, a events.PayoutReceipt)   { return "free-slot", a }

// question and reply are the form in which questions and answers travel.
type (
	question struct {
		Kind string
		Body json.RawMessage
	}
	reply struct {
		Body json.RawMessage `json:",omitempty"`
		// Outcome is the code of an error that callers look for; Text is the whole error.
		Outcome string `json:",omitempty"`
		Text    string `json:",omitempty"`
	}
)

// outcomes are the errors that callers look for. The codes never change.
var outcomes = map[string]error{
	"unknown-request":         events.ErrUnknownRequest,
	"reservation-not-allowed": events.ErrReservationNotAllowed,
	"slot-not-free":           events.ErrSlotNotFree,
	"invalid-proof":           events.ErrInvalidProof,
	"already-submitted":       events.ErrProofAlreadySubmitted,
	"slot-is-free":            events.ErrSlotIsFree,
	"not-our-slot":            events.ErrNotOurSlot,
	"insufficient-funds":      events.ErrInsufficientFunds,
	"deadline-passed":         events.ErrDeadlinePassed,
	"too-early":               events.ErrTooEarly,
	"reverted":                events.ErrReverted,
	"invalid-command":         capacity.ErrInvalid,
	"availability-exists":     capacity.ErrExists,
	"unknown-availability":    capacity.ErrUnknownAvailability,
	"availability-in-use":     capacity.ErrInUse,
	"limit-reached":           capacity.ErrLimit,
	"store-away":              shell.ErrStoreAway,
	"not-quarantined":         shell.ErrNotQuarantined,
	"no-owner":                events.ErrNoOwner,
}

// Ask asks a member and waits for the answer. The errors are those of port.Cluster.Call, and the
// outcomes that the answering member met.
func Ask[A any](ctx context.Context, c port.Cluster, to events.Member, q Question[A]) (a A, err error) {
	body, err := json.Marshal(q)
	if err != nil {
		return a, fmt.Errorf("ask member %s: %w", to, err)
	}
	kind, _ := q.kind()
	asked, err := json.Marshal(question{kind, body})
	if err != nil {
		return a, fmt.Errorf("ask member %s: %w", to, err)
	}
	answered, err := c.Call(ctx, to, asked)
	if err != nil {
		return a, fmt.Errorf("ask member %s: %w", to, err)
	}
	var r reply
	if err := json.Unmarshal(answered, &r); err != nil {
		return a, fmt.Errorf("the answer of member %s: %w: %w", to, events.ErrMalformed, err)
	}
	if r.Text != "" {
		failed := error(&events.MemberError{Member: to, Text: r.Text})
		if outcome := outcomes[r.Outcome]; outcome != nil {
			failed = fmt.Errorf("%w (%w)", failed, outcome)
		}
		return a, failed
	}
	if err := json.Unmarshal(r.Body, &a); err != nil {
		return a, fmt.Errorf("the answer of member %s: %w: %w", to, events.ErrMalformed, err)
	}
	return a, nil
}

// Answers are the questions that a member answers, by kind.
type Answers map[string]func(ctx context.Context, body []byte) (any, error)

// On adds how questions of one type are answered.
func On[A any, Q Question[A]](to Answers, answer func(context.Context, Q) (A, error)) {
	kind, _ := (*new(Q)).kind()
	to[kind] = func(ctx context.Context, body []byte) (any, error) {
		var q Q
		if err := json.Unmarshal(body, &q); err != nil {
			return nil, fmt.Errorf("the question %s: %w: %w", kind, events.ErrMalformed, err)
		}
		return answer(ctx, q)
	}
}

// Serve answers a question of another member, as port.Cluster.Serve wants it.
func (a Answers) Serve(ctx context.Context, _ events.Member, asked []byte) ([]byte, error) {
	var q question
	if err := json.Unmarshal(asked, &q); err != nil {
		return nil, fmt.Errorf("a question: %w: %w", events.ErrMalformed, err)
	}
	answer := a[q.Kind]
	if answer == nil {
		return nil, fmt.Errorf("a question: %w: %q is not known here; the members may be of different versions",
			events.ErrMalformed, q.Kind)
	}
	v, err := answer(ctx, q.Body)
	var r reply
	if err != nil {
		r.Text = err.Error()
		for code, outcome := range outcomes {
			if errors.Is(err, outcome) {
				r.Outcome = code
			}
		}
		return json.Marshal(r)
	}
	if r.Body, err = json.Marshal(v); err != nil {
		return nil, fmt.Errorf("answer %s: %w", q.Kind, err)
	}
	return json.Marshal(r)
}
