package sale

import (
	"slices"

	"github.com/hostnode/hostnode/events"
)

// This file is the table of reconciliation: what follows from what the chain and the
// record say of a slot. It is used at a start and whenever the chain is asked later.
// It is data, so that it can be printed (docs/restart.md) and tested for completeness;
// decideChain (chain.go) looks its answer up here.

// Standing is a sale's situation by its record, as coarse as the table needs it.
type Standing uint8

// The standings. Every state has exactly one of them.
const (
	// Unrecorded: no attempt at the slot was ever recorded.
	Unrecorded Standing = iota
	// Over: the last attempt is settled.
	Over
	// Before: the sale runs, and by the record its slot is not ours.
	Before
	// Ours: the record says that we host the slot.
	Ours
	// GivenUp: the sale ended without a fill that stands, and is not settled yet.
	GivenUp
	// Collecting: the request has ended, and the contract still holds the collateral.
	Collecting
	// Ending: the contract has let go of the slot for good.
	Ending
)

func (s Standing) String() string {
	return [...]string{
		"not recorded", "settled", "before the fill", "hosting", "given up", "collecting", "ending",
	}[s]
}

// Whose says who holds the slot on chain.
type Whose uint8

// The holders of a slot.
const (
	Mine Whose = iota
	Anothers
	Nobodys
)

// FillStatus is what the chain says of the block in which the slot, by the record,
// became ours. A block number would not be enough: the loss of a fill may be
// noticed late, and a slot may be slashed early.
type FillStatus uint8

// The answers about the block of a fill.
const (
	// FillUnasked: nobody asked, or the record does not know the block.
	FillUnasked FillStatus = iota
	// FillStands: the block is on the chain, and so is the fill.
	FillStands
	// FillGone: the block is no longer on the chain.
	FillGone
)

func (f FillStatus) String() string { return [...]string{"not asked", "stands", "gone"}[f] }

// Outcome is what follows from one cell of the table.
type Outcome uint8

// The outcomes.
const (
	// Nothing: the sale goes on with what it was about to do.
	Nothing Outcome = iota
	// Adopt begins an attempt at a slot that the contract counts as ours.
	Adopt
	// FoundFilled records the fill; the sale hosts.
	FoundFilled
	// FoundEnded records the fill and the end of the request; the payout is due.
	FoundEnded
	// Continue: the sale goes on hosting. If the fill moved to another block, the
	// collateral became less or the request started, that is recorded.
	Continue
	// End records the end of the request; the payout is due.
	End
	// Resume undoes the end of the request: it runs, the slot is ours, and proofs are due again.
	Resume
	// Revert says that the chain took the fill back; the sale fills again.
	Revert
	// Forfeit says that the contract took the slot and its collateral from us.
	Forfeit
	// Ignore, Cancel and Fail end a sale before its fill.
	Ignore
	Cancel
	Fail
)

func (o Outcome) String() string {
	return [...]string{
		"nothing", "adopted", "SlotFilled", "SlotFilled, then the end", "goes on", "the end", "SlotFilled again",
		"FillReverted", "SlotForfeited", "SaleIgnored", "SaleCancelled", "SaleFailed",
	}[o]
}

// Cell is one cell of the table: everything that the answer depends on.
type Cell struct {
	Standing Standing
	Phase    Phase
	Adopted  bool // the sale began because the slot was ours
	Data     bool // the slot is complete on our disk
	Slot     events.SlotState
	Whose    Whose
	Known    bool // the contract knows the request
	Request  events.RequestState
	Fill     FillStatus
	Final    bool // the block of the fill, by its number, is final
}

// Maybe is a condition: either value will do, or it must hold, or it must not.
type Maybe uint8

// The conditions.
const (
	Either Maybe = iota
	Yes
	No
)

func (m Maybe) allows(is bool) bool { return m == Either || is == (m == Yes) }

// Rule is the answer for the cells that it matches. An empty list, and Either, match everything.
type Rule struct {
	Standing             []Standing
	Phase                []Phase
	Adopted, Data, Known Maybe
	Slot                 []events.SlotState
	Whose                []Whose
	Request              []events.RequestState
	Fill                 []FillStatus
	Final                Maybe

	Then Outcome
	Why  string
}

func (r Rule) matches(c Cell) bool {
	return among(r.Standing, c.Standing) && among(r.Phase, c.Phase) && among(r.Slot, c.Slot) &&
		among(r.Whose, c.Whose) && among(r.Request, c.Request) && among(r.Fill, c.Fill) &&
		r.Adopted.allows(c.Adopted) && r.Data.allows(c.Data) && r.Known.allows(c.Known) && r.Final.allows(c.Final)
}

