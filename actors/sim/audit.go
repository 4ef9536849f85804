package sim

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/alert"
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/events/cargo"
	"github.com/hostnode/hostnode/events/catalog"
	"github.com/hostnode/hostnode/events/content"
	"github.com/hostnode/hostnode/events/deal"
	"github.com/hostnode/hostnode/events/downtime"
	"github.com/hostnode/hostnode/events/sale"
	"github.com/hostnode/hostnode/events/sector"
	"github.com/hostnode/hostnode/events/slotqueue"
	"github.com/hostnode/hostnode/messages"
)

// audit folds everything that is stored, with the cores alone and independent of the actors. It
// reads on from its last position, so that it can check after every step, and reports the first
// event that no correct host would have written.
type audit struct {
	store  events.Store
	codec  *events.Codec
	after  events.Position
	ledger capacity.State
	// ledgers are those of the members of a host; ledger is the one that is being judged.
	ledgers map[events.Member]capacity.State
	queue   slotqueue.State
	sales   map[events.SlotID]sale.State
	// sectors are by number.
	sectors map[uint64]sector.Info
	nodes   map[string]downtime.State // by stream
	// What is aggregated, and what is true of it.
	contents map[events.ContentLink]content.State
	cargo    cargo.State
	deals    map[string]deal.State // by aggregate
	freight  *freight
	alerts   alert.State
	bells    *bells
	// slot is a slot as the contract has it; nil: there is none.
	slot func(events.SlotID) *slot
	// recorded is where the last event of each sector is.
	recorded map[uint64]events.Position
	forced   map[uint64]bool // sectors that an operator forced into a state
	// overtaken are the keys of steps that ended without a result: by an order, or by what the chain has.
	overtaken map[string]bool

	created, released map[events.ReservationID]int
	// renewing is the reservation that must be made next: the bytes of the one before it were
	// released although the data is still there.
	renewing events.ReservationID
	closed   map[period]string      // the event that closed a duty
	proved   map[events.SlotID]bool // sales that have begun to prove
	// Sums over all attempts, settled or not.
	reward, lost, discount events.Amount
	// marking is what the validator earned; marked is for how many missing proofs.
	marking events.Amount
	marked  int
	cfg     events.MarketConfig
	// repairs are the fills at a discount, as the contract counts them: a slot that the host
	// found free may be lost, and in repair, before the host fills it.
	repairs map[fillKey]bool
	// quotas are the quotas given to the starts of the host, by the epoch from which they hold.
	quotas map[uint64]events.Bytes
	// quarantined is the work that is left alone, by subject.
	quarantined map[string]bool
	// wentBack checks what the host records about lost events; holds checks each event of its
	// queue.
	wentBack func(*messages.RecordWentBack) error
	holds    func(slotqueue.Event) error
	// judge looks at each event before it is folded.
	judge func(events.Recorded, proto.Message) error
	// unjudged are the slots whose end says that it is not known what was owed.
	unjudged map[events.SlotID]bool
	// bounds are what is possible in the record; nil: anything.
	bounds *bounds
}

// period is a period of one slot.
type period struct {
	slot   events.SlotID
	number uint64
}

func newAudit(store events.Store, cfg events.MarketConfig, queued int, repairs map[fillKey]bool) *audit {
	return &audit{
		store: store, codec: catalog.Codec(), cfg: cfg, repairs: repairs,
		ledger: capacity.New(), ledgers: map[events.Member]capacity.State{}, queue: slotqueue.New(slotqueue.Limits{MaxItems: queued}),
		sales: map[events.SlotID]sale.State{}, sectors: map[uint64]sector.Info{}, recorded: map[uint64]events.Position{}, forced: map[uint64]bool{},
		overtaken: map[string]bool{}, nodes: map[string]downtime.State{},
		contents: map[events.ContentLink]content.State{}, cargo: cargo.Empty(), deals: map[string]deal.State{},
		created: map[events.ReservationID]int{}, released: map[events.ReservationID]int{},
		closed: map[period]string{}, proved: map[events.SlotID]bool{}, unjudged: map[events.SlotID]bool{},
		quotas: map[uint64]events.Bytes{}, quarantined: map[string]bool{},
		wentBack: func(*messages.RecordWentBack) error { return nil },
		holds:    func(slotqueue.Event) error { return nil },
		judge:    func(events.Recorded, proto.Message) error { return nil },
	}
}

