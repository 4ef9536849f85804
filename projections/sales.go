package projections

import (
	"math/big"
	"slices"
	"sync/atomic"
	"time"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/sale"
	"github.com/hostnode/hostnode/messages"
)

// SalesView shows the sales of each host, one row for each attempt at a slot:
// first the settled ones, in the order in which they were settled, then the
// open ones in order of their slots.
type SalesView struct {
	AsOf  events.Position `json:"asOf"`
	Sales []Sale          `json:"sales"`
}

// Sale is one attempt at one slot. Points in time are of the chain.
type Sale struct {
	Host string `json:"host"`
	// Member sells it; empty: the host is one process.
	Member    events.Member `json:"member,omitempty"`
	Slot      string        `json:"slotId"`
	Request   string        `json:"requestId"`
	SlotIndex uint64        `json:"slotIndex"`
	Attempt   uint32        `json:"attempt"`
	Repair    bool          `json:"repair,omitempty"`
	Adopted   bool          `json:"adopted,omitempty"`

	Phase    string    `json:"phase"`
	Since    time.Time `json:"since"` // when it came into this phase
	WaitsFor string    `json:"waitsFor"`
	Over     bool      `json:"over"` // settled: nothing is left to do
	// Reason is why the sale ended, when it did not finish.
	Reason    string    `json:"reason,omitempty"`
	StartedAt time.Time `json:"startedAt"`
	ExpiresAt time.Time `json:"expiresAt,omitzero"`
	EndsAt    time.Time `json:"endsAt,omitzero"`
	FilledAt  time.Time `json:"filledAt,omitzero"`

	Availability string       `json:"availabilityId,omitempty"`
	Reservation  string       `json:"reservationId,omitempty"`
	SlotSize     events.Bytes `json:"slotSize"`
	Stored       events.Bytes `json:"storedBytes"`

	Proofs Proofs `json:"proofs"`
	// Damaged describes data that is damaged on disk and being fetched again; nil: none is.
	Damaged    *Damaged   `json:"damaged,omitempty"`
	Collateral Collateral `json:"collateral"`
	Reward     string     `json:"reward"`
	// RewardRecipient is who got the reward; empty: the host's account.
	RewardRecipient string `json:"rewardRecipient,omitempty"`
	// RepairReward is the discount on the collateral of a slot in repair; empty:
	// none.
	RepairReward string `json:"repairReward,omitempty"`
	// NetEarning is both rewards minus the lost collateral, in token base
	// units; it may be negative. It does not include fees, which are paid in
	// another coin.
	NetEarning string `json:"netEarning"`
	// FeesWei and GasUsed are the sums of all receipts of the attempt.
	FeesWei      string `json:"feesWei"`
	GasUsed      uint64 `json:"gasUsed"`
	Transactions int    `json:"transactions"`

	LastEvent Place `json:"lastEvent"`
}

// Damaged are the blocks of a slot that are damaged on disk.
type Damaged struct {
	Blocks []uint64 `json:"blocks"`
	Whole  bool     `json:"whole"` // it is not known which: all are looked at
}

// Proofs counts the periods in which a proof was owed. Due is the sum of the others.
type Proofs struct {
	Due       uint64 `json:"due"`
	Open      uint64 `json:"open"`
	Submitted uint64 `json:"submitted"`
	Missed    uint64 `json:"missed"`
	Excused   uint64 `json:"excused"`
	// Lapsed are those that were open when the request or the fill ended.
	Lapsed uint64 `json:"lapsed"`
}

// Collateral says what became of a sale's collateral, in token base units.
type Collateral struct {
	Committed string `json:"committed"` // by the ledger
	OnChain   string `json:"onChain"`   // what the contract holds now
	Slashed   string `json:"slashed"`   // as far as it was read from the contract
	Returned  string `json:"returned"`
	Lost      string `json:"lost"`
}

// Place is where an event stands in the record.
type Place struct {
	Type     string          `json:"type"`
	At       time.Time       `json:"at"`
	Revision uint64          `json:"revision"`
	Position events.Position `json:"position"`
}

type sales struct {
	Open    map[events.SlotID]*openSale
	Closed  []Sale        // rows are added and dropped, and never changed
	Ledgers []ProofLedger // of closed sales
	// inOrder are the open ones in the order in which they are shown; nil: not known. It is not saved.
	inOrder atomic.Pointer[[]*openSale]
}

