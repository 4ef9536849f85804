package proofs

import (
	"encoding/binary"
	"fmt"
	"testing"
	"time"

	"github.com/hostnode/hostnode/actors/chainview/chainviewtest"
	"github.com/hostnode/hostnode/actors/sales"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/actors/shell/shelltest"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/duty"
	"github.com/hostnode/hostnode/events/sale"
)

// BenchmarkDutiesPerBlock is one pass of the scheduler over all hosted slots, as it
// happens at each block: 100,000 slots of a market with the usual settings.
func BenchmarkDutiesPerBlock(b *testing.B) {
	for _, slots := range []int{1_000, 100_000} {
		b.Run(fmt.Sprint(slots), func(b *testing.B) {
			p, a := hostedSlots(slots)
			head := p.View.Now()
			b.ReportAllocs()
			for b.Loop() {
				head = chainviewtest.NextBlock(head)
				p.View.Advance(head)
				p.look(a, p.order, head)
			}
			b.ReportMetric(float64(b.Elapsed())/float64(b.N)/float64(slots), "ns/slot")
		})
	}
}

// BenchmarkJudgingAPeriod is the additional work once per period, for 100,000 slots.
func BenchmarkJudgingAPeriod(b *testing.B) {
	p, a := hostedSlots(100_000)
	head := p.View.Now()
	to := p.ClosedPeriod(head)
	past, err := p.ReadPast(b.Context(), to, to, p.View.Now().Number)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		for _, s := range p.order {
			s.judged, s.silent = to-1, nil
		}
		p.onPast(a, pastRead{past: past})
	}
}

// hostedSlots returns a scheduler whose slots prove once in six periods; its messages go
// nowhere.
func hostedSlots(n int) (*Scheduler, *shell.Turn) {
	e := depsOf(&shell.Base{Log: shelltest.QuietLog()})
	e.Terms.Proofs = events.ProofConfig{
		Period: 120 * time.Second, Timeout: 30 * time.Second, Downtime: 64, DowntimeProduct: 67,
	}
	p := New(e)
	head := events.Head{Number: 100_000, Time: events.Unix(1_750_000_000)}
	for range 1000 {
		head = chainviewtest.NextBlock(head)
		e.View.Advance(head)
	}
	p.since = head.Time
	for i := range n {
		var slot events.SlotID
		binary.BigEndian.PutUint32(slot[:], uint32(i))
		slot[31] = byte(i * 7)
		p.onSale(nil, sales.Changed{Slot: slot, Ahead: sale.State{Phase: sale.Filled}})
		s := p.sales[slot]
		s.state = sale.State{
			Phase: sale.Proving, Slot: slot, FilledAt: events.Unix(1_749_000_000), EndsAt: head.Time.Add(1000 * time.Hour),
			Started: true, Request: events.Request{Ask: events.Ask{ProofProbability: events.NewAmount(8)}},
		}
		s.proves, s.FilledAt = true, s.state.FilledAt
		s.Probability = duty.Probability(e.Terms.Proofs, s.state.Request.Ask.ProofProbability)
		s.wake, s.look = s.state.WakeAt(), head.Time.Add(1000*time.Hour)
		s.judged = duty.Period(e.Terms.Proofs, head.Time)
	}
	return p, &shell.Turn{}
}