func among[T comparable](list []T, v T) bool { return len(list) == 0 || slices.Contains(list, v) }

// Reconcile returns the answer for one cell: the first of Rules that matches. There
// is one for every cell.
func Reconcile(c Cell) Rule {
	for _, r := range rules {
		if r.matches(c) {
			return r
		}
	}
	return Rule{Why: "nothing is said of it"}
}

var (
	ended = []events.SlotState{events.SlotFinished, events.SlotPaid, events.SlotCancelled, events.SlotFailed}
	held  = []events.SlotState{
		events.SlotFree, events.SlotFilled, events.SlotFinished, events.SlotFailed, events.SlotCancelled,
		events.SlotRepair,
	}
	notMine = []Whose{Anothers, Nobodys}
)

var rules = []Rule{
	{
		Standing: []Standing{Unrecorded, Over}, Whose: []Whose{Mine}, Slot: held, Then: Adopt,
		Why: "the contract holds our collateral: the data is verified, or fetched again, and proven; " +
			"what has ended is freed",
	},
	{
		Standing: []Standing{Unrecorded, Over}, Then: Nothing,
		Why: "nothing of ours is there; the queue decides whether to take it",
	},
	{
		Standing: []Standing{Before, GivenUp}, Whose: []Whose{Mine}, Slot: []events.SlotState{events.SlotFilled},
		Data: Yes, Then: FoundFilled,
		Why: "the answer to our fill was lost, or a fill that was given up stands after all",
	},
	{
		Standing: []Standing{Before}, Whose: []Whose{Mine}, Slot: []events.SlotState{events.SlotFilled}, Then: Nothing,
		Why: "the data comes first: without it nothing can be proven",
	},
	{
		Standing: []Standing{GivenUp}, Whose: []Whose{Mine}, Slot: []events.SlotState{events.SlotFilled}, Then: Nothing,
		Why: "the data is gone; once this attempt is settled, the next one adopts the slot and fetches the data again",
	},
	{
		Standing: []Standing{Before, GivenUp}, Whose: []Whose{Mine}, Slot: ended, Then: FoundEnded,
		Why: "we filled it, and the request has ended since: the host collects what the contract holds",
	},
	{
		Standing: []Standing{Before, GivenUp}, Whose: []Whose{Mine}, Then: Nothing,
		Why: "a slot that is free or in repair has no host",
	},
	{
		Standing: []Standing{Before}, Adopted: Yes, Whose: notMine, Known: Yes,
		Slot: []events.SlotState{
			events.SlotFilled, events.SlotFinished, events.SlotFailed, events.SlotPaid, events.SlotCancelled,
			events.SlotRepair,
		},
		Then: Forfeit, Why: "the contract took it before the data was here",
	},
	{
		Standing: []Standing{Before}, Known: No, Then: Ignore,
		Why: "a reorganisation removed the request; if it comes back, it is queued again",
	},
	{
		Standing: []Standing{Before}, Phase: []Phase{Filling}, Slot: []events.SlotState{events.SlotFilled},
		Then: Nothing,
		Why:  "our own fill may be in flight, and only its outcome says who was first",
	},
	{
		Standing: []Standing{Before}, Slot: []events.SlotState{events.SlotFilled}, Then: Ignore,
		Why: "another host was faster",
	},
	{
		Standing: []Standing{Before}, Request: []events.RequestState{events.RequestCancelled}, Then: Cancel,
		Why: "the request expired before all its slots were filled",
	},
	{
		Standing: []Standing{Before}, Request: []events.RequestState{events.RequestFailed}, Then: Fail,
		Why: "too many slots of the request are empty",
	},
	{
		Standing: []Standing{Before}, Request: []events.RequestState{events.RequestFinished}, Then: Ignore,
		Why: "the request is over",
	},
	{
		Standing: []Standing{Before}, Then: Nothing,
		Why: "the slot can still be filled: the interrupted step is repeated, and makes use of what is already " +
			"on the contract and on disk",
	},
	{
		Standing: []Standing{Ours}, Whose: []Whose{Mine}, Slot: ended, Then: End,
		Why: "the request has ended, whether or not we noticed",
	},
	{
		Standing: []Standing{Ours}, Whose: []Whose{Mine}, Then: Continue,
		Why: "we host; the proofs that are due are sent",
	},
	{
		Standing: []Standing{Ours}, Known: No, Then: Revert,
		Why: "a reorganisation removed the request and our fill; the collateral came back with them",
	},
	{
		Standing: []Standing{Ours}, Slot: []events.SlotState{events.SlotFree}, Then: Revert,
		Why: "a slot that was filled is never Free again: our fill is not on this chain",
	},
	{
		Standing: []Standing{Ours}, Fill: []FillStatus{FillGone}, Then: Revert,
		Why: "the block of our fill is no longer on the chain, so the collateral is back",
	},
	{
		Standing: []Standing{Ours}, Fill: []FillStatus{FillStands}, Then: Forfeit,
		Why: "our fill is on the chain, and the slot is not ours: the contract took it",
	},
	{
		Standing: []Standing{Ours}, Final: No, Then: Revert,
		Why: "an old record does not name the block of the fill; it was recent, so a reorganisation dropped it",
	},
	{
		Standing: []Standing{Ours}, Then: Forfeit,
		Why: "an old record does not name the block of the fill; it was final, so the contract took the slot",
	},
	{
		Standing: []Standing{GivenUp}, Then: Nothing,
		Why: "nothing of ours is there; data and ledger are settled",
	},
	{
		Standing: []Standing{Collecting}, Whose: []Whose{Mine}, Slot: []events.SlotState{events.SlotFilled},
		Data: Yes, Then: Resume,
		Why: "a reorganisation removed the end: the request runs, and we prove our slot until the real end",
	},
	{
		Standing: []Standing{Collecting}, Whose: []Whose{Mine}, Then: Nothing,
		Why: "as soon as the end is final, the host collects what the contract holds",
	},
	{
		Standing: []Standing{Collecting}, Known: No, Then: Revert,
		Why: "a reorganisation removed the request and our fill; there is nothing to collect",
	},
	{
		Standing: []Standing{Collecting}, Slot: []events.SlotState{events.SlotFree}, Then: Revert,
		Why: "our fill is not on this chain, so there is nothing to collect; the sale ends with its request",
	},
	{
		Standing: []Standing{Collecting}, Fill: []FillStatus{FillGone}, Then: Revert,
		Why: "the block of our fill is gone, and the contract holds nothing of ours",
	},
	{
		Standing: []Standing{Collecting}, Fill: []FillStatus{FillStands}, Then: Forfeit,
		Why: "on the chain as it is now, the contract took the slot before the request ended",
	},
	{
		Standing: []Standing{Collecting}, Then: Nothing,
		Why: "an old record does not name the block of the fill, but has the end: the contract is asked again",
	},
	{
		Standing: []Standing{Ending}, Then: Nothing,
		Why: "the contract has let go of the slot; deletion and settlement follow",
	},
}

