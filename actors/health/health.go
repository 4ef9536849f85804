// Package health says in words how a host stands.
//
// There is one function from what is known of a host to what it is called, Judge, so that
// the status, its readiness and the alerts cannot contradict each other. It is pure. Each
// cause is a row of the table in causes.go, and docs/alerts.md describes each alert.
package health

import (
	"time"

	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
)

// Stage is how far a host is between its start and its end.
type Stage uint8

// The stages. The zero one is that no host runs.
const (
	NotRunning Stage = iota
	Starting
	Running
	Stopping
	// NeverRun is that no host has run there, Silent that there is a process and nobody
	// hears from it.
	NeverRun
	Silent
)

// Facts are what is known of a host, as far as it decides what the host is called. What
// is not known is zero, which is no cause.
type Facts struct {
	// Stage is how far the host is, since StageSince; WaitsFor is what a start does that
	// takes its time, as a sentence.
	Stage      Stage
	StageSince time.Time
	WaitsFor   string
	// Process is the one that is silent; 0: unknown. Listens: it takes questions, so it
	// neither starts nor stops.
	Process int
	Listens bool
	// Account, DataDir and Endpoint are for the hints.
	Account, DataDir, Endpoint string
	// Hosting is how many slots are hosted: each of them may owe a proof.
	Hosting int
	// Quarantined are hosted slots, or slots in work, whose sale cannot be run, and
	// ProofTrouble hosted ones whose proofs do not get through.
	Quarantined, ProofTrouble []SlotTrouble
	// Views says why the views follow the record no more; empty: they do.
	Views string

	Chain  ChainFacts
	Record shell.RecordStatus
	// Outage is what is proven while the start waits for the event store.
	Outage OutageFacts
	Disk   DiskStatus
	// Down are the parts of the host that do not run.
	Down   []PartStatus
	Supply Supply
	Funds  Funds
	Prover ProverFacts
}

// SlotTrouble is what is wrong with a slot.
type SlotTrouble struct {
	Slot   events.SlotID
	Reason string
}

// ChainFacts are what is known of the chain.
type ChainFacts struct {
	// Away says that no endpoint answers, since AwaySince if that is known.
	Away       bool
	AwaySince  time.Time
	AwayReason string
	// SilentSince is when the newest block came, by the machine's clock, if none has
	// come for longer than it should; Head is that block.
	SilentSince time.Time
	Head        events.Head
	// Behind says that the host reads what the chain said before.
	Behind bool
	// FeeLimit says how the limit on fees holds up transactions.
	FeeLimit string
	// NoRoom says why blocks are too far apart for a proof in a period; empty: they are not.
	NoRoom string
}

// OutageFacts are what a host proves whose start waits for its event store.
type OutageFacts struct {
	// Proves says that it does, Nothing why it does not; neither: it has not come so far.
	Proves  bool
	Nothing string
	// Slots are those that it proves, Proofs how many proofs of them it has handed in.
	Slots, Proofs int
	// Trouble are slots whose proofs cannot be made, or do not get through.
	Trouble []SlotTrouble
}

// Supply is what the host has to sell.
type Supply struct {
	// Unknown says that it is not known what there is.
	Unknown bool
	// Now is the time of the market, by which offers end.
	Now    time.Time
	Offers []Offered
	// Quota is what the host was given, Allocated what availabilities and sales have.
	Quota, Allocated events.Bytes
	// Paused says that the operator sells nothing, and PausedFor why.
	Paused    bool
	PausedFor string
	// AtRisk is the collateral of all sales, MaxAtRisk its bound; nil: none.
	AtRisk    events.Amount
	MaxAtRisk *events.Amount
}

// Offered is an availability.
type Offered struct {
	Enabled   bool
	Until     time.Time // zero: no end
	Free      events.Bytes
	Remaining events.Amount // of its collateral
}

// Funds are what the account holds and what must be in it.
type Funds struct {
	Known   bool
	Balance events.Balance
	// MinWei is the least that must be there for gas when a slot is taken, and Proofs
	// how many proofs are to be paid within Days.
	MinWei       events.Amount
	Days, Proofs uint64
	// Unpaid is the collateral that sales in work have not paid yet.
	Unpaid events.Amount
}

// ProverFacts are how busy the prover is, and may be, in percent of the time; rounded
// down.
type ProverFacts struct {
	Busy, Most uint64
	Slots      int
}

