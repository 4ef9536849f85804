package sector

import (
	"time"

	"github.com/hostnode/hostnode/events"
)

// Command reports what happened, or wants something.
//
//sumtype:decl
type Command interface{ command() }

// Inputs are part of every command: the time by the machine's clock, and a random number, which
// spreads pauses.
type Inputs struct {
	At     time.Time
	Chance uint64
}

type (
	// Happened reports an event of the table, or about the ledger (SectorOpened,
	// SectorReleased, SectorSettled). Key names the step whose result it is; empty if it
	// is not a step's result, such as an operator's wish. ErrNoKey where nothing else tells
	// a result from one that was told before.
	Happened struct {
		Inputs
		Event Event
		Key   string
		// By is who reports it from outside: an operator, or a sealer that calls
		// back. Empty: a part of this host, which is told of a refusal by an error.
		By string
	}
	// Away says that a step could not be tried, because a chain or a sealer that it
	// needs does not answer. It does not count as a failure.
	Away struct {
		Inputs
		Key    string
		Reason string
	}
	// Due tells the time to the pause that has this end; zero: to any pause. Where there is none, zero has a step
	// begun that is due and was not scheduled: the record was cut within a decision.
	Due struct {
		Inputs
		Until time.Time
	}
	// ReportChain is what the chain says of the sector, at one block that is final
	// enough.
	ReportChain struct {
		Inputs
		Facts Facts
	}
	// ReportDiagnosis is what was found out after a message failed.
	ReportDiagnosis struct {
		Inputs
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

// Finding is what was found out about a failed message.
type Finding string

// The findings. In PreCommitFailed count BadSeal, Landed and NotThere; in CommitFailed
// all but NotThere, which is PreCommitGone there.
const (
	// BadSeal: the result of sealing cannot be used: a wrong commitment, or too old a ticket.
	BadSeal Finding = "bad seal"
	// Landed: the message is on chain after all, or on its way.
	Landed Finding = "landed"
	// NotThere: the chain does not have the message, and it may be sent again.
	NotThere Finding = "not there"
	// SeedChanged: the precommit stands, with another seed.
	SeedChanged Finding = "seed changed"
	// InvalidProof: the proof is not valid for what the chain has.
	InvalidProof Finding = "invalid proof"
	// PreCommitGone: the chain has no precommit any more.
	PreCommitGone Finding = "precommit gone"
)
