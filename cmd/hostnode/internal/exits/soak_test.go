//go:build soak

package exits

import (
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hostnode/hostnode/chain/rpc"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/catalog"
	"github.com/hostnode/hostnode/events/sale"
	"github.com/hostnode/hostnode/messages"
)

var (
	soakDays  = flag.Float64("days", 7, "how many days of chain time the slots are proven")
	soakSlots = flag.String("slots", "10,100,200", "how many slots are hosted, one run for each")
)

// The chain of a soak: blocks as Ethereum's, periods as the marketplace's networks
// have them.
const (
	soakBlockTime   = 12 * time.Second
	soakPeriod      = 120 * time.Second
	soakTimeout     = 30 * time.Second
	soakProbability = 8
	// soakSettled is after how much chain time the requests are counted: by then
	// everything is filled. On a machine with other work it may take longer.
	soakSettled = 4 * time.Hour
)

// A host that proves many slots for long misses nothing.
func TestManySlotsAreProvenForLong(t *testing.T) {
	eachNumberOfSlots(t, func(t *testing.T, slots int) {
		began := time.Now()
		s := newSoak(t, slots, soakProbability, time.Duration(*soakDays*float64(24*time.Hour)), options{})
		blocks, asked := s.measure(s.lasts - soakSettled)
		s.h.runUntil(s.start.Add(s.lasts + soakSettled + time.Hour))
		for _, slot := range s.slots {
			end := s.h.sale(slot)
			if end.Missed > 0 || end.Phase != sale.Finished || !end.Over() {
				t.Errorf("slot %s: %s, %d proofs, %d missed: %s",
					slot.Short(), end.Phase, end.Submitted, end.Missed, s.h.whyMissed(slot))
			}
		}
		s.h.audit()
		made := s.h.proofs(s.slots)
		t.Logf("%d slots, %s of chain time in %s: %d proofs submitted, %d missed, %d excused",
			len(s.slots), s.lasts, time.Since(began).Round(time.Second), made.submitted, made.missed, made.excused)
		tell(t, blocks, asked)
	})
}

// What a host asks of the chain in a block in which no proof is due does not grow
// with the slots that it hosts.
func TestTheChainIsAskedAsOftenForManySlotsAsForFew(t *testing.T) {
	const few = 1.2 // When the chain is asked depends partly on the machine's speed.
	least := 0.0
	eachNumberOfSlots(t, func(t *testing.T, slots int) {
		s := newSoak(t, slots, noProofs, 24*time.Hour, options{})
		blocks, asked := s.measure(2 * time.Hour)
		tell(t, blocks, asked)
		each := float64(asked[rpc.RequestMessages]) / float64(blocks)
		if least == 0 {
			least = each
		}
		if each > few*least {
			t.Errorf("%.2f requests for each block with %d slots, %.2f with the fewest", each, slots, least)
		}
	})
}

func eachNumberOfSlots(t *testing.T, run func(t *testing.T, slots int)) {
	for name := range strings.SplitSeq(*soakSlots, ",") {
		t.Run(name+" slots", func(t *testing.T) {
			var slots int
			if _, err := fmt.Sscan(name, &slots); err != nil {
				t.Fatal(err)
			}
			run(t, slots)
		})
	}
}

// soak is a host with many slots that are filled.
type soak struct {
	h     *host
	slots []events.SlotID
	start time.Time
	lasts time.Duration
}

func newSoak(t *testing.T, slots int, probability uint64, lasts time.Duration, o options) *soak {
	w := newWorldOf(t, func(m *events.MarketConfig) {
		m.Proofs.Period, m.Proofs.Timeout = soakPeriod, soakTimeout
	})
	w.give("client", 1<<62)
	w.apart = soakBlockTime
	o.slots, o.quiet, o.workers, o.sparing = 3, true, 16, true
	s := &soak{h: w.newHost(o), lasts: lasts}
	for len(s.slots) < slots {
		r := w.post(terms{probability: probability, expiry: lasts, duration: lasts + soakSettled, maxLoss: 1})
		for index := range r.Ask.Slots {
			s.slots = append(s.slots, events.SlotIDOf(r.ID, index))
		}
	}
	s.start = w.now()
	const step = 10 * time.Minute
	s.h.runUntil(s.start.Add(soakSettled))
	for s.hosted() < len(s.slots) {
		if expiry := s.start.Add(lasts); s.h.w.now().Add(step).After(expiry) {
			t.Fatalf("%d of %d slots are hosted when the requests expire", s.hosted(), len(s.slots))
		}
		s.h.runUntil(s.h.w.now().Add(step))
	}
	return s
}

func (s *soak) hosted() (n int) {
	for _, sale := range s.h.sales() {
		if sale.Hosting() {
			n++
		}
	}
	return n
}

