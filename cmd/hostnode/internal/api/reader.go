package api

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hostnode/hostnode/actors/health"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/config"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/datadir"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/problem"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/projections"
	"github.com/hostnode/hostnode/projections/audit"
)

// MaxSettled is the most settled sales of an answer.
const MaxSettled = 10_000

// viewer shows views: a projector the present ones, projections.Views those of the past.
type viewer interface {
	AsOf() events.Position
	Ledgers() projections.LedgersView
	Queues() projections.QueuesView
	// Read shows all of them as of one position.
	Read(with func(*projections.Views))
	Earnings() projections.EarningsView
	Hosts() projections.HostsView
	SettingChanges(host string) []projections.SettingChange
	Validators() projections.ValidatorsView
	Sectors() projections.SectorsView
	Of(category string) (rows map[string]any, known bool)
}

// FilesOf lists the files of sectors and pieces of a host on this machine.
type FilesOf func(host events.Address) (audit.Files, error)

// Source says whose events answers come from, and what else they need besides the events.
type Source struct {
	// Account is the host's; zero: that of the last start in this directory.
	Account events.Address
	// Member is whose directory this is; empty: the host is one process.
	Member  events.Member
	DataDir string
	// Typed is for hints; zero: they name DataDir.
	Typed health.Typed
	// Endpoint is how to reach the chain, for audits; empty: only the running host can reach it.
	Endpoint string
	// Fallbacks are further endpoints of the same chain.
	Fallbacks []string
	// Files are those of sectors and pieces, for audits; nil: they are not here.
	Files FilesOf
	// Settings are those of the process.
	Settings []config.Setting
	// Machines bring calls of their own.
	Machines []Machine
	// Now is the machine's clock; nil: time.Now.
	Now func() time.Time
}

func (s Source) now() time.Time {
	if s.Now == nil {
		return time.Now()
	}
	return s.Now()
}

// reader answers from views; Live and Offline are built on it.
type reader struct {
	views viewer
	// projector keeps the views; nil: they are of the past, or there are none.
	projector *projections.Projector
	// past selects the events of the past in question, and recorded is when the
	// last of them was written; nil and zero: the present.
	past     projections.Until
	recorded time.Time
	store    events.Store
	Source
	running bool
	dropped int64 // bytes of an unfinished write, dropped when the store was opened
	// oneHost says that the store may have many hosts and be far away, so that views that are
	// built for one answer cover only this host.
	oneHost bool
}

// scope is what views that are built for one answer cover. Without an account they cover
// all hosts, because they must tell whose events these are.
func (r *reader) scope() projections.Scope {
	if r.oneHost {
		return projections.Scope{Host: r.Account}
	}
	return projections.Scope{}
}

func (r *reader) asOf() AsOf {
	return AsOf{Position: r.views.AsOf(), Time: r.now().UTC(), Running: r.running, Recorded: r.recorded}
}

// tag is what an answer is known by that follows from the record alone.
func (r *reader) tag() string { return fmt.Sprintf(`W/"%d"`, r.views.AsOf()) }

func (r *reader) position() events.Position { return r.views.AsOf() }

// PositionOf is how far a backend's views have read the record; 0: it has none.
func PositionOf(b Backend) events.Position {
	if r, is := b.(interface{ position() events.Position }); is {
		return r.position()
	}
	return 0
}

// machines implements here.
func (r *reader) machines() []Machine { return r.Machines }

// parts implements here, with what reads the record.
func (r *reader) parts() (all []any) {
	reading := r.reading()
	for _, m := range r.Machines {
		if m.Reads != nil {
			all = append(all, m.Reads(reading))
		}
	}
	return all
}

func (r *reader) reading() Reading {
	return Reading{
		AsOf: r.asOf(), Account: r.Account, Store: r.store, Until: r.past,
		DataDir: r.DataDir,
		Rows: func(category string) any {
			rows, _ := r.views.Of(category)
			return rows[r.Account.String()]
		},
	}
}

// refusal implements here.
func (r *reader) refusal() error { return errNotHere }

// mine selects what belongs to this host.
func mine[T any](r *reader, all []T, host func(T) string) (one T) {
	want := r.Account.String()
	for _, v := range all {
		if host(v) == want {
			return v
		}
	}
	return one
}

func (r *reader) ledger() projections.Ledger {
	l := mine(r, r.views.Ledgers().Ledgers, func(l projections.Ledger) string { return l.Host })
	l.Host = r.Account.String()
	if l.Availabilities == nil {
		l.Availabilities = []projections.Availability{}
	}
	return l
}

