package audit

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/messages"
)

var (
	validatorStream = events.ValidatorStream(me)
	marksOf         = events.RequestID{0x77}
)

// receiptOf is that of the nth marking.
func receiptOf(n byte) *messages.Receipt {
	return &messages.Receipt{
		TxHash: events.Hash{0x66, n}.String(), Block: 7_000 + uint64(n), BlockHash: events.Hash{0x67, n}.String(),
		Time: timestamppb.New(events.Unix(1_700_500_000)), FeeWei: "33", GasUsed: 145_000,
	}
}

func marking(n byte, index, period uint64) *messages.ProofMarked {
	return &messages.ProofMarked{
		At: timestamppb.New(events.Unix(1_700_500_000)), RequestId: marksOf.String(),
		SlotId: events.SlotIDOf(marksOf, index).String(), SlotIndex: index, Period: period, Reward: "400", Receipt: receiptOf(n),
	}
}

func unmarked(index, period uint64) *messages.MarkingFailed {
	return &messages.MarkingFailed{
		At: timestamppb.New(events.Unix(1_700_500_000)), RequestId: marksOf.String(),
		SlotId: events.SlotIDOf(marksOf, index).String(), SlotIndex: index, Period: period, Reason: "another was faster",
	}
}

// write appends an event with the cause and correlation that its writer gives it.
func (r *record) write(stream string, m proto.Message, cause, correlation string) {
	i := len(r.list)
	r.insert(i, stream, m)
	r.list[i].Meta.Cause, r.list[i].Meta.Correlation = cause, correlation
	r.derive()
}

func (r *record) validates(m proto.Message) {
	switch m := m.(type) {
	case *messages.ValidationStarted:
		r.write(validatorStream, m, "start", "")
	case interface {
		proto.Message
		GetRequestId() string
		GetSlotId() string
		GetPeriod() uint64
	}:
		r.write(validatorStream, m, fmt.Sprintf("mark:%s:%d", m.GetSlotId(), m.GetPeriod()), m.GetRequestId())
	}
}

// mines appends the transaction of a marking.
func (r *record) mines(m *messages.ProofMarked) {
	at, key := m.GetAt(), fmt.Sprintf("mark:%s:%d#1", m.GetSlotId(), m.GetPeriod())
	for _, e := range []proto.Message{
		&messages.TxIntended{At: at, Key: key, To: me.String(), Data: "0x01"},
		&messages.TxSent{
			At: at, Key: key, Nonce: 9_000, TxHash: m.GetReceipt().GetTxHash(), GasLimit: 300_000, FeeCapWei: "9", TipCapWei: "1",
		},
		&messages.TxMined{At: at, Key: key, Receipt: m.GetReceipt(), Succeeded: true},
	} {
		r.write(txStream, e, "", m.GetRequestId())
	}
}

// marked is a record with two markings and a failure.
func aValidator(t *testing.T) *record {
	r := aYear(t)
	r.validates(&messages.ValidationStarted{At: timestamppb.New(events.Unix(1_700_400_000)), MaxSlots: 10})
	first, second := marking(1, 0, 900), marking(2, 1, 900)
	r.mines(first)
	r.validates(first)
	r.validates(unmarked(2, 900))
	r.validates(second) // Its transaction is copied a little later.
	r.mines(second)
	return r
}

func TestTheRecordOfAValidatorIsClean(t *testing.T) {
	if report := audited(t, aValidator(t), Options{}); len(report.Findings) > 0 {
		t.Fatalf("findings %v", report.Findings)
	}
}

func TestWhatAValidatorRecordsIsHeldToTheRules(t *testing.T) {
	for name, c := range map[string]struct {
		breach func(*record)
		want   map[Rule]int
	}{
		"a proof that is marked twice": {
			func(r *record) { again := marking(3, 0, 900); r.mines(again); r.validates(again) },
			map[Rule]int{MarkingContradiction: 1},
		},
		"a failure of what was marked": {
			func(r *record) { r.validates(unmarked(0, 900)) }, map[Rule]int{MarkingContradiction: 1},
		},
		"a failure twice": {
			func(r *record) { r.validates(unmarked(2, 900)) }, map[Rule]int{MarkingContradiction: 1},
		},
		"a marking after a failure": {
			func(r *record) { late := marking(3, 2, 900); r.mines(late); r.validates(late) }, map[Rule]int{},
		},
		"another slot than that of the index": {
			func(r *record) { m := marking(3, 4, 901); m.SlotIndex = 5; r.mines(m); r.validates(m) },
			map[Rule]int{MarkingContradiction: 1},
		},
		"a failure without a reason": {
			func(r *record) { m := unmarked(6, 901); m.Reason = ""; r.validates(m) }, map[Rule]int{MarkingContradiction: 1},
		},
		"a marking that no transaction made": {
			func(r *record) { r.validates(marking(3, 3, 901)) }, map[Rule]int{MarkingWithoutTransaction: 1},
		},
		"a marking without a receipt": {
			func(r *record) { m := marking(3, 3, 901); m.Receipt = nil; r.validates(m) },
			map[Rule]int{MarkingWithoutTransaction: 1},
		},
		"a cause that names another proof": {
			func(r *record) {
				m := unmarked(6, 901)
				r.write(validatorStream, m, fmt.Sprintf("mark:%s:%d", m.GetSlotId(), 902), m.GetRequestId())
			}, map[Rule]int{CauseUnresolved: 1},
		},
		"another request's correlation": {
			func(r *record) {
				m := unmarked(6, 901)
				r.write(validatorStream, m, fmt.Sprintf("mark:%s:%d", m.GetSlotId(), 901), events.RequestID{1}.String())
			}, map[Rule]int{CorrelationMismatch: 1},
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := aValidator(t)
			c.breach(r)
			rules := map[Rule]int{}
			report := audited(t, r, Options{})
			for _, f := range report.Findings {
				rules[f.Rule]++
			}
			if diff := cmp.Diff(c.want, rules); diff != "" {
				t.Fatalf("(-want +got):\n%s\n%v", diff, report.Findings)
			}
		})
	}
}

