package api

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/problem"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/catalog"
	"github.com/hostnode/hostnode/messages"
	"github.com/hostnode/hostnode/projections"
)

// answerer has views of whole lives, every second of which is cut off while the slot is hosted.
type answerer struct {
	reader
	views    *projections.Views
	position events.Position
}

var (
	answersFor  = events.Address{0xaa}
	afterPeriod = time.Date(2025, 6, 15, 15, 27, 0, 0, time.UTC)
)

// answering has so many sales, and each hosted slot owed a proof in so many periods.
func answering(t testing.TB, sales, periods int) *answerer {
	t.Helper()
	a := &answerer{views: projections.NewViews(projections.Scope{})}
	a.reader = reader{views: a.views, Source: Source{
		Account: answersFor, Now: func() time.Time { return afterPeriod },
	}}
	life := wholeLife(t)
	for n := range sales {
		var slot events.SlotID
		binary.BigEndian.PutUint32(slot[:], uint32(n))
		stream := events.SaleStream(answersFor, slot)
		for _, m := range life {
			if start, ok := m.(*messages.SaleStarted); ok {
				start = proto.Clone(start).(*messages.SaleStarted)
				start.SlotId = slot.String()
				m = start
			}
			if a.see(stream, m); n%2 == 1 && m.ProtoReflect().Descriptor().Name() == "RequestStarted" {
				a.owe(stream, periods, n%4 == 1)
				break
			}
		}
		key := fmt.Sprintf("free:%s:1", slot)
		a.see(events.TxStream(answersFor), &messages.TxIntended{Key: key, At: events.TimeToMessage(afterPeriod)})
		if n%2 == 0 {
			a.see(events.TxStream(answersFor), &messages.TxMined{
				Key: key, Succeeded: n%4 == 0, At: events.TimeToMessage(afterPeriod), Receipt: &messages.Receipt{
					TxHash: events.Hash{1}.String(), FeeWei: "5", Time: events.TimeToMessage(afterPeriod.Add(time.Hour)),
				},
			})
		}
	}
	return a
}

func wholeLife(t testing.TB) (life []proto.Message) {
	t.Helper()
	f, err := os.Open("../../../../events/sale/testdata/history/complete.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var e struct {
			Type    string          `json:"type"`
			Version uint32          `json:"version"`
			Data    json.RawMessage `json:"data"`
		}
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			t.Fatal(err)
		}
		m, err := catalog.Codec().Decode(events.Recorded{
			Type: e.Type, Data: e.Data, Meta: events.Metadata{Version: e.Version},
		})
		if err != nil {
			t.Fatal(err)
		}
		life = append(life, m)
	}
	return life
}

func (a *answerer) see(stream string, m proto.Message) {
	a.position++
	name := string(m.ProtoReflect().Descriptor().Name())
	a.views.ApplyDecoded(events.Recorded{Stream: stream, Type: name, Position: a.position}, m)
}

// owe demands proofs in some periods up to the present one, all of which are handed in, or missed, but the last.
func (a *answerer) owe(stream string, periods int, missed bool) {
	present := uint64(afterPeriod.Unix() / 120)
	for n := range uint64(periods) {
		period := present - uint64(periods) + 1 + n
		begins := events.Unix(period * 120)
		a.see(stream, &messages.ProofDue{
			At: events.TimeToMessage(begins), Period: period, Challenge: events.Challenge{1}.String(),
			Deadline: events.TimeToMessage(begins.Add(119 * time.Second)),
		})
		switch {
		case period == present:
		case missed && n == 0:
			a.see(stream, &messages.ProofMissed{At: events.TimeToMessage(begins), Period: period, Reason: "it was down"})
		default:
			a.see(stream, &messages.ProofSubmitted{At: events.TimeToMessage(begins), Period: period})
		}
	}
}

var rewriteAnswers = flag.Bool("rewrite-answers", false, "write testdata/answers.json anew")

// paged are the lists, each as its rows, printed, and the next cursor.
func (a *answerer) paged() map[string]func(context.Context, Paging) ([]string, string, error) {
	all := SlotsQuestion{}
	return map[string]func(context.Context, Paging) ([]string, string, error){
		"earnings by day": listOf(a.EarningsByDay, func(l EarningsByDay) ([]DayEarned, string) { return l.Days, l.Next }),
		"earnings by slot": listOf(func(ctx context.Context, p Paging) (EarningsBySlot, error) {
			all.Paging = p
			return a.EarningsBySlot(ctx, all)
		}, func(l EarningsBySlot) ([]SlotEarned, string) { return l.Slots, l.Next }),
		"earnings by availability": listOf(a.EarningsByAvailability,
			func(l EarningsByAvailability) ([]AvailabilityEarned, string) { return l.Availabilities, l.Next }),
		"duties": listOf(func(ctx context.Context, p Paging) (Duties, error) {
			return a.Duties(ctx, DutiesQuestion{Paging: p, Ahead: 2})
		}, func(l Duties) ([]Duty, string) { return l.Duties, l.Next }),
		"periods": listOf(a.Periods, func(l Periods) ([]PeriodProofs, string) { return l.Periods, l.Next }),
		"transactions": listOf(func(ctx context.Context, p Paging) (Transactions, error) {
			return a.Transactions(ctx, TransactionsQuestion{Paging: p})
		}, func(l Transactions) ([]projections.Transaction, string) { return l.Transactions, l.Next }),
		"proofs": listOf(func(ctx context.Context, p Paging) (Proofs, error) {
			return a.Proofs(ctx, ProofsQuestion{Paging: p})
		}, func(l Proofs) ([]SlotProof, string) { return l.Proofs, l.Next }),
	}
}

