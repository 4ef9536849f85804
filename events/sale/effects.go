package sale

import (
	"fmt"
	"slices"
	"time"

	"github.com/hostnode/hostnode/events"
)

// Effect is one call on the world that the state waits for. The same work has
// the same key, so that it is started only once. After a restart it is started
// again, and the adapter first asks whether it is done already.
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
	// ProveInitial waits until the challenge is stable and makes the proof for the fill.
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
	// Repair fetches damaged blocks again: the given ones or, with Whole, whatever a
	// check of all blocks finds.
	Repair struct {
		Attempt uint32
		Blocks  []uint64
		Whole   bool
		// Found counts how often damage had been found: further damage is new work.
		Found uint64
	}
	// ReadCollateral reads what the contract holds once a missed period can no
	// longer be marked.
	ReadCollateral struct{ Period uint64 }
	// Free has the contract let go of the slot: by a payout, or by dropping a failed one.
	Free struct{ Attempt uint32 }
	// DeleteData removes everything of the slot from the disk. WhenFinal: the chain
	// may still give the slot back to us, so the data is deleted only when it no
	// longer can.
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

// Key names the work; see Effect. A check of all blocks takes long, and goes on when
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

// IsDuty reports whether an effect is performed even while the event store does not accept the
// events that led to it: the proofs of a slot that is ours, and keeping its data and its
// soundness, without which there can be no proofs. Not doing them costs collateral; doing them
// twice does no harm. Every other effect commits the host to something, and waits until that
// is stored.
func IsDuty(e Effect) bool {
	switch e.(type) {
	case Extend, SubmitProof, Repair:
		return true
	case ReserveCapacity, ReserveSlot, Download, ProveInitial, Fill, ReadCollateral, Free, DeleteData, Settle:
		return false
	}
	panic(fmt.Sprintf("sale: unknown effect %T", e))
}

// TellsOfDuty reports whether a command says what became of the sale's duties
// or of its data. Such a command stays true whatever else is recorded
// meanwhile.
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
		if s.Damage.Any() && !s.Adopted { // No proof is owed yet: it waits until the data is sound.
			return append(s.repairs(), s.readings()...)
		}
		return slices.Concat([]Effect{ProveInitial{s.Attempt}}, s.repairs(), s.readings())
	case Filling:
		return slices.Concat([]Effect{Fill{s.Attempt, s.Challenge, s.Proof}}, s.repairs(), s.readings())
	case Filled, Proving, ProvingSimulated:
		return nextHosting(s)
	case Payout:
		return []Effect{Free{s.Attempt}}
	case Finished, Ignored, Cancelled, Failed, Errored:
		return nextEnd(s)
	}
	panic(fmt.Sprintf("sale: unknown phase %d", s.Phase))
}

// keepUntil is how long data is kept that is not hosted yet.
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
	if s.Phase == Filled { // A proof only reads: it does not wait for a disk that is full.
		effects = append(effects, Extend{s.Attempt, s.EndsAt})
	}
	return slices.Concat(effects, s.repairs(), s.readings())
}

// repairs are the calls that repair damage: of the blocks that are listed, and of
// those that a check of all blocks must find, which takes longer.
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

// readings are the calls that read what misses cost; before the fill, those of an adopted slot.
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
