package api

import (
	"cmp"
	"context"
	"time"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/membership"
)

// Members are the processes that together are this host.
type Members struct {
	AsOf AsOf `json:"asOf"`
	// Cluster says that the host has members; otherwise Members has the one process, once it has
	// started.
	Cluster bool `json:"cluster"`
	// Term is the newest; nil: none was taken.
	Term *Term `json:"term,omitempty"`
	// Members are in the order of their names.
	Members []Member `json:"members"`
}

// Term is a time in which one member, the owner, runs what runs once per host. Its times are by
// the clocks of the members' machines.
type Term struct {
	Number uint64    `json:"number"`
	Member string    `json:"member"`
	Since  time.Time `json:"since"`
	// Ended is when it ended without another one; zero: it lasts.
	Ended time.Time `json:"ended,omitzero"`
}

// The states of a member: as a running member of a cluster knows it, otherwise as far as the record says.
const (
	// MemberRunning was heard lately; MemberSilent has not stopped, and should have been heard and was not.
	MemberRunning = "running"
	MemberSilent  = "silent"
	// MemberStopped has stopped in good order.
	MemberStopped = "stopped"
)

// Member is the newest process of a member. Its times are by the clock of its machine.
type Member struct {
	// Name is empty if the host is one process.
	Name    string    `json:"name,omitempty"`
	Epoch   uint64    `json:"epoch"`
	Version string    `json:"version"`
	Node    string    `json:"node"`
	State   string    `json:"state"`
	Since   time.Time `json:"since"`
	HeardAt time.Time `json:"heardAt"`
	Stopped time.Time `json:"stoppedAt,omitzero"`
	// Ledger is the name of the stream of its ledger, Space what that says.
	Ledger string `json:"ledger"`
	Space  Space  `json:"space"`
	// Sales counts the sales that live and whose data is, or will be, on its disk.
	Sales int `json:"sales"`
	// Owner says that it has the term, OwnerSince since when.
	Owner      bool      `json:"owner"`
	OwnerSince time.Time `json:"ownerSince,omitzero"`
	// Work is what it has to do now, by its own word; nil: it was not asked, or did not answer.
	Work *MemberWork `json:"work,omitempty"`
}

// MemberWork is what a member has to do now.
type MemberWork struct {
	// Head is the newest block that it has seen; Behind is how many more another member has seen.
	Head   uint64 `json:"head"`
	Behind uint64 `json:"behind"`
	// ProofsDue counts the proofs of this period that the contract does not have yet.
	ProofsDue int `json:"proofsDue"`
	// ProverBusy is the percentage of the time for which proofs keep its prover busy; at ProverMost it takes no
	// more slots.
	ProverBusy uint64 `json:"proverBusyPercent"`
	ProverMost uint64 `json:"proverMostPercent"`
}

// Space says how the bytes of a member's quota are used. The parts add up to the quota.
type Space struct {
	Quota       events.Bytes `json:"quota"`
	Unallocated events.Bytes `json:"unallocated"`
	Free        events.Bytes `json:"free"`
	Reserved    events.Bytes `json:"reserved"`
	Stored      events.Bytes `json:"stored"`
	Overhead    events.Bytes `json:"overhead"`
	Sectors     events.Bytes `json:"sectors"`
	Pieces      events.Bytes `json:"pieces"`
}

// Members implements Past. It reads the host's stream, because the views keep only its newest starts; the members'
// space and sales are in the views.
func (r *reader) Members(ctx context.Context) (Members, error) {
	out := Members{AsOf: r.asOf(), Members: []Member{}}
	if r.Account.Zero() {
		return out, nil
	}
	s, err := r.processes(ctx)
	if err != nil {
		return Members{}, err
	}
	all := s.Host()
	out.Cluster = len(all) > 0 && all[0].Member != ""
	sales := r.salesBy(all, out.Cluster)
	if t := s.Term; t.Number > 0 {
		out.Term = &Term{Number: t.Number, Member: string(t.Member), Since: t.Since, Ended: t.Ended}
	}
	for _, p := range all {
		l := ledgerFor(r.ledger(), p.Member)
		m := Member{
			Name: string(p.Member), Epoch: p.Epoch, Version: p.Version, Node: p.Node, State: r.stateOf(p),
			Since: p.Since, HeardAt: p.Heard, Stopped: p.Stopped, Ledger: r.ledgerOf(p),
			Space: Space{l.Quota, l.Unallocated, l.Free, l.Reserved, l.Stored, l.Overhead, l.Sectors, l.Pieces},
			Sales: sales[p.Member],
		}
		if t, lasts := membership.Owner(s); lasts && t.Member == p.Member {
			m.Owner, m.OwnerSince = true, t.Since
		}
		out.Members = append(out.Members, m)
	}
	return out, nil
}

// stateOf judges by when the process was heard; of the past, by the last event that was recorded.
func (r *reader) stateOf(p membership.Process) string {
	now := r.now()
	if !r.recorded.IsZero() {
		now = r.recorded
	}
	switch {
	case !p.Stopped.IsZero():
		return MemberStopped
	case now.Sub(p.Heard) > membership.SilentFor:
		return MemberSilent
	}
	return MemberRunning
}

func (r *reader) ledgerOf(p membership.Process) string {
	if p.HostLedger {
		return events.CapacityStream(r.Account)
	}
	return events.LedgerStream(r.Account, p.Member)
}

// salesBy counts the living sales of each member. A sale that began when the host was one process
// is the member's that has the host's ledger.
func (r *reader) salesBy(all []membership.Process, cluster bool) map[events.Member]int {
	count := map[events.Member]int{}
	var heir events.Member
	for _, p := range all {
		if cluster && p.HostLedger {
			heir = p.Member
		}
	}
	for _, sale := range r.own() {
		switch {
		case sale.Over:
		case cluster:
			count[cmp.Or(sale.Member, heir)]++
		default:
			count[""]++
		}
	}
	return count
}
