package sale

import (
	"fmt"
	"slices"
)

// Phase is where a sale stands. The names are those of the network's own node,
// without their prefix. No rule may rest on the order of phases: a rule for
// several phases asks for their stage, and a test refuses <, > and the like.
type Phase uint8

// The phases: first those of a sale that goes well, in their order, then the
// exits. Unknown is a sale of which nothing is recorded. A replayed sale has
// the phase that its events lead to, and is then compared with the chain by
// ReportChain.
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

// Phases returns all phases.
func Phases() []Phase {
	all := make([]Phase, len(phaseNames))
	for i := range phaseNames {
		all[i] = Phase(i)
	}
	return all
}

func (p Phase) String() string { return phaseNames[p] }

// stage is a part of a sale's life. Rules speak of stages rather than of phases.
type stage uint8

const (
	unrecorded stage = iota
	gathering        // space, slot reservation and data are being obtained
	ready            // the data is here; the slot is not filled yet
	hosting          // the slot is ours and runs
	collecting       // the request has ended well; the payout is due
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