// readOn folds what was stored since the last look.
func (a *audit) readOn(ctx context.Context, view View) error {
	for e, err := range a.store.ReadAll(ctx, a.after, 0) {
		if err != nil {
			return err
		}
		a.after = e.Position
		if view != nil {
			view.Apply(e)
		}
		if !catalog.Streams().InRecord(e.Stream) { // Not part of the record.
			continue
		}
		m, err := a.codec.Decode(e)
		if err != nil {
			return err
		}
		if err := a.bounds.check(m); err != nil {
			return err
		}
		if err := a.judge(e, m); err != nil {
			return err
		}
		switch m := m.(type) {
		case sale.Event:
			err = a.onSale(e.Stream, m)
		case sector.Event:
			err = a.onSector(e, m)
		case downtime.Event:
			err = a.onNode(e.Stream, m)
		case alert.Event:
			err = a.onAlert(m)
		case content.Event:
			err = a.onContent(e.Stream, m)
		case cargo.Event:
			err = a.onCargo(m)
		case deal.Event:
			err = a.onDeal(e.Stream, m)
		case capacity.Event:
			err = a.onLedgerOf(e, m)
		case slotqueue.Event:
			a.queue = slotqueue.Evolve(a.queue, m)
			err = a.holds(m)
		case *messages.HostStarted:
			a.onStart(m)
		case *messages.RecordWentBack:
			err = a.wentBack(m)
		case *messages.WorkQuarantined:
			a.quarantined[m.GetKind()+":"+m.GetKey()] = true
		case *messages.QuarantineEnded:
			delete(a.quarantined, m.GetKind()+":"+m.GetKey())
		case *messages.ProofMarked:
			a.marked++
			a.marking = a.marking.Add(events.Must(events.ParseAmount(m.GetReward())))
		}
		if err != nil {
			return as(HistoryMakesSense, fmt.Errorf("%s at position %d: %w", e.Type, e.Position, err))
		}
	}
	return as(QueueIsInOrder, a.queue.Check()) // Between an event that queues slots and the evictions that follow, it may be too full.
}

// onLedgerOf folds an event of the ledger that its stream names.
func (a *audit) onLedgerOf(e events.Recorded, m capacity.Event) error {
	_, member, err := events.ParseLedgerStream(e.Stream)
	if err != nil || member == "" {
		return errors.Join(err, a.onLedger(e.Meta.Epoch, m))
	}
	whole := a.ledger
	a.ledger = a.ledgerOf(member)
	err = a.onLedger(e.Meta.Epoch, m)
	a.ledgers[member], a.ledger = a.ledger, whole
	return err
}

// ledgerOf is the ledger of a member; with the empty name that of the host.
func (a *audit) ledgerOf(member events.Member) capacity.State {
	if member == "" {
		return a.ledger
	}
	if l, known := a.ledgers[member]; known {
		return l
	}
	return capacity.New()
}

func (a *audit) onLedger(epoch uint64, m capacity.Event) error {
	renewing := a.renewing
	a.renewing = events.ReservationID{}
	created, ok := m.(*messages.ReservationCreated)
	if !renewing.Zero() && (!ok || created.GetReservationId() != renewing.String()) {
		return fmt.Errorf("bytes came back before their data was gone, and reservation %s was not made for it", renewing)
	}
	switch m := m.(type) {
	case *messages.ReservationCreated:
		id := events.Must(events.ParseReservationID(m.GetReservationId()))
		if a.created[id]++; a.created[id] > 1 {
			return broken(ReleasedOnce, "reservation %s was created %d times", id, a.created[id])
		}
		request := events.Must(events.ParseSlotID(m.GetSlotId()))
		if least := uint64(overhead(events.Bytes(m.GetBytes()))); m.GetOverhead() < least {
			return broken(DiskIsLedger, "slot %s has %d bytes for trees, it takes %d",
				request.Short(), m.GetOverhead(), least)
		}
		if err := a.inQuota(epoch, m, renewing == id); err != nil {
			return err
		}
	case *messages.ReservationDeleted:
		if err := a.onReleased(m); err != nil {
			return err
		}
	}
	a.ledger = capacity.Evolve(a.ledger, m)
	return as(LedgerBalances, a.ledger.Check())
}