func listOf[A, R any](ask func(context.Context, Paging) (A, error), rows func(A) ([]R, string),
) func(context.Context, Paging) ([]string, string, error) {
	return func(ctx context.Context, p Paging) (printed []string, next string, err error) {
		answer, err := ask(ctx, p)
		all, next := rows(answer)
		for _, row := range all {
			text, failed := json.MarshalIndent(row, "", " ")
			printed, err = append(printed, string(text)), errors.Join(err, failed)
		}
		return printed, next, err
	}
}

// TestAnswersPrintAsEver pins what the answers look like.
func TestAnswersPrintAsEver(t *testing.T) {
	a := answering(t, 4, 2)
	answers := map[string]any{}
	for name, list := range a.paged() {
		rows, _, err := list(t.Context(), Paging{Limit: DefaultPage})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var raw []json.RawMessage
		for _, row := range rows {
			raw = append(raw, json.RawMessage(row))
		}
		answers[name] = raw
	}
	total, err := a.Earnings(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	days, err := a.EarningsByDay(t.Context(), Paging{Limit: 1})
	if err != nil {
		t.Fatal(err)
	}
	answers["earnings"], answers["expected by day"] = total, days.Expected
	got, err := json.MarshalIndent(answers, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	got = append(got, '\n')
	if *rewriteAnswers {
		if err := errors.Join(os.MkdirAll("testdata", 0o755), os.WriteFile("testdata/answers.json", got, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("testdata/answers.json")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Fatalf("(-want +got); if that is meant, run with -rewrite-answers and read the diff:\n%s", diff)
	}
}

func TestTheListsArePagedWithoutGapsOrRepeats(t *testing.T) {
	a := answering(t, 9, 3)
	for name, list := range a.paged() {
		t.Run(name, func(t *testing.T) {
			whole, next, err := list(t.Context(), Paging{Limit: MaxPage})
			if err != nil || next != "" || len(whole) == 0 {
				t.Fatalf("%d rows, next %q, %v", len(whole), next, err)
			}
			for limit := 1; limit <= len(whole); limit++ {
				var all []string
				for p := (Paging{Limit: limit}); ; {
					rows, next, err := list(t.Context(), p)
					if err != nil {
						t.Fatal(err)
					}
					all = append(all, rows...)
					if p.Cursor = next; next == "" {
						break
					}
				}
				if diff := cmp.Diff(whole, all); diff != "" {
					t.Fatalf("in pages of %d (-whole +pages)\n%s", limit, diff)
				}
			}
			if _, _, err := list(t.Context(), Paging{Limit: 1, Cursor: "?"}); !errors.Is(err, problem.ErrBadRequest) {
				t.Fatalf("a bad cursor: %v", err)
			}
		})
	}
}

func TestListsAreFiltered(t *testing.T) {
	a, ctx, first := answering(t, 9, 3), t.Context(), Paging{Limit: MaxPage}
	var told []string
	tell := func(what string, n int, err error) {
		told = append(told, fmt.Sprintf("%s: %d, %v", what, n, errors.Is(err, problem.ErrBadRequest)))
	}
	for _, outcome := range []projections.Outcome{"open", "succeeded", "failed", "abandoned", "lost"} {
		all, err := a.Transactions(ctx, TransactionsQuestion{Paging: first, Outcome: outcome})
		tell("transactions "+string(outcome), len(all.Transactions), err)
	}
	for _, outcome := range []projections.ProofOutcome{"open", "submitted", "missed", "excused", "lost"} {
		all, err := a.Proofs(ctx, ProofsQuestion{Paging: first, Outcome: outcome})
		tell("proofs "+string(outcome), len(all.Proofs), err)
	}
	for _, slot := range []string{"0x00000001", "00000001", "0x0000000f"} {
		all, err := a.Proofs(ctx, ProofsQuestion{Paging: first, Slot: slot, Outcome: ""})
		tell("proofs of "+slot, len(all.Proofs), err)
	}
	for _, of := range []string{"0xa1", "0xb1"} {
		all, err := a.EarningsBySlot(ctx, SlotsQuestion{Paging: first, Availability: of})
		tell("slots of "+of, len(all.Slots), err)
	}
	for _, ahead := range []int{0, 1, -1, MaxAhead + 1} {
		all, err := a.Duties(ctx, DutiesQuestion{Paging: first, Ahead: ahead})
		tell(fmt.Sprintf("duties %d ahead", ahead), len(all.Duties), err)
	}
	want := []string{
		"transactions open: 4, false", "transactions succeeded: 3, false", "transactions failed: 2, false",
		"transactions abandoned: 0, false", "transactions lost: 0, true",
		"proofs open: 4, false", "proofs submitted: 11, false", "proofs missed: 7, false", "proofs excused: 0, false",
		"proofs lost: 0, true", "proofs of 0x00000001: 3, false", "proofs of 00000001: 3, false",
		"proofs of 0x0000000f: 0, false", "slots of 0xa1: 9, false", "slots of 0xb1: 0, false",
		"duties 0 ahead: 4, false", "duties 1 ahead: 8, false", "duties -1 ahead: 0, true", "duties 21 ahead: 0, true",
	}
	if diff := cmp.Diff(want, told); diff != "" {
		t.Fatalf("(-want +got)\n%s", diff)
	}
}

func TestTheCalendarHasTheSoonestFirst(t *testing.T) {
	a := answering(t, 9, 3)
	all, err := a.Duties(t.Context(), DutiesQuestion{Paging: Paging{Limit: MaxPage}, Ahead: 3})
	if err != nil || all.PeriodSeconds != 120 {
		t.Fatalf("periods of %d seconds, %v", all.PeriodSeconds, err)
	}
	for _, d := range all.Duties {
		if slack := int64(d.Deadline.Sub(all.Now) / time.Second); slack != d.SlackSeconds || d.Opens.After(d.Deadline) {
			t.Errorf("slack %d: %+v", slack, d)
		}
		if open := !d.Opens.After(all.Now); open != (d.State == DutyOpen) || open != (d.Kind == DutyProof) {
			t.Errorf("%+v", d)
		}
	}
	if !slices.IsSortedFunc(all.Duties, func(a, b Duty) int { return a.Deadline.Compare(b.Deadline) }) {
		t.Errorf("not the soonest first: %+v", all.Duties)
	}
}

func TestTheChanceOfAProof(t *testing.T) {
	for _, c := range []struct {
		downtime uint8
		asked    uint64
		want     float64
	}{{0, 0, 1}, {64, 0, 0.75}, {64, 1, 0.75}, {0, 4, 0.25}, {64, 100, 0.01}} {
		if got := chanceOf(events.ProofConfig{Downtime: c.downtime}, events.NewAmount(c.asked)); got != c.want {
			t.Errorf("downtime %d, probability %d: %v, want %v", c.downtime, c.asked, got, c.want)
		}
	}
}

func TestTheNextWindowOfASector(t *testing.T) {
	rules := events.SectorConfig{PeriodBlocks: 100, Deadlines: 4}
	sector := func(change func(*events.SectorOnChain)) events.SectorOnChain {
		s := events.SectorOnChain{Block: events.Head{Number: 1_010, Time: events.Unix(10_000)}, Deadline: 2}
		s.Active = true
		change(&s)
		return s
	}
	for name, c := range map[string]struct {
		is    events.SectorOnChain
		first uint64 // block of the window; 0: none is owed
	}{
		"to come in this period": {sector(func(*events.SectorOnChain) {}), 1_050},
		"open":                   {sector(func(s *events.SectorOnChain) { s.Deadline = 0 }), 1_000},
		"over with the next block": {sector(func(s *events.SectorOnChain) {
			s.Deadline, s.Block.Number = 0, 1_024
		}), 1_100},
		"proven in this period": {sector(func(s *events.SectorOnChain) { s.NextPeriod = 11 }), 1_150},
		"missed before":         {sector(func(s *events.SectorOnChain) { s.NextPeriod = 3 }), 1_050},
		"faulty":                {sector(func(s *events.SectorOnChain) { s.Faulty = true }), 0},
		"to be cured": {sector(func(s *events.SectorOnChain) {
			s.Faulty, s.RecoverAt = true, 10
		}), 1_050},
		"ends before": {sector(func(s *events.SectorOnChain) { s.Expiration = 1_050 }), 0},
		"not active":  {sector(func(s *events.SectorOnChain) { s.Active = false }), 0},
	} {
		t.Run(name, func(t *testing.T) {
			d, owes := windowOf(c.is, rules, 2*time.Second)
			if owes != (c.first != 0) {
				t.Fatalf("owes %v: %+v", owes, d)
			}
			opens := c.is.Block.Time.Add(time.Duration(int64(c.first)-int64(c.is.Block.Number)) * 2 * time.Second)
			if owes && (!d.opens.Equal(opens) || !d.deadline.Equal(opens.Add(48*time.Second))) {
				t.Fatalf("from %s to %s, want from %s", d.opens, d.deadline, opens)
			}
		})
	}
	if _, owes := windowOf(sector(func(*events.SectorOnChain) {}), events.SectorConfig{}, time.Second); owes {
		t.Error("a window without rules")
	}
}
