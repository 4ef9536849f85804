package sale

import (
	"fmt"
	"slices"
	"time"

	"github.com/hostnode/hostnode/events"
)

// Effect is one call on the world that the state waits for. Its key is the
// same as long as it is the same piece of work, so that the shell starts it
// once; after a restart it is started again, and the adapter asks first.
//
//sumtype:decl
type Effect interface {
	Key() string
	effect()
}

type (
	// ReserveCapacity asks the ledger for space and collateral.
	ReserveCapacity struct{ Attempt uint32 }
	// ReserveSlot asks the contract for a slot reservation.
	ReserveSlot struct{ Attempt uint32 }
	// Download fetches the slot and keeps it at least until Until.
	Download struct {
		Attempt uint32
		Until   time.Time
	}
	// ProveInitial waits for a stable challenge and proves it.
	ProveInitial struct{ Attempt uint32 }
	// Fill hands in the initial proof and the collateral.
	Fill struct {
		Attempt   uint32
		Challenge events.Challenge
		Proof     events.Proof
	}
	// Extend keeps data, manifest and trees until the end of the request.
	Extend struct {
		Attempt uint32
		Until   time.Time
	}
	// SubmitProof proves a duty and hands the proof in.
	SubmitProof struct{ Duty Duty }
	// Repair fetches damaged blocks again, those named or, with Whole, whichever are
	// found when all are looked at.
	Repair struct {
		Attempt uint32
		Blocks  []uint64
		Whole   bool
		// Found counts what was found before: more damage is new work.
		Found uint64
	}
	// ReadCollateral reads what the contract holds once a missed period can no
	// longer be marked.
	ReadCollateral struct{ Period uint64 }
	// Free makes the contract let go of the slot: paid out, or dropped.
	Free struct{ Attempt uint32 }
	// DeleteData removes everything of the slot from the disk. WhenFinal: the chain
	// may still make the slot ours, so it is asked again when it no longer can.
	DeleteData struct {
		Attempt   uint32
		WhenFinal bool
	}
	// Settle gives bytes and collateral back to the ledger.
	Settle struct {
		Attempt        uint32
		Returned, Lost events.Amount
	}
)

// Key names the work; see Effect.
func (e ReserveCapacity) Key() string { return fmt.Sprintf("reserve-capacity:%d", e.Attempt) }

// Key names the work; see Effect.
func (e ReserveSlot) Key() string { return fmt.Sprintf("reserve-slot:%d", e.Attempt) }

// Key names the work; see Effect.
func (e Download) Key() string { return fmt.Sprintf("download:%d", e.Attempt) }

// Key names the work; see Effect.
func (e ProveInitial) Key() string { return fmt.Sprintf("prove-initial:%d", e.Attempt) }

// Key names the work; see Effect. A new proof is new work.
func (e Fill) Key() string { return fmt.Sprintf("fill:%d:%s", e.Attempt, e.Challenge) }

// Key names the work; see Effect.
func (e Extend) Key() string { return fmt.Sprintf("extend:%d", e.Attempt) }

// Key names the work; see Effect. A moved challenge is new work.
func (e SubmitProof) Key() string {
	return fmt.Sprintf("submit-proof:%d:%s", e.Duty.Period, e.Duty.Challenge)
}

// Key names the work; see Effect. The look at all blocks takes long, and goes on when
// more damage is found meanwhile.
func (e Repair) Key() string {
	if e.Whole {
		return fmt.Sprintf("repair-whole:%d", e.Attempt)
	}
	return fmt.Sprintf("repair:%d:%d", e.Attempt, e.Found)
}

// Key names the work; see Effect.
func (e ReadCollateral) Key() string { return fmt.Sprintf("read-collateral:%d", e.Period) }

// Key names the work; see Effect.
func (e Free) Key() string { return fmt.Sprintf("free:%d", e.Attempt) }

// Key names the work; see Effect.
func (e DeleteData) Key() string { return fmt.Sprintf("delete-data:%d", e.Attempt) }

// Key names the work; see Effect.
func (e Settle) Key() string { return fmt.Sprintf("settle:%d", e.Attempt) }

func (ReserveCapacity) effect() {}
func (ReserveSlot) effect()     {}
func (Download) effect()        {}
func (ProveInitial) effect()    {}
func (Fill) effect()            {}
func (Extend) effect()          {}
func (SubmitProof) effect()     {}
func (Repair) effect()          {}
func (ReadCollateral) effect()  {}
func (Free) effect()            {}
func (DeleteData) effect()      {}
func (Settle) effect()          {}

