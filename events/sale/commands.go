package sale

import (
	"time"

	"github.com/hostnode/hostnode/events"
)

// Command asks the sale for something, or reports what the chain, the ledger or
// this machine answered. At is always chain time.
// Its events have the point in time when it was given.
//
//sumtype:decl
type Command interface{ given() time.Time }

type (
	// Start begins an attempt at a slot.
	Start struct {
		At        time.Time
		Slot      events.SlotID
		Index     uint64
		Request   events.Request
		Repair    bool
		Adopted   bool // the contract counts the slot as ours already
		ExpiresAt time.Time
		EndsAt    time.Time
		FailEvery uint32
		Member    events.Member // whose disk will have the data; empty: the host is one process
	}
	// ReportCapacity says that the ledger holds space and collateral for this attempt.
	ReportCapacity struct {
		At           time.Time
		Availability events.AvailabilityID
		Reservation  events.ReservationID
		Bytes        events.Bytes
		Collateral   events.Amount
	}
	// ReportNoCapacity says that the ledger refused. Criterion names the rule by which it did.
	ReportNoCapacity struct {
		At                time.Time
		Criterion, Reason string
	}
	// ReportSlotReserved says that the contract holds our slot reservation.
	ReportSlotReserved struct {
		At      time.Time
		Receipt events.Receipt
	}
	// ReportNotReservable says that the contract accepts no slot reservation from us.
	ReportNotReservable struct {
		At                time.Time
		Reason, Criterion string
	}
	// ReportStored says that the slot is complete on disk.
	ReportStored struct {
		At    time.Time
		Bytes events.Bytes
		Root  events.Root
	}
	// ReportInitialProof says that a proof for the fill was made and passed local verification.
	ReportInitialProof struct {
		At        time.Time
		Challenge events.Challenge
		Proof     events.Proof
		Took      time.Duration
	}
	// ReportProofOutdated says that the proof for this challenge can no longer be mined.
	ReportProofOutdated struct {
		At        time.Time
		Challenge events.Challenge
		Reason    string
	}
	// ReportFilled says that our fill was mined.
	ReportFilled struct {
		At   time.Time
		Fill events.Fill
	}
	// ReportNotFree says that our fill came too late.
	ReportNotFree struct {
		At     time.Time
		Reason string
	}
	// GiveUp ends a sale before its fill: because of an error that another try
	// cannot mend, or, with LetGo, because the host needs the worker for other
	// slots. Criterion names the rule that decided so, if one did.
	GiveUp struct {
		At        time.Time
		Reason    string
		LetGo     bool
		Reprocess bool
		Criterion string
	}
	// ReportExtended says that the data is kept until the end of the request.
	ReportExtended struct{ At, Until time.Time }
	// ReportProofDue says that a proof is owed in a period.
	ReportProofDue struct {
		At        time.Time
		Period    uint64
		Challenge events.Challenge
		Deadline  time.Time
	}
	// ReportProofSubmitted says that the contract took the proof of a period.
	ReportProofSubmitted struct {
		At      time.Time
		Period  uint64
		Took    time.Duration
		Receipt events.Receipt
	}
	// ReportProofExcused says that the challenge moved to one that demands no proof.
	ReportProofExcused struct {
		At     time.Time
		Period uint64
		Reason string
	}
	// ReportPeriodClosed says that a period is over; a duty that is still open in it is missed.
	ReportPeriodClosed struct {
		At     time.Time
		Period uint64
		Reason string
	}
	// ReportSilentPeriod says that a proof was owed in a period that is over by now,
	// and that nobody was watching while it ran.
	ReportSilentPeriod struct {
		At        time.Time
		Period    uint64
		Challenge events.Challenge
		Deadline  time.Time
		Reason    string
	}
	// ReportCollateral says what the contract holds once a missed period can no
	// longer be marked.
	ReportCollateral struct {
		At         time.Time
		Period     uint64
		Collateral events.Amount
	}
	// ReportDamaged says that blocks of the stored slot are damaged or missing. Whole: it
	// is not known which.
	ReportDamaged struct {
		At      time.Time
		Blocks  []uint64
		Whole   bool
		FoundBy string // and what it saw
	}
	// ReportRepaired says that blocks are sound. Whole: all of them were checked.
	ReportRepaired struct {
		At     time.Time
		Blocks []uint64
		Whole  bool
	}
	// ReportFreed says that the contract let go of our slot.
	ReportFreed struct {
		At     time.Time
		Payout events.PayoutReceipt
	}
	// ReportDeleted says that nothing of the slot is on disk.
	ReportDeleted struct{ At time.Time }
	// ReportSettled says that the ledger has its bytes and collateral back.
	ReportSettled struct{ At time.Time }
	// ReportChain carries what the chain says of the slot, at one block.
	ReportChain struct {
		Facts events.SlotFacts
		Me    events.Address
		// FinalBlocks is how many blocks make a fill final.
		FinalBlocks uint64
		// Fill is what the chain says of the block of the recorded fill. It is asked
		// for only when the recorded state and the chain differ, or when the fill is
		// not final yet.
		Fill FillStatus
		// Log is the block of the newest fill of the slot, from the log of that fill;
		// zero when there is no such log at hand.
		Log events.Head
		// Unjudged names the periods before the end, or the loss, for which it could
		// not be found out whether a proof was owed, and why; empty: there are none.
		// The other periods were reported before.
		Unjudged string
		// FillOnly: the slot was ours, and its fill and its end are found together. Only the
		// fill is recorded now, because what was owed in between comes before the end.
		FillOnly bool
	}
)

func (c Start) given() time.Time                { return c.At }
func (c ReportCapacity) given() time.Time       { return c.At }
func (c ReportNoCapacity) given() time.Time     { return c.At }
func (c ReportSlotReserved) given() time.Time   { return c.At }
func (c ReportNotReservable) given() time.Time  { return c.At }
func (c ReportStored) given() time.Time         { return c.At }
func (c ReportInitialProof) given() time.Time   { return c.At }
func (c ReportProofOutdated) given() time.Time  { return c.At }
func (c ReportFilled) given() time.Time         { return c.At }
func (c ReportNotFree) given() time.Time        { return c.At }
func (c GiveUp) given() time.Time               { return c.At }
func (c ReportExtended) given() time.Time       { return c.At }
func (c ReportProofDue) given() time.Time       { return c.At }
func (c ReportProofSubmitted) given() time.Time { return c.At }
func (c ReportProofExcused) given() time.Time   { return c.At }
func (c ReportPeriodClosed) given() time.Time   { return c.At }
func (c ReportSilentPeriod) given() time.Time   { return c.At }
func (c ReportCollateral) given() time.Time     { return c.At }
func (c ReportDamaged) given() time.Time        { return c.At }
func (c ReportRepaired) given() time.Time       { return c.At }
func (c ReportFreed) given() time.Time          { return c.At }
func (c ReportDeleted) given() time.Time        { return c.At }
func (c ReportSettled) given() time.Time        { return c.At }
func (c ReportChain) given() time.Time          { return c.Facts.At.Time }
