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
	"github.com/hostnode/hostnode/events/sector"
)

// action is something that the host did to the world.
type action struct {
	kind   string
	slot   events.SlotID
	period uint64
	proof  events.Proof
	// sector and key are those of a step of a sector, whose kind is a call of its ports.
	sector uint64
	key    string
	// unanswered: at that time an append to the sale's stream had no answer yet.
	unanswered bool
}

// permitted reports whether the record had decided an action before it was done: nothing is
// sent before its event is stored. Duties are an exception while the store does not answer.
func (d action) permitted(st sale.State) bool {
	if d.unanswered && (d.kind == "extend" || d.kind == "proof" || d.kind == "repair") {
		return true
	}
	switch d.kind {
	case "reserve":
		return st.Phase == sale.SlotReserving
	case "piece":
		return st.Phase == sale.Downloading
	case "fill":
		return st.Phase == sale.Filling && st.Proof == d.proof
	case "repair":
		return st.Damaged()
	case "extend": // When the fill was reorganised away and back, twice.
		return st.Hosting()
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

// check checks what must hold after every step. All goroutines are parked.
func (s *simulator) check(ctx context.Context) error {
	s.world.mu.Lock()
	actions, wrong := s.world.actions, s.world.wrong
	s.world.actions = nil
	conserved := s.world.tip().state.conserved()
	s.world.mu.Unlock()
	if wrong = errors.Join(wrong, s.rules.broken()); wrong != nil {
		return wrong
	}
	if !conserved {
		return broken(TokensConserved, "the accounts do not add up to what was minted")
	}
	for _, d := range actions { // They are of this step: the record is still as it was before them.
		if d.ofSector() {
			if err := s.checkSectorAction(d); err != nil {
				return err
			}
			continue
		}
		if !s.acknowledged(events.SaleStream(me, d.slot)) {
			continue // The host acts by what it knows to be stored.
		}
		if st := s.audit.sales[d.slot]; !d.permitted(st) && !s.isLeftover(d, st) {
			return broken(StoredBeforeSent, "%s of slot %s while its sale is %s, attempt %d",
				d.kind, d.slot.Short(), st.Phase, st.Attempt)
		}
	}
	for _, d := range actions {
		if s.told && d.ofSector() {
			s.noteAnswer(d)
		}
	}
	s.told = false
	if err := s.checkLives(); err != nil {
		return err
	}
	before := s.audit.after
	s.audit.bounds = s.possible()
	if err := s.audit.readOn(ctx, s.view); err != nil {
		return err
	}
	if err := s.checkPolicy(actions); err != nil {
		return err
	}
	if s.audit.after != before {
		if err := as(StartFindsSales, s.checkLivingSales(ctx)); err != nil {
			return err
		}
	}
	if err := as(DiskIsLedger, s.checkDisk()); err != nil {
		return err
	}
	if err := as(DiskIsLedger, s.checkCopies()); err != nil {
		return err
	}
	if err := s.checkSectors(); err != nil {
		return err
	}
	s.noteDuties()
	if err := s.checkChances(); err != nil {
		return err
	}
	if s.steps%64 == 0 {
		if err := s.compareView(ctx); err != nil {
			return err
		}
	}
	if s.audit.after != before || s.steps%8 == 0 {
		return as(ReplayIsLive, s.checkLive(ctx))
	}
	return nil
}

// compareView: the live view equals one rebuilt from zero.
func (s *simulator) compareView(ctx context.Context) error {
	if s.view == nil || s.compared == s.audit.after {
		return nil
	}
	s.compared = s.audit.after
	return as(ViewIsRebuilt, s.view.Compare(ctx, s.store))
}

// checkLivingSales: a host that started now would find, from the newest snapshot and the events
// after it, exactly the sales that the whole record says are not over.
func (s *simulator) checkLivingSales(ctx context.Context) error {
	found, err := actors.LivingSales(ctx, busStore{s.store, s.world}, me)
	if err != nil {
		return err
	}
	if s.Plant.Forgetful && len(found) > 1 {
		found = found[1:]
	}
	want := map[events.SlotID]bool{}
	for slot, st := range s.audit.sales {
		if st.Phase != sale.Unknown && !st.Over() {
			want[slot] = true
		}
	}
	for _, slot := range found {
		if !want[slot] {
			return fmt.Errorf("a start would go on with slot %s, whose sale is %s", slot.Short(), s.audit.sales[slot].Phase)
		}
		delete(want, slot)
	}
	for slot := range want {
		return fmt.Errorf("a start would forget slot %s, whose sale is %s", slot.Short(), s.audit.sales[slot].Phase)
	}
	return nil
}

// checkDisk: what is on disk belongs to a living sale, and the ledger was debited before it was
// written.
func (s *simulator) checkDisk() error {
	s.world.mu.Lock()
	defer s.world.mu.Unlock()
	for _, slot := range sortedSlots(s.world.repo) {
		st, known := s.audit.sales[slot]
		r, open := s.audit.ledger.Reservation(capacity.ReservationIDOf(slot, st.Attempt))
		if !open { // The slot was lost, and is to be filled again with the data on disk.
			r, open = s.audit.ledger.Reservation(capacity.ReservationIDOf(slot, st.Attempt+1))
		}
		onDisk := s.world.repo[slot].bytes
		found := s.older != nil && s.older.leftovers[slot] // The record may be older.
		if !found && (!known || st.Settled || !open || r.Stored < onDisk) {
			return fmt.Errorf("slot %s has %d bytes on disk, the ledger knows of %d; its sale is %s",
				slot.Short(), onDisk, r.Stored, st.Phase)
		}
	}
	return nil
}

func compareSlots(a, b events.SlotID) int { return slices.Compare(a[:], b[:]) }

// sameAmounts compares amounts, which have unexported fields.
var sameAmounts = cmp.Options{
	cmp.Comparer(func(a, b events.Amount) bool { return a == b }), cmpopts.EquateEmpty(),
	cmpopts.IgnoreUnexported(sector.Info{}), // Its policy, which does not change in a run.
}

// difference says how two values differ; empty: they are equal. DeepEqual is tried first
// because the diff is slow.
func difference(replayed, live any) string {
	if reflect.DeepEqual(replayed, live) {
		return ""
	}
	return cmp.Diff(replayed, live, sameAmounts)
}

// acknowledged reports whether the host knows everything that a stream holds.
func (s *simulator) acknowledged(stream string) bool {
	s.world.mu.Lock()
	defer s.world.mu.Unlock()
	return !s.world.unanswered[stream]
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
	if owned := tip.state.owned(me); len(owned) > 0 { // An adopted slot may not be recorded yet.
		s.waits = "slot " + owned[0].Slot.Short() + " is ours on chain"
		return false, nil
	}
	if len(s.audit.queue.Taken()) > 0 || s.audit.ledger.Book().Quota == 0 && s.Members.Count == 0 {
		s.waits = fmt.Sprintf("%d slots are taken, the quota is %d", len(s.audit.queue.Taken()), s.audit.ledger.Book().Quota)
		return false, nil
	}
	if n := len(s.world.marked) - s.audit.marked; n > 0 {
		s.waits = fmt.Sprintf("%d markings are not in the record", n)
		return false, nil
	}
	if s.older != nil && s.older.held {
		s.waits = "an operator is to say that the host may sell on an older record"
		return false, nil
	}
	if n := len(s.audit.quarantined); n > 0 {
		s.waits, s.hurried = fmt.Sprintf("%d pieces of work are quarantined", n), true
		return false, nil
	}
	if s.Sectors.Begin > 0 && !s.sectorsOver(tip) {
		return false, nil
	}
	if s.Aggregation.Cars > 0 && !s.aggregationOver() {
		return false, nil
	}
	if s.Alerts && !s.alertsOver() {
		return false, nil
	}
	return true, s.atTheEnd(tip)
}

// atTheEnd checks the whole account: bytes, collateral, tokens and proofs.
func (s *simulator) atTheEnd(tip block) error {
	var errs []error
	complain := func(format string, args ...any) { errs = append(errs, broken(ReleasedOnce, format, args...)) }
	if n := len(s.world.repo); n > 0 {
		complain("%d slots are still on disk", n)
	}
	errs = append(errs, emptied(s.audit.ledger))
	if s.lastly != nil {
		errs = append(errs, s.lastly())
	}
	if err := s.audit.allReleased(); err != nil {
		errs = append(errs, as(ReleasedOnce, err))
	}
	// The account holds what it held at the beginning, plus what was earned, minus what was
	// lost, to the last token.
	want := s.tokens.Add(s.audit.reward).Add(s.audit.discount).Add(s.audit.marking)
	if have := tip.state.tokens[me].Add(s.audit.lost).Add(tip.state.provider.has()); have != want && s.older == nil { // An older record lacks some.
		errs = append(errs, broken(TokensAccounted,
			"the account began with %s, earned %s, %s of repair and %s of marking, lost %s, and holds %s",
			s.tokens, s.audit.reward, s.audit.discount, s.audit.marking, s.audit.lost, tip.state.tokens[me]))
	}
	errs = append(errs, s.nodesAtTheEnd(), s.alertsNow())
	errs = append(errs, s.sectorsAtTheEnd(tip)...)
	errs = append(errs, s.aggregationAtTheEnd()...)
	return errors.Join(append(errs, s.proofsAccountedFor(), s.proofsRecorded())...)
}

// emptied: a ledger holds nothing any more.
func emptied(ledger capacity.State) error {
	var errs []error
	if ledger.Book().Reserved+ledger.Book().Stored+ledger.Book().Overhead != 0 {
		errs = append(errs, broken(ReleasedOnce, "%d bytes reserved, %d stored, %d overhead are left in the ledger",
			ledger.Book().Reserved, ledger.Book().Stored, ledger.Book().Overhead))
	}
	for a := range ledger.Availabilities() {
		if !a.Committed.IsZero() {
			errs = append(errs, broken(ReleasedOnce, "%s of collateral is still committed", a.Committed))
		}
	}
	return errors.Join(errs...)
}

// proofsRecorded: each proof that the contract took is recorded as submitted, unless the duty
// lapsed before; and a host that had enough time missed nothing. A sale whose fill was not
// recorded when the request ended has no duties.
func (s *simulator) proofsRecorded() error {
	var errs []error
	whole := !s.forgot && s.older == nil
	for _, slot := range slices.SortedFunc(maps.Keys(s.world.proofs), compareSlots) {
		for _, t := range s.world.proofs[slot] {
			how := s.audit.closed[period{slot, t.Period}]
			if s.Members.Count > 0 && s.audit.unjudged[slot] {
				continue // Nobody answered who could have told, and the record says so.
			}
			counts := fakeMarket{s.world}.canonical(t.Receipt.Block) && whole && s.audit.proved[slot]
			if counts && how != "submitted" && how != "lapsed" {
				errs = append(errs, broken(ProofsAccounted,
					"the contract took a proof of slot %s for period %d, of which the record says %q",
					slot.Short(), t.Period, how))
			}
		}
	}
	for p, how := range s.audit.closed {
		if s.Punctual && how == "missed" {
			errs = append(errs, broken(NothingMissed, "the proof of slot %s for period %d was missed", p.slot.Short(), p.number))
		}
	}
	return errors.Join(errs...)
}

// proofsAccountedFor: every period in which the host saw that it owed a proof is closed in the
// record: by a proof, by a miss, or because the demand lapsed (the contract checks again when a
// miss is marked). A period for which the slot was slashed is closed by a miss.
func (s *simulator) proofsAccountedFor() error {
	var errs []error
	for p := range s.owed {
		how := s.audit.closed[p]
		tip := s.world.tip().state
		slashed := tip.slots[p.slot].missing[p.number]
		if end := tip.requestOf(tip.slots[p.slot]).endsAt; !slashed && how == "" &&
			end.Before(duty.End(tip.cfg.Proofs, p.number).Add(tip.cfg.Proofs.Timeout)) {
			continue // It ended with the request, before it could be marked.
		}
		if s.spoils(p.slot) && !slashed && how == "" {
			continue // It lapsed, and nobody could compute it while it was open.
		}
		if how == "" || slashed && how != "missed" && how != "lapsed" {
			errs = append(errs, broken(ProofsAccounted,
				"slot %s owed a proof for period %d, of which the record says %q; it was slashed for it: %t",
				p.slot.Short(), p.number, how, slashed))
		}
	}
	return errors.Join(errs...)
}