// measure counts what is asked of the chain for some time.
func (s *soak) measure(lasts time.Duration) (blocks uint64, asked map[string]uint64) {
	first, before := s.h.w.chain.Head().Number, s.h.market.Requests()
	s.h.runUntil(s.h.w.now().Add(lasts))
	asked = s.h.market.Requests()
	for method, n := range before {
		asked[method] -= n
	}
	return s.h.w.chain.Head().Number - first, asked
}

func tell(t *testing.T, blocks uint64, asked map[string]uint64) {
	for _, method := range slices.Sorted(maps.Keys(asked)) {
		t.Logf("  %-28s %8d, %.2f for each block", method, asked[method], float64(asked[method])/float64(blocks))
	}
}

// proofCount counts the outcomes of duties.
type proofCount struct{ submitted, missed, excused uint64 }

func (h *host) proofs(slots []events.SlotID) (p proofCount) {
	for _, slot := range slots {
		for _, e := range h.events(slot) {
			switch e.(type) {
			case *messages.ProofSubmitted:
				p.submitted++
			case *messages.ProofMissed:
				p.missed++
			case *messages.ProofExcused:
				p.excused++
			}
		}
	}
	return p
}

// whyMissed are the reasons that the record gives.
func (h *host) whyMissed(slot events.SlotID) string {
	var reasons []string
	for _, e := range h.events(slot) {
		if m, missed := e.(*messages.ProofMissed); missed {
			reasons = append(reasons, fmt.Sprintf("period %d, %s", m.GetPeriod(), m.GetReason()))
			reasons = append(reasons, h.whatWasSent(slot, m.GetPeriod())...)
		}
	}
	return strings.Join(reasons, "\n    ")
}

// whatWasSent describes the transactions with the proofs of a period.
func (h *host) whatWasSent(slot events.SlotID, period uint64) (told []string) {
	prefix := fmt.Sprintf("proof:%s:%d:", slot, period)
	for r, err := range h.store.ReadStream(h.t.Context(), events.TxStream(h.market.Account()), events.ReadStream{}) {
		ok(h.t, err)
		if strings.Contains(string(r.Data), prefix) {
			told = append(told, fmt.Sprintf("%s %s %s", r.Recorded.Format("15:04:05.000"), r.Type, r.Data[max(0, len(r.Data)-300):]))
		}
	}
	for r, err := range h.store.ReadStream(h.t.Context(), events.SaleStream(h.market.Account(), slot), events.ReadStream{}) {
		ok(h.t, err)
		if strings.Contains(string(r.Data), fmt.Sprintf("%q", fmt.Sprint(period))) {
			told = append(told, fmt.Sprintf("%s %s %s", r.Recorded.Format("15:04:05.000"), r.Type, r.Data))
		}
	}
	return told
}

func (h *host) sales() []sale.State {
	st, err := h.host.Status(h.t.Context())
	ok(h.t, err)
	var all []sale.State
	for _, s := range st.Sales {
		all = append(all, s.State)
	}
	return all
}

// soakHold is how long a block waits at most for proofs that are due and not sent, because a
// proof may itself wait for a block. No block waits once as many are in flight as may be.
const (
	soakHold   = 2 * time.Second
	soakFlying = 16
)

// runUntil lets the chain run to a point of its time, about as fast as the host can
// follow: a block comes when the host has seen the one before, and its proofs that are
// due are on their way. A real chain leaves it 12 s for that.
func (h *host) runUntil(when time.Time) {
	ctx := h.t.Context()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	sent := sentProofs{h: h, keys: map[string]bool{}}
	for waited := time.Now(); h.w.now().Before(when); {
		long := time.Since(waited)
		if h.idle(ctx) && (long > soakHold || h.w.chain.Pending() >= soakFlying || sent.all()) {
			h.w.seal(1)
			waited = time.Now()
			continue
		}
		if long > patience {
			h.t.Fatalf("the host has been busy with block %d for %s\n%s", h.w.chain.Head().Number, patience, h.story())
		}
		<-tick.C
	}
}

// sentProofs follows which proofs were handed to the chain.
type sentProofs struct {
	h    *host
	next uint64
	keys map[string]bool // slot and period
}

// all reports whether a transaction was sent for every duty.
func (p *sentProofs) all() bool {
	from := events.ReadStream{From: p.next}
	for r, err := range p.h.store.ReadStream(p.h.t.Context(), events.TxStream(p.h.market.Account()), from) {
		if err != nil {
			break
		}
		p.next = r.Revision + 1
		m, err := catalog.Codec().Decode(r)
		ok(p.h.t, err)
		if e, isSent := m.(*messages.TxSent); isSent {
			parts := strings.SplitN(e.GetKey(), ":", 4) // proof:slot:period:which
			p.keys[strings.Join(parts[:min(3, len(parts))], ":")] = true
		}
	}
	for _, s := range p.h.sales() {
		for _, d := range s.Duties {
			if !p.keys[fmt.Sprintf("proof:%s:%d", s.Slot, d.Period)] {
				return false
			}
		}
	}
	return true
}