func (r *reader) queue() projections.Queue {
	q := mine(r, r.views.Queues().Queues, func(q projections.Queue) string { return q.Host })
	q.Host = r.Account.String()
	return q
}

// Ledger implements Past.
func (r *reader) Ledger(context.Context) (Ledger, error) {
	now := r.recorded
	if now.IsZero() {
		now = r.now().UTC()
	}
	return Ledger{r.asOf(), now, r.ledger()}, nil
}

// Queue implements Past.
func (r *reader) Queue(context.Context) (Queue, error) {
	return Queue{r.asOf(), r.queue()}, nil
}

// availability resolves an id of which a beginning is enough, and says whose space it is.
func (r *reader) availability(id string) (of events.Member, whole events.AvailabilityID, err error) {
	var ids []string
	members := map[string]events.Member{}
	for _, a := range r.ledger().Availabilities {
		ids = append(ids, a.ID)
		members[a.ID] = a.Member
	}
	text, err := resolve("availability", id, capacity.ErrUnknownAvailability, ids)
	if err != nil {
		return of, whole, err
	}
	whole, err = events.ParseAvailabilityID(text)
	return members[text], whole, err
}

// catchUp waits until the views include what was just made durable.
func (r *reader) catchUp(ctx context.Context) error {
	head, err := r.store.Head(ctx)
	if err != nil {
		return err
	}
	if !r.running {
		return r.projector.CatchUp(ctx)
	}
	return r.projector.WaitFor(ctx, head)
}

// shown returns an availability as it is after a change.
func (r *reader) shown(ctx context.Context, id events.AvailabilityID) (projections.Availability, error) {
	if err := r.catchUp(ctx); err != nil {
		return projections.Availability{}, err
	}
	for _, a := range r.ledger().Availabilities {
		if a.ID == id.String() {
			return a, nil
		}
	}
	return projections.Availability{}, fmt.Errorf("%w: %s was removed meanwhile", capacity.ErrUnknownAvailability, id)
}

// own are the sales of this host. The rows are shared: they are read, or copied by shownSale.
func (r *reader) own() (all []*projections.Sale) {
	r.views.Read(func(v *projections.Views) {
		for s := range v.SalesOf(r.Account) {
			all = append(all, s)
		}
	})
	return all
}

// attempt is a sale, with what it is still paid at most.
type attempt struct {
	*projections.Sale
	expected events.Amount
}

// attempted is the page of the attempts that match, that which began last first. Those that were settled last began
// late, so most of the others are passed by.
func (r *reader) attempted(match func(*projections.Sale) bool, q Paging) (page []attempt, next string, err error) {
	r.views.Read(func(v *projections.Views) {
		page, next, err = pick(func(yield func(attempt) bool) {
			for s, expected := range v.SalesOf(r.Account) {
				if match(s) && !yield(attempt{s, expected}) {
					return
				}
			}
		}, func(s attempt) uint64 { return ^uint64(s.StartedAt.Unix()) }, //nolint:gosec // It is only an order.
			func(key []byte, s attempt) []byte {
				return binary.BigEndian.AppendUint32(append(key, s.Slot...), ^s.Attempt)
			}, q)
	})
	return page, next, err
}

// shownSale is a row as it is shown.
func shownSale(s *projections.Sale) projections.Sale {
	row := *s
	if row.Over { // The view has what was stored; its data is deleted.
		row.Stored = 0
	}
	return row
}

func (s *Sales) expect(slot string, amount events.Amount) {
	if s.Expected == nil {
		s.Expected = map[string]events.Amount{}
	}
	s.Expected[slot] = amount
}

// Sales implements Past.
func (r *reader) Sales(_ context.Context, q SalesQuestion) (out Sales, err error) {
	if q.Settled < 0 || q.Settled > MaxSettled {
		return out, fmt.Errorf("%w: settled = %d, allowed: 0 to %d", problem.ErrBadRequest, q.Settled, MaxSettled)
	}
	out = Sales{AsOf: r.asOf(), Sales: []projections.Sale{}}
	over := 0
	some, next, err := r.attempted(func(s *projections.Sale) bool {
		if s.Over { // That which was settled last comes first.
			over++
		}
		hidden := s.Over && over > q.Settled
		return !hidden && (q.State == "" || s.Phase == q.State) && strings.HasPrefix(s.Request, q.Request)
	}, q.Paging)
	out.Hidden = max(0, over-q.Settled)
	for _, s := range some {
		out.Sales = append(out.Sales, shownSale(s.Sale))
		if !s.expected.IsZero() {
			out.expect(s.Slot, s.expected)
		}
	}
	out.Next = next
	return out, err
}

