package demo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/problem"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/requester"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/storage/dataset"
)

// Limits of a demonstration of a sale.
const (
	minSlots, maxSlots     = 3, 32
	minPeriods, maxPeriods = 1, 50
)

// saleDemo is a demonstration of a sale in progress.
type saleDemo struct {
	*engine
	request events.Request
	slots   []slotLog
	lines   int // of the logs since the request was posted
}

// slotLog is what the logs said of a slot.
type slotLog struct {
	by     *host
	filled bool
	proofs int // that the contract took
}

// Run runs the demonstration of a sale and returns its result. The error is nil only when the payout arrived and the
// audit is clean.
func Run(ctx context.Context, o Options) (Summary, error) {
	if err := o.check(); err != nil {
		return Summary{}, err
	}
	if err := o.begin(madeBytes, o.fits); err != nil {
		return Summary{}, err
	}
	s := newSale(o)
	if o.Kill != nil {
		s.killAt = func(line) bool { return s.lines > 0 && o.Kill(s.lines) }
	}
	return run(ctx, s.engine, s.summarize, s.prepare, s.start, s.offer, s.post, s.crashOnce, s.settle, s.stop)
}

func newSale(o Options) *saleDemo {
	s := &saleDemo{engine: newEngine(o), slots: make([]slotLog, o.Slots)}
	s.receive = s.showLine
	return s
}

func (o Options) check() error { return cmp.Or(o.limits(), o.refuseSettings(fixed)) }

func (o Options) limits() error {
	return cmp.Or(inRange("slots", o.Slots, minSlots, maxSlots), inRange("periods", o.Periods, minPeriods, maxPeriods))
}

// fits refuses a file whose slots need too much. The disk has to hold them twice: for the client, and for the host.
func (o Options) fits(fileBytes uint64) error {
	layout, err := dataset.NewLayout(fileBytes, requester.CodeOf(o.Slots))
	if err != nil {
		return err
	}
	return o.hasRoom("slots", fileBytes, uint64(layout.SlotSize())*uint64(layout.Slots()))
}

// prepare sets up everything but the host.
func (s *saleDemo) prepare(ctx context.Context) error {
	if err := s.engine.prepare(ctx, madeBytes, nil, s.code); err != nil {
		return err
	}
	s.display.say("Chain: development chain at block %d, marketplace %s", s.local.Head().Number, s.local.Marketplace)
	return s.client.serve()
}

// code makes the client's dataset, and the request for it.
func (s *saleDemo) code(ctx context.Context, file string) (price events.Amount, err error) {
	name := filepath.Base(file)
	s.client.dataset, err = prepare(ctx, file, filepath.Join(s.dir.Root, "client"), s.Slots,
		s.display.steps("Client: codes "+name))
	if err != nil {
		return price, err
	}
	layout := s.client.dataset.Layout()
	s.work = layout.SlotSize() * events.Bytes(layout.Slots())
	s.display.say("Client: %s is %d bytes; coded %d+%d into %d slots of %d bytes, dataset root %.18s...",
		name, layout.Size, layout.K, layout.M, layout.Slots(), layout.SlotSize(), s.client.dataset.MerkleRoot())
	s.request = s.client.request(s.Config.Devchain.Period, s.Periods)
	return requester.Price(s.request), nil
}

func (s *saleDemo) start(ctx context.Context) error {
	c := s.hostConfig(s.local.IPCPath(), s.local.Marketplace.String(), s.client.url)
	if err := s.addHost("", c); err != nil {
		return err
	}
	return s.engine.start(ctx, s.pace())
}

// offer puts space of each host on offer.
func (s *saleDemo) offer(ctx context.Context) error {
	size := s.request.Ask.SlotSize * events.Bytes(s.Slots)
	perSlot, _ := s.request.Ask.CollateralPerSlot()
	collateral, each := perSlot.MulSaturating(uint64(s.Slots)), ""
	for _, h := range s.hosts {
		err := s.until(ctx, h.title()+" takes an availability", func(ctx context.Context) (bool, error) {
			err := h.operator.offer(ctx, size, 2*s.request.Ask.Duration, collateral)
			if errors.Is(err, problem.ErrDemoRefused) {
				return false, err
			}
			return err == nil, nil
		})
		if err != nil {
			return err
		}
		if h.name != "" {
			each = " each,"
		}
	}
	s.display.say("Operator: one availability%s with room for %d bytes and %s of collateral",
		each, size, base(collateral))
	return nil
}

func (s *saleDemo) post(ctx context.Context) (err error) {
	if s.request.ID, err = s.client.post(ctx, s.request); err != nil {
		return err
	}
	s.display.say("Client: posted request %s: %s of storage for %s",
		s.request.ID.Short(), s.request.Ask.Duration, base(requester.Price(s.request)))
	return nil
}

// crashOnce kills the host when each slot is proven.
func (s *saleDemo) crashOnce(ctx context.Context) error {
	if !s.Crash || s.Kill != nil {
		return nil
	}
	err := s.until(ctx, "each slot is proven", func(ctx context.Context) (bool, error) {
		over, err := s.over(ctx)
		return over || s.eachProven(), err
	})
	if err != nil {
		return err
	}
	return s.crash(ctx, s.hosts[0])
}

// settle waits until the request is over and no sale is open.
func (s *saleDemo) settle(ctx context.Context) error {
	return s.until(ctx, "all sales are settled", func(ctx context.Context) (bool, error) {
		if over, err := s.over(ctx); err != nil || !over {
			return false, err
		}
		p, err := s.hosts[0].operator.progress(ctx)
		return err == nil && p.Head > 0 && p.Open == 0, nil // A host that does not answer is starting.
	})
}

// over reports whether the request is over.
func (s *saleDemo) over(ctx context.Context) (bool, error) {
	state, err := s.client.account.RequestState(ctx, s.request.ID)
	if err != nil {
		return false, fmt.Errorf("ask the chain about the request: %w", err)
	}
	if state == events.RequestNew && s.display.silent() {
		if p, err := s.progress(ctx); err == nil && p.Working {
			s.display.say("Host: fetches the slots and checks every block, %s of %s so far; chain time waits for it",
				p.Stored.Human(), events.Bytes(s.client.dataset.Layout().CodedSize()).Human())
		}
	}
	return state > events.RequestStarted, nil
}

// showLine shows a line of a host's log. Lines about sales begin with the slot.
func (s *saleDemo) showLine(_ context.Context, l line) error {
	if s.request.ID != (events.RequestID{}) {
		s.lines++
	}
	if l.Index == nil || *l.Index >= uint64(len(s.slots)) {
		s.complain(l)
		return nil
	}
	slot := &s.slots[*l.Index]
	slot.by, slot.filled = l.from, slot.filled || l.State == "Filled" || l.State == "Proving"
	if tookProof.MatchString(l.Msg) {
		slot.proofs++
	}
	s.display.is(*l.Index, l.State, slot.proofs)
	s.display.say("%sslot %d  %-15s %s", l.from.prefix(""), *l.Index, l.State, l.Msg)
	return nil
}

func (s *saleDemo) eachProven() bool {
	return !slices.ContainsFunc(s.slots, func(slot slotLog) bool { return slot.proofs == 0 })
}

// tookProof begins a line that says that the contract has a proof.
var tookProof = regexp.MustCompile("^The contract (took|had) the proof")

// proofsOf counts the proofs that the contract took from some of the hosts.
func (s *saleDemo) proofsOf(counts func(*host) bool) (n int) {
	for _, slot := range s.slots {
		if counts(slot.by) {
			n += slot.proofs
		}
	}
	return n
}
