package sim

import (
	"errors"
	"fmt"
)

// The invariants. Each is checked after every step unless it says otherwise, and for each a
// planted error breaks it (planted_test.go).
const (
	ReplayIsLive       = "replay gives the live state"
	EvolveAccepts      = "every event that Decide emits is accepted by Evolve"
	TwiceIsOnce        = "a command given twice changes nothing"
	FinishedRests      = "a finished sale wants no work"
	LedgerBalances     = "reserved never exceeds available"
	ReleasedOnce       = "every reservation is released exactly once" // and at the end of a run: was released
	StoredBeforeSent   = "nothing is sent before its event is stored"
	ProofsAccounted    = "no proof window closes without ProofSubmitted or ProofMissed"
	NothingMissed      = "a host with time enough misses no proof" // at the end
	ViewIsRebuilt      = "a view rebuilt from zero equals the live view"
	TokensAccounted    = "the tokens are those of the record" // at the end
	TokensConserved    = "no token appears or vanishes"
	FillAtExpiry       = "no fill at the expiry"
	FreedWhileFilled   = "no slot is freed while it runs"
	HostedDataIsKept   = "the data of a hosted slot is never deleted"
	DiskIsLedger       = "what is on disk is in the ledger"
	StartFindsSales    = "a start finds the sales that are not over"
	QueueIsInOrder     = "the queue keeps its order and its limits"
	HistoryMakesSense  = "the record tells a possible story"
	NothingQuarantined = "no sale is given up by the host"
	HostLives          = "a panic ends no host but one of the supervisor"
	NothingImpossible  = "nothing is recorded that cannot be"
	PolicyIsKept       = "the host keeps to what its operator allows"
	// Of sectors.
	KeyIsKept         = "a message keeps its key until it is known what became of it"
	SentOnce          = "no message is sent that is so already"
	ResultsAreKept    = "no step is done again whose result was told"
	NoneStandsStill   = "no sector stands still without a reason"
	SectorSpaceIsUsed = "what the ledger holds for sectors, living sectors have"
	DepositsAccounted = "the deposits are those of the contract" // at the end
	SectorsAreProven  = "a host with time enough proves each sector in its window"
	// Of nodes that are watched.
	NobodyIsAccused   = "no verdict counts a window in which the node was there"
	VerdictsAreInTime = "each verdict comes when the windows give it" // at the end
	// Of alerts.
	AlertsAreTold = "each channel is told once what needs a person" // and at the end: was told
	AlertsAreTrue = "an alert is open as long as its cause lasts"   // at the end
	// Of the pipeline from CARs to deals.
	PieceIsInOnePlace     = "each piece is in exactly one place"
	FirstInIsFirst        = "of the pieces that wait, those travel first that came first"
	GoodIsStored          = "what is good is approved in the end, and nothing else"
	NothingIsOfferedAgain = "no list is offered again that was rejected"
	DealsAreTrue          = "a deal is as the broker has it"
	// Of members.
	OneWriter     = "each stream has one writer at a time"
	HandedOutOnce = "a sale begins once for each time that its slot was handed out"
	PromisedOnce  = "no token is promised twice"
	// For a record that is older than its host.
	LossIsNamed     = "what an older record lacks is named"
	PausedAfterLoss = "on an older record nothing is sold until an operator wants it"
	// The promises of an event store, including everything between it and the host.
	AcknowledgedIsStored = "what is acknowledged is stored"
	AcknowledgedIsShown  = "a read shows what was acknowledged"
	OwnWritesStand       = "no process is refused for what it wrote itself"
)

// Invariants returns all invariants.
func Invariants() []string {
	return []string{
		ReplayIsLive, EvolveAccepts, TwiceIsOnce, FinishedRests, LedgerBalances, ReleasedOnce, StoredBeforeSent,
		ProofsAccounted, NothingMissed, ViewIsRebuilt, TokensAccounted, TokensConserved, FillAtExpiry,
		FreedWhileFilled, HostedDataIsKept, DiskIsLedger, StartFindsSales, QueueIsInOrder, HistoryMakesSense,
		NothingQuarantined, HostLives, NothingImpossible,
		PolicyIsKept, AcknowledgedIsStored, AcknowledgedIsShown, OwnWritesStand,
		LossIsNamed, PausedAfterLoss, OneWriter, HandedOutOnce, PromisedOnce,
		KeyIsKept, SentOnce, ResultsAreKept, NoneStandsStill, SectorSpaceIsUsed, DepositsAccounted, SectorsAreProven,
		NobodyIsAccused, VerdictsAreInTime, AlertsAreTold, AlertsAreTrue,
		PieceIsInOnePlace, FirstInIsFirst, GoodIsStored, NothingIsOfferedAgain, DealsAreTrue,
	}
}

// Broken is an invariant that did not hold.
type Broken struct {
	Invariant string
	How       error
}

func (b *Broken) Error() string { return fmt.Sprintf("%s: %v", b.Invariant, b.How) }

func (b *Broken) Unwrap() error { return b.How }

func broken(invariant, format string, args ...any) error {
	return &Broken{invariant, fmt.Errorf(format, args...)}
}

// as wraps an error as the violation of an invariant; nil stays nil.
func as(invariant string, err error) error {
	if err == nil {
		return nil
	}
	if _, named := errors.AsType[*Broken](err); named {
		return err
	}
	return &Broken{invariant, err}
}