// IsDuty names the effects that are due whether or not the record can take what
// led to them: the proofs of a slot that is ours, and keeping its data and keeping it
// sound, without which a sale does not come to prove. Missing them costs collateral, and doing
// them twice does no harm. Everything else commits the host to something, and
// waits until it is in the record.
func IsDuty(e Effect) bool {
	switch e.(type) {
	case Extend, SubmitProof, Repair:
		return true
	case ReserveCapacity, ReserveSlot, Download, ProveInitial, Fill, ReadCollateral, Free, DeleteData, Settle:
		return false
	}
	panic(fmt.Sprintf("sale: unknown effect %T", e))
}

// TellsOfDuty names the commands by which a sale learns what became of its
// duties and of its data. They stay true whatever else is recorded meanwhile.
func TellsOfDuty(c Command) bool {
	switch c.(type) {
	case ReportProofDue, ReportProofSubmitted, ReportProofExcused, ReportPeriodClosed, ReportSilentPeriod,
		ReportDamaged, ReportRepaired:
		return true
	case Start, ReportCapacity, ReportNoCapacity, ReportSlotReserved, ReportNotReservable, ReportStored,
		ReportInitialProof, ReportProofOutdated, ReportFilled, ReportNotFree, GiveUp, ReportExtended,
		ReportCollateral, ReportFreed, ReportDeleted, ReportSettled, ReportChain, Refill:
		return false
	}
	panic(fmt.Sprintf("sale: unknown command %T", c))
}

// Next returns the calls that the state waits for, most urgent first. A
// restarted host replays the record and asks Next again.
func Next(s State) []Effect {
	if s.Over() {
		return nil
	}
	switch s.Phase {
	case Unknown:
		return nil
	case Preparing:
		return append([]Effect{ReserveCapacity{s.Attempt}}, s.readings()...)
	case SlotReserving:
		return append([]Effect{ReserveSlot{s.Attempt}}, s.readings()...)
	case Downloading:
		return append([]Effect{Download{s.Attempt, s.keepUntil()}}, s.readings()...)
	case InitialProving:
		if s.Damage.Any() && !s.Adopted { // Nothing is owed: the proof waits until all is sound.
			return append(s.repairs(), s.readings()...)
		}
		return slices.Concat([]Effect{ProveInitial{s.Attempt}}, s.repairs(), s.readings())
	case Filling:
		return slices.Concat([]Effect{Fill{s.Attempt, s.Challenge, s.Proof}}, s.repairs(), s.readings())
	case Filled:
		return append([]Effect{Extend{s.Attempt, s.EndsAt}}, s.repairs()...)
	case Proving, ProvingSimulated:
		return nextHosting(s)
	case Payout:
		return []Effect{Free{s.Attempt}}
	case Finished, Ignored, Cancelled, Failed, Errored:
		return nextEnd(s)
	}
	panic(fmt.Sprintf("sale: unknown phase %d", s.Phase))
}

// keepUntil is the lifetime of data that is not hosted yet.
func (s State) keepUntil() time.Time {
	if s.Repair || s.Adopted {
		return s.EndsAt
	}
	return s.ExpiresAt
}

func nextHosting(s State) []Effect {
	effects := make([]Effect, 0, len(s.Duties)+len(s.Unchecked))
	for _, d := range s.Duties {
		effects = append(effects, SubmitProof{d})
	}
	return slices.Concat(effects, s.repairs(), s.readings())
}

// repairs mend what is damaged: the blocks that are known, and, which takes longer,
// those that are not.
func (s State) repairs() []Effect {
	var effects []Effect
	if len(s.Damage.Blocks) > 0 {
		effects = append(effects, Repair{Attempt: s.Attempt, Blocks: s.Damage.Blocks, Found: s.Damage.Found})
	}
	if s.Damage.Whole {
		effects = append(effects, Repair{Attempt: s.Attempt, Whole: true})
	}
	return effects
}

// readings are of what misses cost; before the fill, those of an adopted slot.
func (s State) readings() []Effect {
	effects := make([]Effect, len(s.Unchecked))
	for i, period := range s.Unchecked {
		effects[i] = ReadCollateral{period}
	}
	return effects
}

func nextEnd(s State) []Effect {
	switch {
	case s.OnChain:
		return []Effect{Free{s.Attempt}}
	case !s.Deleted:
		return []Effect{DeleteData{s.Attempt, s.mayReturn()}}
	}
	returned, lost := s.Settlement()
	return []Effect{Settle{s.Attempt, returned, lost}}
}
