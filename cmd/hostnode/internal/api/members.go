package api

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/events/catalog"
	"github.com/hostnode/hostnode/events/membership"
	"github.com/hostnode/hostnode/messages"
	"github.com/hostnode/hostnode/projections"
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

// The states of a member, as far as the record says.
const (
	// MemberRunning was heard lately; MemberSilent should have been heard and was not.
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

// Members implements Past. It reads the streams of the host and of the members' ledgers, and the
// beginning of each living sale, because the views do not tell members apart.
func (r *reader) Members(ctx context.Context) (Members, error) {
	out := Members{AsOf: r.asOf(), Members: []Member{}}
	if r.host.Zero() {
		return out, nil
	}
	s, err := r.processes(ctx)
	if err != nil {
		return Members{}, err
	}
	all := s.Host()
	out.Cluster = len(all) > 0 && all[0].Member != ""
	sales, err := r.salesBy(ctx, all, out.Cluster)
	if err != nil {
		return Members{}, err
	}
	if t := s.Term; t.Number > 0 {
		out.Term = &Term{Number: t.Number, Member: string(t.Member), Since: t.Since, Ended: t.Ended}
	}
	for _, p := range all {
		space, err := r.spaceOf(ctx, p)
		if err != nil {
			return Members{}, err
		}
		m := Member{
			Name: string(p.Member), Epoch: p.Epoch, Version: p.Version, Node: p.Node, State: r.stateOf(p),
			Since: p.Since, HeardAt: p.Heard, Stopped: p.Stopped, Ledger: r.ledgerOf(p), Space: space,
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
		return events.CapacityStream(r.host)
	}
	return events.LedgerStream(r.host, p.Member)
}

// spaceOf folds a member's ledger. The ledger of a host of one process is in the views.
func (r *reader) spaceOf(ctx context.Context, p membership.Process) (Space, error) {
	if p.Member == "" {
		l := r.ledger()
		return Space{l.Quota, l.Unallocated, l.Free, l.Reserved, l.Stored, l.Overhead, l.Sectors, l.Pieces}, nil
	}
	ledger := capacity.New()
	err := foldStream(ctx, r, r.ledgerOf(p), func(e capacity.Event) { ledger = capacity.Evolve(ledger, e) })
	return Space(ledger.Book()), err
}

// salesBy counts the living sales of each member. A sale that began when the host was one process
// is the member's that has the host's ledger.
func (r *reader) salesBy(
	ctx context.Context, all []membership.Process, cluster bool,
) (map[events.Member]int, error) {
	count := map[events.Member]int{}
	var heir events.Member
	for _, p := range all {
		if cluster && p.HostLedger {
			heir = p.Member
		}
	}
	for _, sale := range r.own() {
		if sale.Over {
			continue
		}
		var member events.Member
		if cluster {
			var err error
			if member, err = r.sellerOf(ctx, sale); err != nil {
				return nil, err
			}
		}
		if member == "" {
			member = heir
		}
		count[member]++
	}
	return count, nil
}

// errFound ends a fold.
var errFound = errors.New("found")

// sellerOf is the member that began the newest attempt at a sale's slot.
func (r *reader) sellerOf(ctx context.Context, sale projections.Sale) (member events.Member, err error) {
	slot, err := events.ParseSlotID(sale.Slot)
	if err != nil {
		return "", err
	}
	q := events.ReadStream{From: events.End, Backward: true}
	if sale.Attempt == 1 {
		q = events.ReadStream{Limit: 1}
	}
	err = readStream(ctx, r, events.SaleStream(r.host, slot), q, func(e messages.SaleEvent) error {
		if start, ok := e.(*messages.SaleStarted); ok {
			member = events.Member(start.GetMember())
			return errFound
		}
		return nil
	})
	if errors.Is(err, errFound) {
		err = nil
	}
	return member, err
}

// foldStream hands all events of a stream to take, those of the past in question if the answer is
// about one. A stream that does not exist has none.
func foldStream[E proto.Message](ctx context.Context, r *reader, stream string, take func(E)) error {
	return readStream(ctx, r, stream, events.ReadStream{}, func(e E) error {
		take(e)
		return nil
	})
}

func readStream[E proto.Message](
	ctx context.Context, r *reader, stream string, q events.ReadStream, take func(E) error,
) error {
	codec := catalog.Codec()
	for e, err := range r.store.ReadStream(ctx, stream, q) {
		switch {
		case errors.Is(err, events.ErrStreamNotFound):
			return nil
		case err != nil:
			return fmt.Errorf("read %s: %w", stream, err)
		case r.past != nil && !r.past(e) && q.Backward:
			continue
		case r.past != nil && !r.past(e):
			return nil
		}
		m, err := shell.DecodeAs[E](codec, e)
		if err == nil {
			err = take(m)
		}
		if err != nil {
			return fmt.Errorf("read %s: %w", stream, err)
		}
	}
	return nil
}
