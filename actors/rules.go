package actors

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

// limits are the settings of what a host takes. Those without a word are described at Config.
type limits struct {
	MaxSlotsPerRequest  int
	MinFill             time.Duration
	MinWei              events.Amount
	WalletDays          uint64
	MaxCollateralAtRisk *events.Amount
	ProofLoad           uint64
	Proofs              int // that are made at once
	Quota               events.Bytes
	Overhead            func(slotSize events.Bytes) events.Bytes
	MayReserve          func(MayReserve) Permission
}

// rules say what a host takes, by its settings, the chain, and what it has to do already.
type rules struct {
	*chainview.Chain
	limits
	load *provingLoad // what proofs cost and how many are to be expected
	room *diskRoom    // what the disk has left
}

// newRules are those of a host that has nothing to do; keep is what stays free on the disk.
func newRules(c *chainview.Chain, l limits, keep events.Bytes) *rules {
	return &rules{c, l, newProvingLoad(), &diskRoom{DiskStatus: health.DiskStatus{Keep: keep}}}
}

// saleRefused says that a sale of a slot does not begin, and when that is worth another look.
type saleRefused struct {
	criterion, reason string
	requeue           bool
	retryAt           time.Time // zero: when something changes
}

// judgeFacts is what the chain's answer about the slot alone decides.
func (u *rules) judgeFacts(facts events.SlotFacts, start sale.Start) *saleRefused {
	switch {
	case facts.SlotState != events.SlotFree && facts.SlotState != events.SlotRepair:
		return &saleRefused{criterion: slotqueue.CriterionState, reason: fmt.Sprintf("the slot is %s", facts.SlotState)}
	case facts.RequestState.Over():
		return &saleRefused{
			criterion: slotqueue.CriterionState, reason: fmt.Sprintf("the request is %s", facts.RequestState),
		}
	}
	if why := u.noRoom(); why != "" {
		return &saleRefused{criterion: slotqueue.CriterionPeriod, reason: why, requeue: true}
	}
	last := facts.RequestExpiry
	if start.Repair {
		last = facts.RequestEnd
	}
	if left := last.Sub(facts.At.Time); left < u.minFill() {
		return &saleRefused{
			criterion: slotqueue.CriterionTime,
			reason:    fmt.Sprintf("%s are left to fill the slot, at least %s are needed", left, u.minFill()),
		}
	}
	may := u.mayReserve(start.Request, start.Index, start.Repair, start.ExpiresAt, start.EndsAt, facts.At.Time)
	if !may.Open(facts.At.Time) {
		return &saleRefused{
			criterion: slotqueue.CriterionDispersal, reason: may.Reason, requeue: true, retryAt: may.Opens,
		}
	}
	return nil
}

func (u *rules) mayReserve(r events.Request, index uint64, repair bool, expires, ends, now time.Time) Permission {
	return u.MayReserve(MayReserve{
		Host: u.Me, Slot: events.SlotIDOf(r.ID, index), Request: r, Repair: repair,
		ExpiresAt: expires, EndsAt: ends, MinFill: u.minFill(), Now: now,
	})
}

func (u *rules) minFill() time.Duration {
	if u.MinFill > 0 {
		return u.MinFill
	}
	return 2 * u.Terms.Proofs.Period
}

// askOf is what a slot asks of the ledger; it may add to what all sales have at
// stake together only within the host's bound.
func (u *rules) askOf(r events.Request, end time.Time) capacity.Ask {
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

// proofsWithin is how many proofs are to be expected in so many days, when so
// many are expected in a period (in parts of perProof); rounded up.
func (u *rules) proofsWithin(days, expected uint64) uint64 {
	period := uint64(max(1, u.Terms.Proofs.Period/time.Second))
	hi, lo := bits.Mul64(expected, days*uint64(24*time.Hour/time.Second))
	if divisor := period * perProof; hi < divisor {
		n, rest := bits.Div64(hi, lo, divisor)
		if rest > 0 && n < math.MaxUint64 {
			n++
		}
		return n
	}
	return math.MaxUint64
}

// slotsPerRequest caps how many slots of one request this host fills.
func (u *rules) slotsPerRequest(r events.Request) int {
	if u.MaxSlotsPerRequest > 0 {
		return u.MaxSlotsPerRequest
	}
	return int(min(max(r.Ask.MaxSlotLoss, 1), events.MaxSlots))
}