// Sale implements Past.
func (r *reader) Sale(ctx context.Context, slot string) (Story, error) {
	id, attempts, err := r.attempts(slot)
	if errors.Is(err, problem.ErrUnknownSale) {
		return r.notSold(ctx, slot, err)
	}
	if err != nil {
		return Story{}, err
	}
	line, err := projections.ReadTimeline(ctx, r.store, r.Account, id, r.past)
	if err != nil {
		return Story{}, fmt.Errorf("read the story of slot %s: %w", id.Short(), err)
	}
	return Story{AsOf: r.asOf(), Attempts: attempts, Moments: line.Moments, PaysAtMost: line.PaysAtMost}, nil
}

// attempts are those to sell a slot, of whose id a beginning is enough. problem.ErrUnknownSale.
func (r *reader) attempts(slot string) (id events.SlotID, all []projections.Sale, err error) {
	own, begin := r.own(), prefixOf(slot)
	var ids []string
	for _, s := range own {
		if strings.HasPrefix(s.Slot, begin) {
			ids = append(ids, s.Slot)
		}
	}
	whole, err := resolve("slot", slot, problem.ErrUnknownSale, ids)
	if err != nil {
		return id, nil, err
	}
	for _, s := range own {
		if s.Slot == whole {
			all = append(all, shownSale(s))
		}
	}
	slices.SortStableFunc(all, func(a, b projections.Sale) int { return int(a.Attempt) - int(b.Attempt) })
	id, err = events.ParseSlotID(whole)
	return id, all, err
}

// notSold is the story of a slot of which no sale began, from the record of the queue.
func (r *reader) notSold(ctx context.Context, slot string, unknown error) (Story, error) {
	found, err := projections.ReadOffered(ctx, r.store, r.Account, prefixOf(slot), r.past)
	if err != nil {
		return Story{}, err
	}
	switch len(found) {
	case 0:
		return Story{}, unknown
	case 1:
		one := found[0]
		of := OfferedSlot{one.Slot, one.Request, one.SlotIndex, one.Forgotten}
		return Story{AsOf: r.asOf(), Attempts: []projections.Sale{}, Moments: one.Moments, Offered: &of}, nil
	}
	return Story{}, fmt.Errorf("%w: slot %s is the beginning of %.14s and %.14s, at least", problem.ErrAmbiguous, slot,
		found[0].Slot, found[1].Slot)
}

// status fills in what the events tell.
func (r *reader) status() Status {
	s := Status{
		AsOf: r.asOf(), DataDir: r.DataDir, Dry: datadir.At(r.DataDir).Dry(), Member: r.Member,
		Ledger: r.ownLedger(), Queue: r.queue(),
		Phases: map[string]int{}, Sectors: r.sectorSummary(),
		Standing: Standing{Readiness: []Obstacle{}}, Views: projections.Status{AsOf: r.views.AsOf()},
	}
	if r.projector != nil {
		s.Views = r.projector.Status()
	}
	if !r.Account.Zero() {
		s.Account = r.Account.String()
	}
	if t := datadir.At(r.DataDir).Token(); t.Known() {
		s.Token = &t
	}
	s.Earnings = mine(r, r.views.Earnings().Earnings, func(e projections.Earnings) string { return e.Host })
	s.Earnings.Host = r.Account.String()
	of := mine(r, r.views.Validators().Validators, func(v projections.Validator) string { return v.Account })
	if of.Account != "" {
		s.Validator = &Validator{Validator: of}
	}
	for _, sale := range r.own() {
		if !sale.Over {
			s.Phases[sale.Phase]++
		}
	}
	if last, started := r.run(); started {
		s.Epoch, s.Since, s.Version = last.Epoch, last.StartedAt, last.Version
		s.Chain.ID, s.Chain.Contract = last.ChainID, last.Contract
	}
	return s
}

// hostOf is the account that started last in a store; zero: none did.
func hostOf(p viewer) events.Address {
	var found string
	var latest time.Time
	for _, h := range p.Hosts().Hosts {
		if n := len(h.Runs); n > 0 && (found == "" || h.Runs[n-1].StartedAt.After(latest)) {
			found, latest = h.Host, h.Runs[n-1].StartedAt
		}
	}
	host, err := events.ParseAddress(found)
	if err != nil {
		return events.Address{}
	}
	return host
}
