package sale

import (
	"time"

	"github.com/hostnode/hostnode/events"
)

// State is everything that later decisions need, and nothing more.
type State struct {
	Phase     Phase
	Attempt   uint32
	Slot      events.SlotID
	Index     uint64
	Request   events.Request
	Repair    bool
	Adopted   bool
	BeganAt   time.Time     // chain time
	ExpiresAt time.Time     // chain time: an unfilled request is void after it
	EndsAt    time.Time     // chain time: the request is finished after it
	FailEvery uint32        // every how many proofs one is spoiled on purpose; 0: none is
	Member    events.Member // whose disk has the data; empty: the host is one process

	// What the ledger holds for the sale.
	Availability events.AvailabilityID
	Reservation  events.ReservationID
	Committed    events.Amount

	Stored    events.Bytes
	SlotRoot  events.Root
	Challenge events.Challenge // of the initial proof
	Proof     events.Proof     // the initial proof

	// What the contract holds. OnChain says that the slot is ours there.
	OnChain     bool
	FilledAt    time.Time // of a fill found on chain without its log: when the request was made
	FilledBlock uint64
	FilledHash  events.Hash // of FilledBlock; zero in old records
	Tried       bool        // a proof for the fill was made, so one may have been sent
	Collateral  events.Amount
	Started     bool // the request has all its slots

	Periods            // that opened a duty
	Duties    []Duty   // open, by period
	Excused   uint64   // the last excused period, which may owe a proof again; 0: none
	Lapsed    []uint64 // open when the hosting ended, and not reported since: owed again if that end is taken back
	DutyCount uint64   // how many periods opened a duty
	Unchecked []uint64 // missed periods whose cost has not been read yet
	Submitted uint64   // proofs that the contract took
	Missed    uint64   // proofs that were owed and not accepted

	Paid     bool // the payout arrived; Reward and Returned are final
	Reward   events.Amount
	Returned events.Amount // collateral that came back from the contract
	Lost     events.Amount // collateral that never will
	// Forfeited says that the contract took the slot from us.
	Forfeited bool
	Deleted   bool
	Settled   bool

	Damage Damage // of the data; none once it is deleted

	Refills uint32 // how many attempts in a row used the data of the one before

	Reprocess bool   // the slot may be queued again
	Reason    string // why the sale ended, when it did not finish
	Criterion string // which rule ended it; empty when none did
}

// Duty is a proof that is owed.
type Duty struct {
	Period    uint64
	Challenge events.Challenge
	Deadline  time.Time // chain time: the last second of the period
	Spoil     bool      // hand in an invalid proof; only to simulate failures
}

// Damage is what is known of damage to the stored slot.
type Damage struct {
	Blocks  []uint64  // ascending, at most MaxDamagedBlocks
	Whole   bool      // it is not known which blocks: all are checked
	Since   time.Time // chain time; zero: nothing is damaged
	FoundBy string    // what found the last damage, and what it saw
	Found   uint64    // how often damage was found in this attempt
}

// Any reports whether something is damaged.
func (d Damage) Any() bool { return d.Whole || len(d.Blocks) > 0 }

// Over reports whether the sale is settled, so that nothing is left to do.
func (s State) Over() bool { return s.Settled }

// Ended reports whether the sale is in one of its exits or Finished.
func (s State) Ended() bool { return s.Phase.in(leaving) }

// BeforeFill reports whether the sale runs and may still be given up.
func (s State) BeforeFill() bool { return s.Phase.in(gathering, ready) }

// Hosting reports whether the slot is ours and runs, so that it is proven.
func (s State) Hosting() bool { return s.Phase.in(hosting) }

// KeepsData reports whether the data is here and still needed, so that it must be sound.
func (s State) KeepsData() bool { return s.Phase.in(ready, hosting) }

// Damaged reports whether data that is needed is damaged.
func (s State) Damaged() bool { return s.KeepsData() && s.Damage.Any() }

// Owes reports whether the contract demands proofs of us: the slot is ours by the record,
// or it was when the attempt began and the data is not here yet.
func (s State) Owes() bool { return s.Hosting() || s.BeforeFill() && s.Adopted }

// HostedUntil is until when the slot owes proofs, as far as the record knows.
func (s State) HostedUntil() time.Time {
	if s.Started {
		return s.EndsAt
	}
	return s.ExpiresAt
}

// WakeAt is the chain time from which the chain must be asked about the slot,
// because the slot then changes state by the passing of time alone. Zero: it
// need not be asked.
func (s State) WakeAt() time.Time {
	switch {
	case s.BeforeFill() && !s.Repair, s.Hosting() && !s.Started:
		return s.ExpiresAt.Add(time.Second)
	case s.BeforeFill(), s.Hosting():
		return s.EndsAt.Add(time.Second)
	}
	return time.Time{}
}