func TestNothingIsMarkedByAValidatorThatNeverStarted(t *testing.T) {
	r := aYear(t)
	r.validates(unmarked(0, 1))
	if report := audited(t, r, Options{}); len(report.Findings) != 1 || report.Findings[0].Rule != MarkingContradiction {
		t.Fatalf("findings %v", report.Findings)
	}
}

func TestMarkingASlotOfOurOwnIsFound(t *testing.T) {
	r := aValidator(t)
	// The last filled sale is changed so that it still runs.
	last := r.at("SlotFilled", -1)
	codec := newAuditor(Options{}).codec
	stream := r.list[last].Stream
	started := messages.SaleStarted{}
	for _, e := range r.list[:last] {
		if m, err := codec.Decode(e); err == nil && e.Stream == stream {
			if s, ok := m.(*messages.SaleStarted); ok {
				proto.Reset(&started)
				proto.Merge(&started, s)
			}
		}
	}
	m := marking(7, 0, 950)
	m.RequestId, m.SlotIndex = started.GetRequest().GetId(), started.GetSlotIndex()
	m.SlotId = events.SlotIDOf(events.Must(events.ParseRequestID(m.RequestId)), m.SlotIndex).String()
	a := newAuditor(Options{})
	for _, e := range r.list[:last+1] {
		a.event(e)
	}
	tail := &record{list: r.list[: last+1 : last+1]}
	tail.validates(&messages.ValidationStarted{At: m.At})
	tail.validates(m)
	for _, e := range tail.list[last+1:] {
		a.event(e)
	}
	found := false
	for _, f := range a.report.Findings {
		found = found || f.Rule == MarkingOwnSlot
	}
	if !found {
		t.Fatalf("findings %v", a.report.Findings)
	}
}

func TestACheckpointRemembersWhatWasMarked(t *testing.T) {
	r := aValidator(t)
	file := filepath.Join(t.TempDir(), "audit")
	audited(t, r, Options{Checkpoint: file})
	r.validates(unmarked(0, 900))
	report := audited(t, r, Options{Checkpoint: file})
	if len(report.Findings) != 1 || report.Findings[0].Rule != MarkingContradiction || report.ContinuedFrom == 0 {
		t.Fatalf("continued from %d, findings %v", report.ContinuedFrom, report.Findings)
	}
}

// paysMarkings adds a record's markings to a chain.
func paysMarkings(t *testing.T, r *record, c *fakeChain) {
	t.Helper()
	for _, e := range r.list {
		m, err := newAuditor(Options{}).codec.Decode(e)
		if err != nil {
			t.Fatal(err)
		}
		if m, ok := m.(*messages.ProofMarked); ok {
			c.in = c.in.Add(amount(m.GetReward()))
			c.moves[events.Must(events.ParseHash(m.GetReceipt().GetTxHash()))] = events.TokenMove{
				Found: true, Succeeded: true, In: amount(m.GetReward()),
			}
		}
	}
}

func TestRewardsOfMarkingsAreHeldToTheChain(t *testing.T) {
	r := aValidator(t)
	c := chainOfRecord(t, r)
	paysMarkings(t, r, c)
	if report := audited(t, r, onChain(c)); len(report.Findings) > 0 || !report.ChainCompared {
		t.Fatalf("compared %t, findings %v", report.ChainCompared, report.Findings)
	}
	tx := events.Must(events.ParseHash(receiptOf(2).GetTxHash()))
	move := c.moves[tx]
	move.In = move.In.Sub(events.NewAmount(1))
	c.moves[tx] = move
	report := audited(t, r, onChain(c))
	if len(report.Findings) != 1 || report.Findings[0].Rule != MoneyMismatch || report.Findings[0].Stream != validatorStream {
		t.Fatalf("a reward that is smaller: %v", report.Findings)
	}
	paid := chainOfRecord(t, r)
	paysMarkings(t, r, paid)
	r.remove(r.at("ProofMarked", 0))
	report = audited(t, r, onChain(paid))
	if len(report.Findings) != 1 || report.Findings[0].Rule != MoneyUnrecorded {
		t.Fatalf("a reward that is not recorded: %v", report.Findings)
	}
}
