package sector

import (
	"fmt"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/messages"
)

// Table is how the events of a sector are stored. A stored name never changes; a
// change of meaning is a higher version.
func Table() []events.Entry {
	all := append(goodEvents(), failedEvents()...)
	return append(all, ownEvents()...)
}

const (
	exampleHash = "0xabababababababababababababababababababababababababababababababab"
	exampleHost = "0xcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcd"
	operator    = "operator"
)

var (
	exampleAt    = timestamppb.New(events.Unix(1_700_000_000))
	examplePiece = &messages.SectorPiece{Cid: "baga6ea4seaqa", Size: 1024, Payload: 1000}
)

func entry(example Event) events.Entry {
	return events.Entry{Name: NameOf(example), Version: 1, Example: example, Check: check}
}

func goodEvents() []events.Entry {
	at := exampleAt
	return []events.Entry{
		entry(&messages.SectorStart{
			At: at, Sector: 1, Provider: exampleHost, Size: 2048, By: operator,
			Pieces: []*messages.SectorPiece{examplePiece},
		}),
		entry(&messages.SectorStartEmpty{At: at, Sector: 1, Provider: exampleHost, Size: 2048, By: operator}),
		entry(&messages.SectorAddPiece{At: at, Piece: examplePiece, By: operator}),
		entry(&messages.SectorPieceAdded{At: at}),
		entry(&messages.SectorStartPacking{At: at, By: operator}),
		entry(&messages.SectorPacked{At: at, Fillers: []*messages.SectorPiece{{Cid: "baga6ea4seaqb", Size: 1024}}}),
		entry(&messages.SectorTicket{At: at, Value: exampleHash, Epoch: 300}),
		entry(&messages.SectorPreCommit1{At: at, Out: "0x0102"}),
		entry(&messages.SectorPreCommit2{
			At: at, CommD: exampleHash, CommR: exampleHash, Proves: proto.String(events.ProvesPossession),
		}),
		entry(&messages.SectorPreCommitted{At: at, Message: exampleHash}),
		entry(&messages.SectorSeedReady{At: at, Value: exampleHash, Epoch: 320}),
		entry(&messages.SectorProofReady{At: at, Proof: "0x0304"}),
		entry(&messages.SectorCommitted{At: at, Message: exampleHash}),
		entry(&messages.SectorProving{At: at}),
		entry(&messages.SectorFinalized{At: at}),
		entry(&messages.SectorFaulty{At: at, Reason: "leaf 7 is damaged"}),
		entry(&messages.SectorFaultReported{At: at, Message: exampleHash}),
		entry(&messages.SectorFaultedFinal{At: at}),
		entry(&messages.SectorRestored{At: at}),
		entry(&messages.SectorRecoveryDeclared{At: at, Message: exampleHash}),
		entry(&messages.SectorRecovered{At: at}),
		entry(&messages.SectorTerminating{At: at, Message: exampleHash}),
		entry(&messages.SectorTerminated{At: at}),
		entry(&messages.SectorRemoved{At: at}),
	}
}

func failedEvents() []events.Entry {
	at, why := exampleAt, "the disk is full"
	return []events.Entry{
		entry(&messages.SectorAddPieceFailed{At: at, Reason: why}),
		entry(&messages.SectorRetryWaitDeals{
			At: at, Dropped: proto.String("baga6ea4seaqz"), By: proto.String(operator),
		}),
		entry(&messages.SectorPackingFailed{At: at, Reason: why}),
		entry(&messages.SectorRetryPacking{At: at, By: operator, Dropped: proto.String("baga6ea4seaqz")}),
		entry(&messages.SectorOldTicket{At: at, Reason: "the ticket is of block 1"}),
		entry(&messages.SectorSealPreCommitFailed{At: at, Reason: why}),
		entry(&messages.SectorRetrySeal{At: at}),
		entry(&messages.SectorChainPreCommitFailed{At: at, Reason: "out of gas"}),
		entry(&messages.SectorRetryPreCommit{At: at}),
		entry(&messages.SectorRetryWaitSeed{At: at}),
		entry(&messages.SectorComputeProofFailed{At: at, Reason: why}),
		entry(&messages.SectorRetryComputeProof{At: at}),
		entry(&messages.SectorRetryInvalidProof{At: at}),
		entry(&messages.SectorCommitFailed{At: at, Reason: "out of gas"}),
		entry(&messages.SectorRetryCommitWait{At: at}),
		entry(&messages.SectorFinalizeFailed{At: at, Reason: why}),
		entry(&messages.SectorRetryFinalize{At: at}),
		entry(&messages.SectorTerminateFailed{At: at, Reason: "out of gas"}),
		entry(&messages.SectorRetryTerminate{At: at}),
		entry(&messages.SectorRemoveFailed{At: at, Reason: why}),
		entry(&messages.SectorRetryRemove{At: at}),
	}
}

func ownEvents() []events.Entry {
	at := exampleAt
	return []events.Entry{
		entry(&messages.SectorRestart{At: at, By: operator}),
		entry(&messages.SectorFatalError{At: at, Reason: "the sealer said no"}),
		entry(&messages.SectorForceState{
			At: at, State: string(PreCommit1), By: operator, Reason: "sealed on a bad disk",
		}),
		entry(&messages.SectorTerminate{At: at, By: operator, Reason: "the disk is old"}),
		entry(&messages.SectorRemove{At: at, By: operator, Reason: "never mind"}),
		entry(&messages.SectorOpened{
			At: at, Unsealed: 2048, Sealed: 2048, Tree: 4096, Scratch: 100, Deposit: "5000",
		}),
		entry(&messages.SectorReleased{At: at, Parts: []string{"scratch"}}),
		entry(&messages.SectorSettled{At: at, Returned: "4000", Lost: "1000"}),
		entry(&messages.SectorStepScheduled{
			At: at, Step: string(StepPack), Attempt: 1, Key: keyOf(StepPack, 1, 1),
		}),
		entry(&messages.SectorRetryScheduled{
			At: at, Step: string(StepPack), Reason: "the disk is full",
			Until: timestamppb.New(events.Unix(1_700_000_015)),
		}),
		entry(&messages.SectorParked{
			At: at, Reason: "failed 9 times: the disk is full", Actions: []string{"SectorRestart"},
		}),
		entry(&messages.SectorEventRefused{
			At: at, Event: "SectorPacked", By: "the sealer", Reason: "it is not allowed",
		}),
	}
}

// check validates what the schema cannot say.
func check(m proto.Message) error {
	if err := events.CheckMessage(m); err != nil {
		return err
	}
	if of, ok := m.(beginning); ok {
		if err := checkStart(of.GetSector(), events.Bytes(of.GetSize())); err != nil {
			return fmt.Errorf("%w: %w", events.ErrMalformed, err)
		}
	}
	switch e := m.(type) {
	case *messages.SectorRetryScheduled:
		if e.GetUntil() == nil {
			return fmt.Errorf("%w: a pause without an end", events.ErrMalformed)
		}
	case *messages.SectorOpened:
		for _, n := range []uint64{e.GetUnsealed(), e.GetSealed(), e.GetTree(), e.GetScratch()} {
			if most := uint64(1 << 60); n > most {
				return fmt.Errorf("%w: %d bytes, the most is %d", events.ErrMalformed, n, most)
			}
		}
	case *messages.SectorStepScheduled:
		if e.GetAttempt() == 0 || e.GetKey() == "" {
			return fmt.Errorf("%w: a step has an attempt from 1 and a key", events.ErrMalformed)
		}
	}
	return nil
}
