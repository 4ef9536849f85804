package sale

import (
	"fmt"
	"slices"
)

// Phase is where a sale stands. The names are those of the
// network's own node, without their prefix.
// Nothing may rest on the order of phases: what is true of several asks for
// their stage, and a test refuses <, > and their like.
type Phase uint8

// The phases, in the order of a good life, then the exits. Unknown is a sale
// of which nothing is recorded; a replayed sale keeps the phase of its record
// and is compared with the chain by ReportChain.
const (
	Unknown Phase = iota
	Preparing
	SlotReserving
	Downloading
	InitialProving
	Filling
	Filled
	Proving
	ProvingSimulated
	Payout
	Finished
	Ignored
	Cancelled
	Failed
	Errored
)

var phaseNames = [...]string{
	"Unknown", "Preparing", "SlotReserving", "Downloading", "InitialProving", "Filling",
	"Filled", "Proving", "ProvingSimulated", "Payout", "Finished", "Ignored", "Cancelled",
	"Failed", "Errored",
}

// Phases are all of them.
func Phases() []Phase {
	all := make([]Phase, len(phaseNames))
	for i := range phaseNames {
		all[i] = Phase(i)
	}
	return all
}

func (p Phase) String() string { return phaseNames[p] }

// stage is a part of a life. What the rules say of phases they say of stages.
type stage uint8

const (
	unrecorded stage = iota
	gathering        // space, reservation and data are to be had
	ready            // the data is here, and the fill is not
	hosting          // the slot is ours and runs
	collecting       // the request has ended well, and the payout is due
	leaving          // the sale is in one of its exits or Finished
)

func (p Phase) stage() stage {
	switch p {
	case Unknown:
		return unrecorded
	case Preparing, SlotReserving, Downloading:
		return gathering
	case InitialProving, Filling:
		return ready
	case Filled, Proving, ProvingSimulated:
		return hosting
	case Payout:
		return collecting
	case Finished, Ignored, Cancelled, Failed, Errored:
		return leaving
	}
	panic(fmt.Sprintf("sale: unknown phase %d", p))
}

func (p Phase) in(stages ...stage) bool { return slices.Contains(stages, p.stage()) }