// openSale is the core's fold of an attempt, with what the core does not keep.
type openSale struct {
	State     sale.State
	Member    events.Member
	StartedAt time.Time
	Since     time.Time
	Due       uint64
	Excused   uint64
	Lapsed    uint64
	Owing     owing
	Slashed   events.Amount
	Fees      events.Amount
	Gas       uint64
	Receipts  int
	// FillTx is the transaction of the last fill: after a reorganisation the
	// same transaction is mined again, but was paid for once.
	FillTx string
	// Returned and Lost are what the settlement says.
	Returned, Lost events.Amount
	RewardTo       string
	RepairReward   events.Amount
	RepairedAt     time.Time // of the fill with that reward
	Last           Place
	// shown is the row of the sale; nil: it is not made yet. It is not saved.
	shown atomic.Pointer[shownSale]
}

func (h *host) foldSale(r events.Recorded, e sale.Event) {
	_, slot, _ := events.ParseSaleStream(r.Stream)
	s := h.sales.Open[slot]
	if start, ok := e.(*messages.SaleStarted); ok {
		if s != nil { // It never settled; what is known of it stays to be seen.
			h.closeSale(slot, s)
		}
		s = &openSale{StartedAt: at(start), Member: events.Member(start.GetMember())}
		h.sales.open(slot, s)
	}
	if s == nil {
		s = &openSale{State: sale.State{Slot: slot}}
		h.sales.open(slot, s)
	}
	s.shown.Store(nil)
	before, repaired := s.State, s.RepairReward
	s.State = sale.Evolve(s.State, e)
	fee, c := s.count(before, e)
	s.Owing.fold(s.State, e, h.limits.ClosedPeriods)
	s.Last = Place{r.Type, at(e), r.Revision, r.Position}
	if s.State.Phase != before.Phase {
		h.tally.left(events.CategorySale, before.Phase.String(), s.Since, s.Last.At)
		s.Since = s.Last.At
	}
	if proof, ok := e.(*messages.ProofSubmitted); ok && proof.GetTookMilliseconds() > 0 { // Else it was found on chain.
		h.tally.Proofs = h.tally.Proofs.and(time.Duration(proof.GetTookMilliseconds()) * time.Millisecond)
	}
	h.earnings.foldSale(s.State, e, c)
	h.bookEvent(s, e, fee, repaired)
	h.foldPeriods(before, s.State, e)
	if s.State.Settled {
		h.closeSale(slot, s)
	}
}

func (all *sales) open(slot events.SlotID, s *openSale) {
	all.Open[slot] = s
	all.inOrder.Store(nil)
}

func (h *host) closeSale(slot events.SlotID, s *openSale) {
	h.sales.Closed, _ = recent(h.sales.Closed, s.row(h.address), h.limits.ClosedSales)
	if row, owes := s.proofs(h.address); owes {
		h.sales.Ledgers, _ = recent(h.sales.Ledgers, row, h.limits.ClosedProofs)
	}
	delete(h.sales.Open, slot)
	h.sales.inOrder.Store(nil)
}

// count updates what the core does not keep, and returns the cost of the
// event's transaction and the change of the duties.
func (s *openSale) count(before sale.State, e sale.Event) (fee events.Amount, c dutyCounts) {
	if m, ok := e.(interface{ GetReceipt() *messages.Receipt }); ok {
		fee = s.pay(e, m.GetReceipt())
	}
	switch e := e.(type) {
	case sale.Reading: // Also CollateralChecked, from before there was CollateralSlashed.
		s.Slashed = s.Slashed.AddSaturating(amount(e.GetSlashed()))
	case *messages.SlotFilled:
		if e.RepairReward != nil { // A fill that moved to another block took the same collateral.
			s.RepairReward = amount(e.GetRepairReward())
		}
	case *messages.FillReverted:
		s.RepairReward = events.Amount{}
	case *messages.PayoutReceived:
		s.RewardTo = e.GetRewardRecipient()
	case *messages.SaleSettled:
		s.Returned, s.Lost = amount(e.GetCollateralReturned()), amount(e.GetCollateralLost())
	}
	c = duties(before, s.State, e)
	s.Due, s.Excused, s.Lapsed = c.to(s.Due, s.Excused, s.Lapsed)
	return fee, c
}

// dutyCounts is by how much an event changed the counts of a sale's periods that the
// core does not keep.
type dutyCounts struct{ due, excused, lapsed uint64 }

// to adds the counts up.
func (c dutyCounts) to(due, excused, lapsed uint64) (uint64, uint64, uint64) {
	return due + c.due, excused + c.excused, lapsed + c.lapsed
}

// less is -1 in unsigned arithmetic.
const less = ^uint64(0)