// standing returns the standing of a state.
func (s State) standing() Standing {
	switch {
	case s.Phase == Unknown:
		return Unrecorded
	case s.Over():
		return Over
	case s.BeforeFill():
		return Before
	case s.Hosting():
		return Ours
	case s.gaveUp():
		return GivenUp
	case s.Collecting():
		return Collecting
	}
	return Ending
}

// Collecting reports whether the request has ended and the contract still holds
// something for us: what it owes us, or a failed slot that it has to drop.
func (s State) Collecting() bool { return s.OnChain && s.Phase.in(collecting, leaving) }

// gaveUp reports whether, as far as we know, the sale ended without a fill that
// stands. That includes a forfeited slot: a reorganisation can give it back.
func (s State) gaveUp() bool {
	return s.Ended() && !s.OnChain && !s.Paid && (s.Forfeited || s.FilledBlock == 0 && s.Lost.IsZero())
}

// mayReturn reports whether a sale that ended may still turn out to host: its
// fill may have been sent, or the loss of the slot may be reorganised away.
func (s State) mayReturn() bool { return s.gaveUp() && (s.Forfeited || s.Tried) }

// cellOf returns the cell of the table that answers a report.
func cellOf(s State, c ReportChain) Cell {
	whose := Anothers
	switch f := c.Facts; {
	case !c.Me.Zero() && f.Host == c.Me:
		whose = Mine
	case f.Host.Zero():
		whose = Nobodys
	}
	return Cell{
		Standing: s.standing(), Phase: s.Phase, Adopted: s.Adopted, Data: s.Stored > 0 && !s.Deleted,
		Slot: c.Facts.SlotState, Whose: whose, Known: c.Facts.RequestKnown, Request: c.Facts.RequestState,
		Fill: c.Fill, Final: c.Facts.At.Number >= s.FilledBlock+c.FinalBlocks,
	}
}
