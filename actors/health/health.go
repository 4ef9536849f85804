// Package health judges whether a host sells and proves, and says in sentences why not.
//
// One pure function, Judge, turns what is known of a host into the answers, so that the status,
// the readiness and the alerts cannot contradict each other. Each cause is a row of the table
// in causes.go, and docs/alerts.md describes each alert.
package health

import (
	"fmt"
	"slices"
	"time"

	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
)

// Stage is where a host is between its start and its end.
type Stage uint8

// The stages. Zero: no host runs.
const (
	NotRunning Stage = iota
	Starting
	Running
	Stopping
	// NeverRun: no host has ever run there. Silent: there is a process, and it does not answer.
	NeverRun
	Silent
)

// Facts are what Judge needs to know of a host. What is not known is zero, which is no cause.
type Facts struct {
	// Stage is where the host is, since StageSince; WaitsFor says in a sentence what a start is
	// waiting for.
	Stage      Stage
	StageSince time.Time
	WaitsFor   string
	// Process is the process that does not answer; 0: unknown. Listens: it accepts connections,
	// so it is neither starting nor stopping.
	Process int
	Listens bool
	// Account, DataDir and Endpoint are for the hints.
	Account, DataDir, Endpoint string
	// Typed is how a person means this host; zero: by DataDir.
	Typed Typed
	// Hosting is how many slots are hosted: each of them may owe a proof.
	Hosting int
	// Quarantined are slots, hosted or in work, whose sale cannot be run. ProofTrouble are
	// hosted slots whose proofs do not get through.
	Quarantined, ProofTrouble []SlotTrouble
	// SectorsAtStake is how many sectors the contract has a deposit of: each may owe a proof; SectorsBegun is how
	// many others are not over. Sectors are those whose proving is in trouble.
	SectorsAtStake, SectorsBegun int
	Sectors                      []SectorTrouble
	// Validating: the host marks missing proofs of others. ValidatorStopped says why it does not any more.
	Validating       bool
	ValidatorStopped string
	// LeastPrice is one base unit per byte and second in tokens, if that is far more than storage costs.
	LeastPrice string
	// NoSealer: this process seals and proves no sectors.
	NoSealer bool
	// Views says why the views no longer follow the record; empty: they do.
	Views string

	Chain   ChainFacts
	Record  shell.StoreStatus
	Members MembersFacts
	// Outage is what is proven while the start waits for the event store.
	Outage OutageFacts
	Disk   DiskStatus
	// Sources are where the data of slots is fetched from.
	Sources SourcesFacts
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

// SectorTrouble is what is wrong with a sector.
type SectorTrouble struct {
	Number uint64
	Reason string
	// Prover: it is the outside prover that does nothing, for this sector and all others.
	Prover bool
}

// Subject is what an alert about it names.
func (t SectorTrouble) Subject() string {
	if t.Prover {
		return "prover"
	}
	return fmt.Sprintf("sector %d", t.Number)
}

// ChainFacts is what is known of the chain.
type ChainFacts struct {
	// Away says that no endpoint answers, since AwaySince if that is known.
	Away       bool
	AwaySince  time.Time
	AwayReason string
	// Limited says that they answer, but limit our requests.
	Limited bool
	// SilentSince is when the newest block came, by the machine's clock, if the next is
	// overdue; Head is that block.
	SilentSince time.Time
	Head        events.Head
	// Behind says that the host is still reading what the chain said while it was down.
	Behind bool
	// FeeLimit says how the limit on fees, or a node's refusal, holds up transactions.
	FeeLimit string
	// Signer says why the account's signer signs nothing, or not everything; empty: it signs, or
	// this process has the key.
	Signer string
	// NoRoom says why there is no time for a proof in a period; empty: there is.
	NoRoom string
}

// OutageFacts is what a host proves while its start waits for the event store.
type OutageFacts struct {
	// Proves: it proves. Nothing says why it does not. Neither: it has not got that far.
	Proves  bool
	Nothing string
	// Slots is how many slots it proves; Proofs is how many of their proofs it has submitted.
	Slots, Proofs int
	// Trouble are slots whose proofs cannot be made, or do not get through.
	Trouble []SlotTrouble
}

// SourcesFacts is what is known of the servers of content.
type SourcesFacts struct {
	None bool   // none is set
	Away string // why none of them can be reached; empty: one can, or nobody has looked
}

// Supply is what the host has to sell.
type Supply struct {
	// Unknown says that the supply is not known.
	Unknown bool
	// Now is chain time, by which offers end.
	Now    time.Time
	Offers []Offered
	// Quota is how much the host may use; Allocated is what availabilities and sales use, Unallocated what the
	// ledger has left. Of that a slot needs some for trees and manifest, the smallest one Overhead.
	Quota, Allocated, Unallocated, Overhead events.Bytes
	// Paused: the operator has paused selling; PausedFor says why.
	Paused    bool
	PausedFor string
	// Refused are the newest requests that nothing on offer fitted, one after the other, the oldest first.
	Refused []RefusedRequest
	// NoneFits says that all queued slots were looked at, and none can be taken; empty: that is not so. Waiting
	// says for what they wait.
	NoneFits, Waiting string
	// AtRisk is the collateral of all sales, MaxAtRisk its bound; nil: none.
	AtRisk    events.Amount
	MaxAtRisk *events.Amount
}

// RefusedRequest is one of which no slot entered the queue.
type RefusedRequest struct {
	Criterion, Reason string
	At                time.Time // by chain time
}

// Offered is an availability.
type Offered struct {
	Member    events.Member // whose space it is; empty: the host is one process
	Enabled   bool
	Until     time.Time // zero: no end
	Free      events.Bytes
	Remaining events.Amount // of its collateral
}

// Funds is what the account holds and what it must hold.
type Funds struct {
	Known   bool
	Balance events.Balance
	// MinWei is the least that must be left for gas when a slot is taken; Proofs is how many
	// proofs must be paid within Days.
	MinWei       events.Amount
	Days, Proofs uint64
	// Unpaid is the collateral that sales in work have not paid yet.
	Unpaid events.Amount
}

// ProverFacts is how busy the prover is and may be, in percent of the time, rounded down.
type ProverFacts struct {
	Busy, Most uint64
	Slots      int
}

// Answer to a question about a host.
type Answer uint8

// The answers. NotKnown is an answer of its own.
const (
	Yes Answer = iota
	No
	NotKnown
)

func (a Answer) String() string { return [...]string{"yes", "no", "unknown"}[a] }

// Cause is why a host does not sell or prove.
type Cause struct {
	// Code never changes; programs may compare it.
	Code string
	// Selling and Proving say what the host still does: Yes if the cause does not affect it.
	Selling, Proving Answer
	// Alert is the alert that is raised when the cause lasts; empty: none.
	Alert AlertKind
	// Reason says what is wrong, and since when if that is known; Hint says what to do.
	Reason, Hint string
}

// Judgement says whether a host sells and proves.
type Judgement struct {
	// Selling: it takes matching slots that are offered. Proving: the proofs that it owes are
	// made and sent; a host without slots and sectors owes none.
	Selling, Proving Answer
	// Purpose is what the host does if it is not there to sell; then that it does not is no trouble. Empty: it is.
	Purpose string
	// Offers is how many availabilities there are; OnSale is of how many something can be sold now, Free how much.
	Offers, OnSale int
	Free           events.Bytes
	// Causes are all causes found, in the order in which they must be removed.
	Causes []Cause
}

// What a host is there for if it has no space on offer and hosts no slot.
const (
	ProvingSectors = "proving sectors" // the contract has a deposit of some
	SealingSectors = "sealing sectors"
	Validating     = "validating"
)

func (f Facts) purpose() string {
	switch {
	case f.Supply.Unknown || len(f.Supply.Offers) > 0 || f.Hosting > 0 || len(f.Quarantined) > 0:
		return ""
	case f.SectorsAtStake > 0:
		return ProvingSectors
	case f.SectorsBegun > 0:
		return SealingSectors
	case f.Validating && f.ValidatorStopped == "":
		return Validating
	}
	return ""
}

// Judge judges a process: a host, or a member of one, which sells what it offers itself.
func Judge(f Facts) Judgement {
	if m := f.Members.Member; m != "" {
		f.Supply.Offers = only(f.Supply.Offers, func(o Offered) bool { return o.Member == m })
	}
	return f.judge(false)
}

// JudgeHost judges the whole host, as far as this process knows it: what keeps only this member from selling
// matters if all that is on offer is its own. Of the other members' proofs it knows nothing.
func JudgeHost(f Facts) Judgement {
	m := &f.Members
	if m.Member == "" {
		return Judge(f)
	}
	for _, row := range causes {
		if c, so := row.of(f); so && c.Selling != Yes && m.unable == "" && !row.scope.ofAll(*m) {
			m.unable = c.Reason
		}
	}
	return f.judge(true)
}

// judge judges by the whole table. host: what keeps this member from selling need not keep the others.
func (f Facts) judge(host bool) Judgement {
	j := Judgement{Offers: len(f.Supply.Offers), Purpose: f.purpose()}
	for _, o := range f.Supply.OnSale() {
		if f.Members.whyNot(o) == "" {
			j.OnSale++
			j.Free = max(j.Free, j.Free+o.Free) // On overflow it keeps the sum so far.
		}
	}
	if j.Purpose != "" {
		j.Selling = No
	}
	for _, row := range causes {
		c, so := row.of(f)
		if f.owesNothing() {
			c.Proving = Yes
		}
		if host && c.Selling != Yes && !row.scope.ofAll(f.Members) {
			c.Selling = map[scope]Answer{ofMember: Yes, ofOwner: NotKnown}[row.scope]
		}
		if !so || c.Selling == Yes && c.Proving == Yes {
			continue
		}
		j.Causes = append(j.Causes, c)
		j.Selling, j.Proving = worse(j.Selling, c.Selling), worse(j.Proving, c.Proving)
	}
	return j
}

// owesNothing: neither a slot nor a sector can owe a proof. During an outage that is not known.
func (f Facts) owesNothing() bool {
	return f.Hosting == 0 && len(f.Quarantined) == 0 && f.SectorsAtStake == 0 && len(f.Sectors) == 0 &&
		f.Outage.Nothing == ""
}

// worse combines the answers of two causes: No outweighs NotKnown.
func worse(a, b Answer) Answer {
	if a == No || b == No {
		return No
	}
	return max(a, b)
}

// Warnings are what does not keep the host from selling or proving yet.
func Warnings(f Facts) (all []Cause) {
	for _, row := range warnings {
		if c, so := row.of(f); so {
			all = append(all, c)
		}
	}
	return all
}

// CauseOf returns one cause, or one warning, as the status shows it; false: it is absent.
func CauseOf(code string, f Facts) (Cause, bool) {
	for _, row := range slices.Concat(causes, warnings) {
		if row.code == code {
			return row.of(f)
		}
	}
	return Cause{}, false
}

// DiskStatus is how much room the host's disk has.
type DiskStatus struct {
	// Full: no slot is taken for lack of room, since when by the machine's clock, and why.
	Full   bool
	Since  time.Time
	Reason string
	// Away: it is Full because the disk with the slots is not there, so nothing of them can be read either.
	Away bool
	// SectorsAway says why the disk with the sectors is not there; empty: it is, or there are none.
	SectorsAway string
	// Free is what the file system has left; Keep is how much must stay free. Known: it was
	// measured.
	Known      bool
	Free, Keep events.Bytes
}

// PartStatus is a part of the host that does not run.
type PartStatus struct {
	Name string
	// Since is when it failed, by the machine's clock; Reason is why.
	Since  time.Time
	Reason string
}

// PartScheduler is the name of the proof scheduler, PartSectors that of the sectors.
const (
	PartScheduler = "ProofScheduler"
	PartSectors   = "Sectors"
)

func (s Supply) enabled() []Offered {
	return only(s.Offers, func(o Offered) bool { return o.Enabled })
}

// current returns the offers whose time is not over: a request has to begin and end before.
func (s Supply) current() []Offered {
	return only(s.enabled(), func(o Offered) bool { return o.Until.IsZero() || s.Now.Before(o.Until) })
}

// smallestSlot is the least that can be sold; leastCollateral is the least that a slot costs: one base unit for each
// of its bytes (events.CheckRequest).
const smallestSlot = events.BlockSize

var leastCollateral = events.NewAmount(uint64(smallestSlot))

func (s Supply) free() []Offered {
	return only(s.current(), func(o Offered) bool { return o.Free >= smallestSlot })
}

// OnSale returns the offers of which something can be sold.
func (s Supply) OnSale() []Offered {
	return only(s.free(), func(o Offered) bool { return !o.Remaining.Less(leastCollateral) })
}

// room is what is left for trees and manifests, within the configured quota.
func (s Supply) room() events.Bytes {
	if s.Quota == 0 {
		return s.Unallocated
	}
	return min(s.Unallocated, s.Quota-min(s.Quota, s.Allocated))
}

func only(all []Offered, keep func(Offered) bool) (out []Offered) {
	for _, o := range all {
		if keep(o) {
			out = append(out, o)
		}
	}
	return out
}
