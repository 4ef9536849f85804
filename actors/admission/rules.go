package admission

import (
	"fmt"
	"math"
	"math/bits"
	"time"

	"github.com/hostnode/hostnode/actors/chainview"
	"github.com/hostnode/hostnode/actors/health"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/events/sale"
	"github.com/hostnode/hostnode/events/slotqueue"
)

// Limits are the settings that decide what a host takes; Config of package actors describes
// each.
type Limits struct {
	MaxSlotsPerRequest  int
	MinFill             time.Duration
	MinWei              events.Amount
	WalletDays          uint64
	MaxCollateralAtRisk *events.Amount
	ProofLoad           uint64
	Proofs              int // made at once
	Quota               events.Bytes
	Overhead            func(slotSize events.Bytes) events.Bytes
	MayReserve          func(MayReserve) Permission
}

// Rules say which slots a host takes, by its settings, the chain, and the work that it has
// already.
type Rules struct {
	*chainview.Chain
	Limits
	Load *Load     // how long proofs take and how many to expect
	Room *DiskRoom // what the disk has left
	// RemoteLoad is how many proofs to expect of the slots of other members.
	RemoteLoad *Load
}

// New returns the rules of a host without work; keep is how much of the disk must stay free.
func New(c *chainview.Chain, l Limits, keep events.Bytes) *Rules {
	return &Rules{
		Chain: c, Limits: l, Load: NewLoad(), RemoteLoad: NewLoad(),
		Room: &DiskRoom{DiskStatus: health.DiskStatus{Keep: keep}},
	}
}

// Refusal says why a sale of a slot does not begin, and when to judge the slot again.
type Refusal struct {
	Criterion, Reason string
	Requeue           bool
	RetryAt           time.Time // zero: when a criterion changes
}

// JudgeFacts judges a slot by the chain's answer alone.
func (u *Rules) JudgeFacts(facts events.SlotFacts, start sale.Start) *Refusal {
	switch {
	case facts.SlotState != events.SlotFree && facts.SlotState != events.SlotRepair:
		return &Refusal{Criterion: slotqueue.CriterionState, Reason: "the slot is " + facts.SlotState.String()}
	case facts.RequestState.Over():
		return &Refusal{Criterion: slotqueue.CriterionState, Reason: "the request is " + facts.RequestState.String()}
	}
	if why := u.NoRoom(); why != "" {
		return &Refusal{Criterion: slotqueue.CriterionPeriod, Reason: why, Requeue: true}
	}
	last := facts.RequestExpiry
	if start.Repair {
		last = facts.RequestEnd
	}
	if left := last.Sub(facts.At.Time); left < u.TimeToFill() {
		return &Refusal{
			Criterion: slotqueue.CriterionTime,
			Reason:    fmt.Sprintf("%s are left to fill the slot, at least %s are needed", left, u.TimeToFill()),
		}
	}
	may := u.Permits(start.Request, start.Index, start.Repair, start.ExpiresAt, start.EndsAt, facts.At.Time)
	if !may.Open(facts.At.Time) {
		return &Refusal{
			Criterion: slotqueue.CriterionDispersal, Reason: may.Reason, Requeue: true, RetryAt: may.Opens,
		}
	}
	return nil
}

// Permits asks the dispersal policy about a slot.
func (u *Rules) Permits(r events.Request, index uint64, repair bool, expires, ends, now time.Time) Permission {
	return u.MayReserve(MayReserve{
		Host: u.Me, Slot: events.SlotIDOf(r.ID, index), Request: r, Repair: repair,
		ExpiresAt: expires, EndsAt: ends, MinFill: u.TimeToFill(), Now: now,
	})
}

// TimeToFill is the chain time that must be left until the expiry for a slot to be taken.
func (u *Rules) TimeToFill() time.Duration {
	if u.MinFill > 0 {
		return u.MinFill
	}
	return 2 * u.Terms.Proofs.Period
}

// AskOf is what a slot asks of the ledger; MaxAtRisk keeps the collateral of all sales together
// within the host's bound.
func (u *Rules) AskOf(r events.Request, end time.Time) capacity.Ask {
	return capacity.Ask{
		SlotSize:              r.Ask.SlotSize,
		Duration:              r.Ask.Duration,
		PricePerBytePerSecond: r.Ask.PricePerBytePerSecond,
		CollateralPerByte:     r.Ask.CollateralPerByte,
		RequestEnd:            end,
		Overhead:              u.Overhead(r.Ask.SlotSize),
		MaxAtRisk:             u.MaxCollateralAtRisk,
		Quota:                 u.Quota,
	}
}

// ProofsWithin is how many proofs to expect in so many days, rounded up, if expected are due in
// a period (in parts of perProof).
func (u *Rules) ProofsWithin(days, expected uint64) uint64 {
	period := uint64(max(1, u.Terms.Proofs.Period/time.Second))
	hi, lo := bits.Mul64(expected, days*uint64(24*time.Hour/time.Second))
	if divisor := period * perProof; hi < divisor {
		n, rest := bits.Div64(hi, lo, divisor)
		return max(n, n+min(rest, 1)) // On overflow it is n.
	}
	return math.MaxUint64
}

// SlotsPerRequest caps how many slots of one request this host fills.
func (u *Rules) SlotsPerRequest(r events.Request) int {
	if u.MaxSlotsPerRequest > 0 {
		return u.MaxSlotsPerRequest
	}
	return int(min(max(r.Ask.MaxSlotLoss, 1), events.MaxSlots))
}
