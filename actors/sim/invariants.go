package sim

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/hostnode/hostnode/actors"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/events/duty"
	"github.com/hostnode/hostnode/events/sale"
	"github.com/hostnode/hostnode/events/slotqueue"
)

// deed is something that the host did to the world.
type deed struct {
	kind   string
	slot   events.SlotID
	period uint64
	proof  events.Proof
}

// permitted reports whether the record had decided a deed before it was done:
// nothing is sent before its event is stored.
func (d deed) permitted(st sale.State) bool {
	switch d.kind {
	case "reserve":
		return st.Phase == sale.SlotReserving
	case "piece":
		return st.Phase == sale.Downloading
	case "fill":
		return st.Phase == sale.Filling && st.Proof == d.proof
	case "extend":
		return st.Phase == sale.Filled
	case "proof":
		return slices.ContainsFunc(st.Duties, func(o sale.Duty) bool {
			return o.Period == d.period && (o.Spoil || proofFor(d.slot, o.Challenge) == d.proof)
		})
	case "free":
		return st.OnChain && (st.Phase == sale.Payout || st.Phase == sale.Cancelled || st.Phase == sale.Failed)
	case "delete":
		return st.Ended() && !st.OnChain
	}
	return false
}

// check looks at what must hold after every step. All goroutines are parked.
func (s *simulator) check(ctx context.Context) error {
	s.world.mu.Lock()
	deeds := s.world.deeds
	s.world.deeds = nil
	s.world.mu.Unlock()
	for _, d := range deeds { // Of this step: the record is still as it was before it.
		if !s.heard(events.SaleStream(me, d.slot)) {
			continue // The host acts by what it knows to be stored.
		}
		if st := s.audit.sales[d.slot]; !d.permitted(st) {
			return fmt.Errorf("%s of slot %s while its sale is %s, attempt %d", d.kind, d.slot.Short(), st.Phase, st.Attempt)
		}
	}
	if err := s.audit.readOn(ctx); err != nil {
		return err
	}
	if err := s.checkDisk(); err != nil {
		return err
	}
	s.noteDuties()
	if s.steps%8 == 0 {
		return s.checkLive(ctx)
	}
	return nil
}

// checkDisk: what is on disk belongs to a living sale, and the ledger was
// debited before it was written.
func (s *simulator) checkDisk() error {
	s.world.mu.Lock()
	defer s.world.mu.Unlock()
	for _, slot := range slices.SortedFunc(maps.Keys(s.world.repo), compareSlots) {
		st, known := s.audit.sales[slot]
		r, open := s.audit.ledger.Reservation(capacity.ReservationIDOf(slot, st.Attempt))
		onDisk := s.world.repo[slot].bytes
		if !known || st.Settled || !open || r.Stored < onDisk {
			return fmt.Errorf("slot %s has %d bytes on disk, the ledger knows of %d; its sale is %s",
				slot.Short(), onDisk, r.Stored, st.Phase)
		}
	}
	return nil
}

func compareSlots(a, b events.SlotID) int { return slices.Compare(a[:], b[:]) }

// sameAmounts compares what has unexported fields.
var sameAmounts = cmp.Options{
	cmp.Comparer(func(a, b events.Amount) bool { return a == b }), cmpopts.EquateEmpty(),
}

// difference is what two values differ in, empty when they are the same. What
// is equal to the last pointer needs no closer, slower look.
func difference(replayed, live any) string {
	if reflect.DeepEqual(replayed, live) {
		return ""
	}
	return cmp.Diff(replayed, live, sameAmounts)
}

// checkLive: the replay of the record is the state of the running host. It
// looks only while no append is stored of which the host has not heard yet.
func (s *simulator) checkLive(ctx context.Context) error {
	h := s.running()
	if h == nil || s.stopping {
		return nil
	}
	status, err := h.Status(ctx)
	if err != nil || !status.Booted {
		return err
	}
	var ledger capacity.Snapshot
	if err := h.ViewLedger(ctx, func(st capacity.State) { ledger = st.Snapshot() }); err != nil {
		return err
	}
	var queue slotqueue.Snapshot
	if err := h.ViewQueue(ctx, func(st slotqueue.State) { queue = st.Snapshot() }); err != nil {
		return err
	}
	if s.heard(events.CapacityStream(me)) {
		if diff := difference(s.audit.ledger.Snapshot(), ledger); diff != "" {
			return fmt.Errorf("the ledger lives (+) otherwise than it replays (-):\n%s", diff)
		}
	}
	if s.heard(events.SlotQueueStream(me)) {
		if diff := difference(s.audit.queue.Snapshot(), queue); diff != "" {
			return fmt.Errorf("the queue lives (+) otherwise than it replays (-):\n%s", diff)
		}
	}
	return s.checkLiveSales(status)
}

