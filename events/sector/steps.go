package sector

import (
	"fmt"
	"time"
)

// Step is a call on the world. What it needs in addition to its name is in the Info.
type Step string

// The steps.
const (
	StepOpenSpace       Step = "OpenSpace"       // the ledger holds space and deposit
	StepAddPiece        Step = "AddPiece"        // the first pending piece, at Offset
	StepPack            Step = "Pack"            // pending pieces, and zeros for the rest
	StepGetTicket       Step = "GetTicket"       // randomness of a past epoch
	StepPreCommit1      Step = "PreCommit1"      // first half of sealing
	StepPreCommit2      Step = "PreCommit2"      // second half: commitments
	StepSendPreCommit   Step = "SendPreCommit"   // the message, by its key
	StepWaitSeed        Step = "WaitSeed"        // for the message, then for the seed
	StepCommit          Step = "Commit"          // the proof, verified here
	StepSendCommit      Step = "SendCommit"      // the message with the proof, by its key
	StepWaitCommit      Step = "WaitCommit"      // for that message
	StepFinalize        Step = "Finalize"        // removes what only sealing needed
	StepReleaseScratch  Step = "ReleaseScratch"  // gives the scratch bytes back
	StepDiagnose        Step = "Diagnose"        // asks the world what became of a message
	StepDeclareFault    Step = "DeclareFault"    // the message
	StepWaitFault       Step = "WaitFault"       // for it
	StepRestore         Step = "Restore"         // makes the data sound again
	StepDeclareRecovery Step = "DeclareRecovery" // the message
	StepWaitRecovery    Step = "WaitRecovery"    // for the proof of the next window
	StepTerminate       Step = "Terminate"       // the message
	StepWaitTermination Step = "WaitTermination" // for it
	StepWaitFinality    Step = "WaitFinality"    // until no reorganisation can undo it
	StepRemove          Step = "Remove"          // all files
	StepReleaseSpace    Step = "ReleaseSpace"    // gives all bytes back, once no file is left
	StepSettle          Step = "Settle"          // waits until the contract has returned the deposit, and settles it
	StepWait            Step = "Wait"            // nothing, until a point in time
)

// Effect is one call on the world that the state waits for. The same attempt has the
// same key (a message keeps it until its outcome is known), and no other attempt of any
// sector of the host has it.
type Effect struct {
	Step Step
	key  string
	// Until is when a Wait is over.
	Until time.Time
}

// Key names the work; see Effect.
func (e Effect) Key() string { return e.key }

func keyOf(step Step, sector uint64, attempt uint32) string {
	return fmt.Sprintf("%s:%d:%d", step, sector, attempt)
}

// Next returns the calls that the state waits for: at most one. A restarted host replays
// the stream and asks again; an adapter first asks whether the work is done already.
func Next(s Info) []Effect {
	switch {
	case s.Parked():
		return nil
	case !s.Until.IsZero():
		return []Effect{{StepWait, fmt.Sprintf("%s:%d:%d", StepWait, s.Number, s.Until.UnixNano()), s.Until}}
	case s.Step.Key != "":
		return []Effect{{Step: s.Step.Name, key: s.Step.Key}}
	}
	return nil
}

// stepOf is the step of each state that has one; due refines it.
var stepOf = map[State]Step{
	WaitDeals:         StepAddPiece,
	AddPiece:          StepAddPiece,
	Packing:           StepPack,
	GetTicket:         StepGetTicket,
	PreCommit1:        StepPreCommit1,
	PreCommit2:        StepPreCommit2,
	PreCommitting:     StepSendPreCommit,
	WaitSeed:          StepWaitSeed,
	Committing:        StepCommit,
	CommitWait:        StepWaitCommit,
	FinalizeSector:    StepFinalize,
	PreCommitFailed:   StepDiagnose,
	CommitFailed:      StepDiagnose,
	Faulty:            StepDeclareFault,
	FaultReported:     StepWaitFault,
	FaultedFinal:      StepRestore,
	Recovering:        StepDeclareRecovery,
	RecoveryReported:  StepWaitRecovery,
	Terminating:       StepTerminate,
	TerminateWait:     StepWaitTermination,
	TerminateFinality: StepWaitFinality,
	Removing:          StepRemove,
}

// due returns the step that the state waits for; false: none.
func (s Info) due() (Step, bool) {
	step, ok := stepOf[s.State]
	switch {
	case s.State == Removed && !s.Released:
		return StepReleaseSpace, true
	case s.State == Removed && !s.Settled:
		return StepSettle, true
	case s.State == Proving && s.Scratch > 0 && !s.ScratchFreed:
		return StepReleaseScratch, true
	case (writes[step] || s.State == Empty) && !s.Opened, step == StepPreCommit1 && s.Scratch > 0 && s.ScratchFreed:
		return StepOpenSpace, true
	case step == StepAddPiece && len(s.Pending) == 0:
		return "", false
	case step == StepPreCommit1 && s.TicketValue.Zero():
		return StepGetTicket, true
	case step == StepCommit && s.Proof != "":
		return StepSendCommit, true
	}
	return step, ok
}

func (s Info) dueStep() Step {
	step, _ := s.due()
	return step
}

// writes are the steps that need space from the ledger for what they write.
var writes = map[Step]bool{
	StepAddPiece: true, StepPack: true, StepPreCommit1: true, StepPreCommit2: true, StepCommit: true,
}

// sends are the steps that send a message. If one was begun and its outcome is not known,
// it is tried again under its key, until the table or a diagnosis tells the outcome.
var sends = map[Step]bool{
	StepSendPreCommit: true, StepSendCommit: true, StepDeclareFault: true, StepDeclareRecovery: true,
	StepTerminate: true,
}

// need is what a step requires, even in a forced state.
type need struct {
	says  string
	unmet func(Info) bool
}

var (
	needPieces = need{"it is not packed: force Packing", func(s Info) bool { return end(s.Pieces) != s.Size }}
	needSpace  = need{"its space was given back: only a new sector has some", func(s Info) bool { return s.Released }}
	needTicket = need{"it has no ticket: force GetTicket", func(s Info) bool { return s.TicketValue.Zero() }}
	needOut    = need{
		"the first half of sealing is missing: force PreCommit1", func(s Info) bool { return s.PreCommit1Out == "" },
	}
	needComm = need{"it has no commitments: force PreCommit1", func(s Info) bool { return s.CommR.Zero() }}
	needSeed = need{"it has no seed: force WaitSeed", func(s Info) bool { return s.SeedValue.Zero() }}
	needEnd  = need{"no termination was sent: force Terminating", func(s Info) bool { return s.TerminateMsg.Zero() }}
)

var needs = map[Step][]need{
	StepOpenSpace:       {needSpace},
	StepAddPiece:        {needSpace},
	StepPack:            {needSpace},
	StepGetTicket:       {needSpace, needPieces},
	StepPreCommit1:      {needSpace, needPieces},
	StepPreCommit2:      {needSpace, needPieces, needTicket, needOut},
	StepSendPreCommit:   {needSpace, needTicket, needComm},
	StepWaitSeed:        {needComm},
	StepCommit:          {needSpace, needComm, needSeed},
	StepSendCommit:      {needSeed},
	StepWaitCommit:      {needSeed},
	StepFinalize:        {needSpace},
	StepDeclareFault:    {needComm},
	StepRestore:         {needSpace, needComm},
	StepDeclareRecovery: {needSpace, needComm},
	StepWaitTermination: {needEnd},
}