// duties says how an event changed the duties of a sale. A period that is owed again,
// after it was excused or lapsed, is the same period: it counts once, by its last
// outcome.
func duties(before, after sale.State, e sale.Event) (c dutyCounts) {
	was, is := uint64(len(before.Duties)), uint64(len(after.Duties))
	switch e := e.(type) {
	case *messages.ProofDue:
		switch {
		case is <= was: // It is open, and its challenge moved.
		case before.Excused != 0 && before.Excused == e.GetPeriod():
			c.excused = less
		case slices.Contains(before.Lapsed, e.GetPeriod()):
			c.lapsed = less
		default:
			c.due = 1
		}
	case *messages.ProofExcused:
		c.excused = was - min(is, was)
	case *messages.ProofSubmitted, *messages.ProofMissed, *messages.SaleStarted:
	default:
		c.lapsed = was - min(is, was)
	}
	return c
}

func (s *openSale) pay(e sale.Event, r *messages.Receipt) (fee events.Amount) {
	if r == nil {
		return fee
	}
	if _, fill := e.(*messages.SlotFilled); fill {
		if s.FillTx == r.GetTxHash() {
			return fee
		}
		s.FillTx = r.GetTxHash()
	}
	fee = amount(r.GetFeeWei())
	s.Receipts++
	s.Gas += r.GetGasUsed()
	s.Fees = s.Fees.AddSaturating(fee)
	return fee
}

func (s *openSale) row(address string) Sale {
	st := s.State
	row := Sale{
		Host: address, Member: s.Member, Slot: st.Slot.String(), Request: st.Request.ID.String(), SlotIndex: st.Index,
		Attempt: st.Attempt, Repair: st.Repair, Adopted: st.Adopted,
		Phase: st.Phase.String(), Since: s.Since, WaitsFor: sale.Waiting(st), Over: st.Settled,
		Reason: st.Reason, StartedAt: s.StartedAt, ExpiresAt: st.ExpiresAt, EndsAt: st.EndsAt,
		FilledAt: st.FilledAt, SlotSize: st.Request.Ask.SlotSize, Stored: st.Stored,
		Proofs: s.proofCounts(), Collateral: s.collateral(), Reward: st.Reward.String(), RewardRecipient: s.RewardTo,
		FeesWei: s.Fees.String(), GasUsed: s.Gas, Transactions: s.Receipts, LastEvent: s.Last,
	}
	if !s.RepairReward.IsZero() {
		row.RepairReward = s.RepairReward.String()
	}
	row.NetEarning = netOf(amount(row.Collateral.Lost), st.Reward, s.RepairReward)
	if d := st.Damage; d.Any() {
		row.Damaged = &Damaged{append([]uint64{}, d.Blocks...), d.Whole}
	}
	if !st.Reservation.Zero() {
		row.Availability, row.Reservation = st.Availability.String(), st.Reservation.String()
	}
	return row
}

// netOf is what was earned without what was lost; it may be negative.
func netOf(lost events.Amount, earned ...events.Amount) string {
	total := new(big.Int).Neg(lost.Big())
	for _, amount := range earned {
		total.Add(total, amount.Big())
	}
	return total.String()
}

func (s *openSale) proofCounts() Proofs {
	return Proofs{
		Due: s.Due, Open: uint64(len(s.State.Duties)), Submitted: s.State.Submitted, Missed: s.State.Missed,
		Excused: s.Excused, Lapsed: s.Lapsed,
	}
}

func (s *openSale) collateral() Collateral {
	c := Collateral{
		Committed: s.State.Committed.String(), OnChain: "0", Slashed: s.Slashed.String(),
		Returned: s.State.Returned.String(), Lost: s.State.Lost.String(),
	}
	if s.State.OnChain {
		c.OnChain = s.State.Collateral.String()
	}
	if s.State.Settled {
		c.Returned, c.Lost = s.Returned.String(), s.Lost.String()
	}
	return c
}

// Sales is the view of the sales.
func (v *Views) Sales() SalesView { return SalesView{v.asOf, rows(v, (*host).sold)} }

// listedSales are the rows, shared.
func (h *host) listedSales() any {
	out := make([]*Sale, 0, len(h.sales.Closed)+len(h.sales.Open))
	for i := range h.sales.Closed {
		out = append(out, &h.sales.Closed[i])
	}
	for _, s := range h.sales.sorted() {
		out = append(out, &s.shownAs(h.address).Sale)
	}
	return out
}

func (h *host) sold(out []Sale) []Sale {
	out = append(out, h.sales.Closed...)
	for _, s := range h.sales.sorted() {
		out = append(out, s.shownAs(h.address).Sale)
	}
	return out
}