// Answer to a question about a host.
type Answer uint8

// The answers. That something is not known is an answer of its own.
const (
	Yes Answer = iota
	No
	NotKnown
)

func (a Answer) String() string { return [...]string{"yes", "no", "unknown"}[a] }

// Cause is why a host does not do what it is there for.
type Cause struct {
	// Code never changes; programs may compare it.
	Code string
	// Selling and Proving are what the host does because of it: Yes where it does not
	// touch that.
	Selling, Proving Answer
	// Alert is how a person is told of it when it lasts; empty: nobody is called.
	Alert AlertKind
	// Reason says what is so, and since when if that is known; Hint what to do.
	Reason, Hint string
}

// Words are what a host is called.
type Words struct {
	// Selling says whether it takes slots that are offered and match, Proving whether
	// the proofs that it owes are made and sent; a host without slots owes none.
	Selling, Proving Answer
	// Causes are all that is in the way, in the order in which they would have to be
	// put right.
	Causes []Cause
}

// Judge says how a host stands.
func Judge(f Facts) Words {
	var w Words
	for _, row := range causes {
		reason, hint := row.look(f)
		if reason == "" {
			continue
		}
		c := Cause{row.code, row.selling, row.proving, row.alert, reason, hint}
		if f.owesNothing() {
			c.Proving = Yes
		}
		if c.Selling == Yes && c.Proving == Yes {
			continue
		}
		w.Causes = append(w.Causes, c)
		w.Selling, w.Proving = worse(w.Selling, c.Selling), worse(w.Proving, c.Proving)
	}
	return w
}

// owesNothing: there is no slot that may owe a proof. Without a record nobody knows.
func (f Facts) owesNothing() bool {
	return f.Hosting == 0 && len(f.Quarantined) == 0 && f.Outage.Nothing == ""
}

// worse is the answer when there are two causes: who surely does not is not unknown.
func worse(a, b Answer) Answer {
	if a == No || b == No {
		return No
	}
	return max(a, b)
}

// CauseCodes are the codes of all causes, in the order of the table.
func CauseCodes() []string {
	var codes []string
	for _, row := range causes {
		codes = append(codes, row.code)
	}
	return codes
}

// CauseOf says one cause in the words that the status has for it; false: it is not so.
func CauseOf(code string, f Facts) (Cause, bool) {
	for _, row := range causes {
		if row.code == code {
			reason, hint := row.look(f)
			return Cause{row.code, row.selling, row.proving, row.alert, reason, hint}, reason != ""
		}
	}
	return Cause{}, false
}

// DiskStatus is how much room the host's disk has.
type DiskStatus struct {
	// Full says that nothing is taken for want of room, since when by the machine's
	// clock, and why.
	Full   bool
	Since  time.Time
	Reason string
	// Free is what the file system has left, Keep how much of it stays free. Known: it
	// was looked at.
	Known      bool
	Free, Keep events.Bytes
}

// PartStatus is a part of the host that does not run.
type PartStatus struct {
	Name string
	// Since is when it failed, by the machine's clock, and Reason how.
	Since  time.Time
	Reason string
}

// PartScheduler is the name of the part that says which proofs are due.
const PartScheduler = "ProofScheduler"

func (s Supply) enabled() []Offered {
	return only(s.Offers, func(o Offered) bool { return o.Enabled })
}

// current are those that can still be sold by time: a request must end by then, and has
// to begin first.
func (s Supply) current() []Offered {
	return only(s.enabled(), func(o Offered) bool { return o.Until.IsZero() || s.Now.Before(o.Until) })
}

func (s Supply) free() []Offered {
	return only(s.current(), func(o Offered) bool { return o.Free > 0 })
}

// OnSale are the offers of which something can be sold.
func (s Supply) OnSale() []Offered {
	return only(s.free(), func(o Offered) bool { return !o.Remaining.IsZero() })
}

func only(all []Offered, keep func(Offered) bool) (out []Offered) {
	for _, o := range all {
		if keep(o) {
			out = append(out, o)
		}
	}
	return out
}

// FreeOnSale is how many bytes can be sold.
func (s Supply) FreeOnSale() (free events.Bytes) {
	for _, o := range s.OnSale() {
		free = max(free, free+o.Free) // Saturates at what was there before an overflow.
	}
	return free
}
