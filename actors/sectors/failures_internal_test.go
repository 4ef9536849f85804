package sectors

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/sector"
)

func TestWhatAFailureLeadsTo(t *testing.T) {
	other := errors.New("out of order")
	for _, c := range []struct {
		step sector.Step
		err  error
		want string
	}{
		{sector.StepAddPiece, other, "SectorAddPieceFailed"},
		{sector.StepAddPiece, events.ErrDiskFull, "SectorFatalError"},
		{sector.StepPack, other, "SectorFatalError"},
		{sector.StepPack, events.ErrPieceMismatch, "SectorPackingFailed"},
		{sector.StepPreCommit1, other, "SectorSealPreCommitFailed"},
		{sector.StepPreCommit1, events.ErrDiskFull, "SectorFatalError"},
		{sector.StepPreCommit2, events.ErrSectorDamaged, "SectorPackingFailed"},
		{sector.StepSendPreCommit, events.ErrTicketExpired, "SectorSealPreCommitFailed"},
		{sector.StepSendPreCommit, events.ErrReverted, "SectorChainPreCommitFailed"},
		{sector.StepSendPreCommit, events.ErrInsufficientFunds, "SectorFatalError"},
		{sector.StepSendPreCommit, events.ErrNumberUsed, "SectorFatalError"},
		{sector.StepWaitSeed, events.ErrSeedLost, "SectorChainPreCommitFailed"},
		{sector.StepCommit, events.ErrSealerLies, "SectorComputeProofFailed"},
		{sector.StepSendCommit, events.ErrInvalidProof, "SectorCommitFailed"},
		{sector.StepRestore, events.ErrNoSuchPiece, "SectorFatalError"},
		{sector.StepWaitRecovery, other, "SectorFaulty"},
		{sector.StepTerminate, events.ErrReverted, "SectorTerminateFailed"},
		{sector.StepRemove, other, "SectorRemoveFailed"},
		{sector.StepSettle, other, "SectorFatalError"},
	} {
		e := failed(c.step, time.Unix(1, 0), fmt.Errorf("%s: %w", strings.Repeat("x", 2*sector.MaxText), c.err))
		why := e.(interface{ GetReason() string }).GetReason()
		if got := sector.NameOf(e); got != c.want || len(why) != sector.MaxText {
			t.Errorf("%s, %v: %s with a reason of %d bytes", c.step, c.err, got, len(why))
		}
	}
}

// An error of the port is an outcome; every other error is no answer.
func TestWhatIsAway(t *testing.T) {
	for _, err := range []error{asked(errors.New("EOF")), asked(events.ErrTooEarly), events.ErrSealerAway, shell.ErrPartDown} {
		if !isAway(fmt.Errorf("call: %w", err)) {
			t.Errorf("%v is an answer", err)
		}
	}
	for _, err := range []error{nil, asked(nil), asked(events.ErrInvalidProof), asked(events.ErrNumberUsed), events.ErrDiskFull} {
		if isAway(err) {
			t.Errorf("%v is no answer", err)
		}
	}
}
