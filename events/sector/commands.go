package sector

import (
	"time"

	"github.com/hostnode/hostnode/events"
)

// Command reports what happened, or wants something.
//
//sumtype:decl
type Command interface{ command() }

// News is what each command has: the machine's clock, and chance, which spreads pauses.
type News struct {
	At     time.Time
	Chance uint64
}

type (
	// Happened is an event of the table, or of the books (SectorOpened, SectorReleased,
	// SectorSettled). Key names the step whose result it is; empty for what is the result
	// of none, such as what an operator wants.
	Happened struct {
		News
		Event Event
		Key   string
		// By is who says so from outside: an operator, or a sealer that calls back.
		// Empty: a part of this host, which gets a refusal as an error.
		By string
	}
	// Away says that a step could not be tried, because what it needs is away: a chain
	// that does not answer, a sealer that is gone. It counts as no failure.
	Away struct {
		News
		Key    string
		Reason string
	}
	// Due says what time it is, for pauses.
	Due struct{ News }
	// ReportChain is what the chain says of the sector, at one block that is final
	// enough.
	ReportChain struct {
		News
		Facts Facts
	}
	// ReportDiagnosis is what the world says after a message failed.
	ReportDiagnosis struct {
		News
		Key     string
		Finding Finding
		Reason  string
	}
)

func (Happened) command()        {}
func (Away) command()            {}
func (Due) command()             {}
func (ReportChain) command()     {}
func (ReportDiagnosis) command() {}

// Facts are what the chain has of a sector.
type Facts = events.SectorFacts

// Finding is what a look at the world says of a failed message.
type Finding string

// The findings. In PreCommitFailed count BadSeal, Landed and NotThere; in CommitFailed
// all but NotThere, which is PreCommitGone there.
const (
	// BadSeal: what was sealed is of no use: a wrong commitment, or too old a ticket.
	BadSeal Finding = "bad seal"
	// Landed: the message did land, or is on its way.
	Landed Finding = "landed"
	// NotThere: the chain does not have it, and it may be sent again.
	NotThere Finding = "not there"
	// SeedChanged: the precommit stands, with another seed.
	SeedChanged Finding = "seed changed"
	// InvalidProof: the proof is not valid for what the chain has.
	InvalidProof Finding = "invalid proof"
	// PreCommitGone: the chain has no precommit any more.
	PreCommitGone Finding = "precommit gone"
)

// Findings are all of them.
func Findings() []Finding {
	return []Finding{BadSeal, Landed, NotThere, SeedChanged, InvalidProof, PreCommitGone}
}