// onReleased: bytes and collateral go back once, after the data is gone, as the sale accounts
// for them.
func (a *audit) onReleased(m *messages.ReservationDeleted) error {
	id := events.Must(events.ParseReservationID(m.GetReservationId()))
	r, open := a.ledger.Reservation(id)
	if a.released[id]++; a.released[id] > 1 || !open {
		return broken(ReleasedOnce, "reservation %s was released %d times, is open: %t", id, a.released[id], open)
	}
	st := a.sales[r.Slot]
	returned := events.Must(events.ParseAmount(m.GetCollateralReturned()))
	lost := events.Must(events.ParseAmount(m.GetCollateralLost()))
	a.lost = a.lost.Add(lost)
	_, want := st.Settlement()
	switch {
	case st.Attempt == r.Attempt && !st.Deleted && !st.OnChain && st.Refillable():
		a.renewing = capacity.ReservationIDOf(r.Slot, r.Attempt+1) // The data stays for the next attempt.
	case st.Attempt+1 == r.Attempt && st.Deleted && !st.OnChain && lost.IsZero() && returned == r.Collateral:
		// The next attempt at a lost slot never began: its reservation goes with the data.
	case st.Attempt != r.Attempt || !st.Deleted || st.OnChain:
		return fmt.Errorf("bytes of slot %s attempt %d came back before its data was gone (the sale is %s, attempt %d)",
			r.Slot.Short(), r.Attempt, st.Phase, st.Attempt)
	case lost != want || returned.Add(lost) != r.Collateral:
		return fmt.Errorf("slot %s settled with %s returned and %s lost of %s; the sale lost %s",
			r.Slot.Short(), returned, lost, r.Collateral, want)
	}
	return nil
}

func (a *audit) onSale(stream string, m sale.Event) error {
	_, slot, err := events.ParseSaleStream(stream)
	if err != nil {
		return err
	}
	before := a.sales[slot]
	after := sale.Evolve(before, m)
	a.sales[slot] = after
	if end, ok := m.(interface{ GetUnjudged() string }); ok && end.GetUnjudged() != "" {
		a.unjudged[slot] = true
	}
	switch m := m.(type) {
	case *messages.SaleStarted:
		if before.Phase != sale.Unknown && !before.Over() {
			return fmt.Errorf("attempt %d at slot %s began before attempt %d was settled",
				after.Attempt, slot.Short(), before.Attempt)
		}
	case *messages.DataLifetimeExtended:
		a.proved[slot] = true
	case *messages.ProofSubmitted:
		return a.close(before, m.GetPeriod(), "submitted")
	case *messages.ProofMissed:
		if m.GetReason() == "" {
			return fmt.Errorf("the proof of slot %s in period %d was missed without a reason", slot.Short(), m.GetPeriod())
		}
		return a.close(before, m.GetPeriod(), "missed")
	case *messages.ProofExcused:
		return a.close(before, m.GetPeriod(), "excused")
	case *messages.FillReverted, *messages.RequestEnded, *messages.SaleCancelled,
		*messages.SaleFailed, *messages.SlotForfeited:
		for _, d := range before.Duties {
			a.closed[period{slot, d.Period}] = "lapsed"
		}
	case *messages.SaleSettled:
		id := capacity.ReservationIDOf(slot, after.Attempt)
		if _, open := a.ledgerOf(after.Member).Reservation(id); open {
			return fmt.Errorf("slot %s attempt %d is settled, and its reservation is open", slot.Short(), after.Attempt)
		}
		a.reward = a.reward.Add(after.Reward)
		if a.repairs[fillKey{slot, after.Attempt}] && !after.Adopted && (after.Paid || !after.Lost.IsZero()) {
			a.discount = a.discount.Add(discount(a.cfg, after.Request.Ask))
		}
	}
	return nil
}

func (a *audit) close(before sale.State, number uint64, how string) error {
	for _, d := range before.Duties {
		if d.Period == number {
			a.closed[period{before.Slot, number}] = how
			return nil
		}
	}
	return fmt.Errorf("the proof of slot %s in period %d is %s, and was never due", before.Slot.Short(), number, how)
}

// allReleased: every reservation was released exactly once.
func (a *audit) allReleased() error {
	for id, n := range a.created {
		if a.released[id] != n {
			return fmt.Errorf("reservation %s was released %d times", id, a.released[id])
		}
	}
	return nil
}