func (s *simulator) checkLiveSales(status actors.Status) error {
	for _, live := range status.Sales {
		if live.Quarantined != "" {
			return fmt.Errorf("slot %s is quarantined: %s", live.State.Slot.Short(), live.Quarantined)
		}
		slot := live.State.Slot
		if live.State.Phase == sale.Unknown || !s.heard(events.SaleStream(me, slot)) {
			continue
		}
		if diff := difference(s.audit.sales[slot], live.State); diff != "" {
			return fmt.Errorf("slot %s lives (+) otherwise than it replays (-):\n%s", slot.Short(), diff)
		}
	}
	return nil
}

// heard reports whether the host knows everything that a stream holds.
func (s *simulator) heard(stream string) bool {
	s.world.mu.Lock()
	defer s.world.mu.Unlock()
	return !s.world.unheard[stream]
}

// noteDuties notes which periods demand a proof, by the contract's own rule, at
// a block that the host has just taken from the feed, when it had the hash that
// makes the challenge and its record said that it proves.
func (s *simulator) noteDuties() {
	up := s.running() != nil
	s.world.mu.Lock()
	defer s.world.mu.Unlock()
	tip, fresh := s.world.tip(), s.world.fresh
	s.world.fresh = false
	if !up || !fresh || s.world.reorgs > 0 || s.world.seen.Hash != tip.head.Hash {
		return // After a reorganisation a proof that counted may no longer count.
	}
	m, c := s.world.next(), tip.state
	number := m.period(c)
	for id, st := range s.audit.sales {
		known, _ := duty.ChallengeBlock(m.number, duty.Pointer(c.cfg.Proofs, id, m.number, number))
		if st.Phase != sale.Proving || s.world.unheard[events.SaleStream(me, id)] || !s.world.hashes[known] {
			continue
		}
		if c.required(m, c.slots[id], number) && !c.slots[id].received[number] {
			s.owed[period{id, number}] = true
		}
	}
}

// over reports whether all requests have ended and all sales are settled, and
// then checks what must hold at the end.
func (s *simulator) over() (bool, error) {
	s.waits = ""
	s.world.mu.Lock()
	defer s.world.mu.Unlock()
	tip := s.world.tip()
	for _, req := range tip.state.requests {
		if tip.state.requestState(req, tip.head.Time) <= events.RequestStarted {
			s.waits = "request " + req.ID.Short() + " runs"
			return false, nil
		}
	}
	for _, st := range s.audit.sales {
		if !st.Over() {
			s.waits = fmt.Sprintf("slot %s is %s and waits for %s", st.Slot.Short(), st.Phase, sale.Waiting(st))
			return false, nil
		}
	}
	for _, id := range tip.state.order { // An adopted slot may not be in the record yet.
		if sl := tip.state.slots[id]; sl.host == me && sl.state == events.SlotFilled && !sl.dropped {
			s.waits = "slot " + id.Short() + " is ours on chain"
			return false, nil
		}
	}
	if len(s.audit.queue.Taken()) > 0 || s.audit.ledger.Quota() == 0 {
		s.waits = fmt.Sprintf("%d slots are taken, the quota is %d", len(s.audit.queue.Taken()), s.audit.ledger.Quota())
		return false, nil
	}
	return true, s.atTheEnd(tip)
}

// atTheEnd checks the whole account: bytes, collateral, tokens, proofs.
func (s *simulator) atTheEnd(tip block) error {
	var errs []error
	complain := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if n := len(s.world.repo); n > 0 {
		complain("%d slots are still on disk", n)
	}
	ledger := s.audit.ledger
	if ledger.Reserved()+ledger.Stored()+ledger.Overhead() != 0 {
		complain("%d bytes reserved, %d stored, %d overhead are left in the ledger",
			ledger.Reserved(), ledger.Stored(), ledger.Overhead())
	}
	for a := range ledger.Availabilities() {
		if !a.Committed.IsZero() {
			complain("%s of collateral is still committed", a.Committed)
		}
	}
	if err := s.audit.allReleased(); err != nil {
		errs = append(errs, err)
	}
	// What the account holds is what it held, with what was earned and without
	// what was lost, to the last token.
	want := s.tokens.Add(s.audit.reward).Add(s.audit.discount)
	if have := tip.state.tokens[me].Add(s.audit.lost); have != want {
		complain("the account began with %s, earned %s and %s of repair, lost %s, and holds %s",
			s.tokens, s.audit.reward, s.audit.discount, s.audit.lost, tip.state.tokens[me])
	}
	return errors.Join(append(errs, s.proofsAccountedFor())...)
}

// proofsAccountedFor: every slash for a period in which the host saw that it
// owed a proof is in the record as a miss. (A demand that it saw may pass by
// itself: the contract asks again when the miss is marked.)
func (s *simulator) proofsAccountedFor() error {
	var errs []error
	for p := range s.owed {
		how := s.audit.closed[p]
		slashed := s.world.tip().state.slots[p.slot].missing[p.number]
		if slashed && how != "missed" && how != "lapsed" {
			errs = append(errs, fmt.Errorf("slot %s was slashed for period %d, of which the record says %q",
				p.slot.Short(), p.number, how))
		}
	}
	return errors.Join(errs...)
}
