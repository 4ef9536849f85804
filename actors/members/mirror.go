package members

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"google.golang.org/protobuf/proto"

	"github.com/hostnode/hostnode/actors/ledger"
	"github.com/hostnode/hostnode/actors/sales"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/events/sale"
)

// Mirror is what a member knows of all ledgers of the host and of the other members' sales, folded
// from the record. Safe for concurrent use; one caller at a time may Load or Take.
type Mirror struct {
	base *shell.Base
	// holder is the member that has the host's own ledger.
	holder func() events.Member

	mu      sync.Mutex
	ledgers map[events.Member]*shell.Fold[capacity.State]
	sales   map[events.SlotID]*shell.Fold[sale.State]
}

// Change is what an event of another member changed.
type Change struct {
	Sale *sales.Changed // of which only Slot, State, Last and Fresh are set
	// Freed says that a ledger may have room for what it had none for, and why.
	Freed string
}

// NewMirror returns the mirror of a host's member. holder says which member has the host's own
// ledger, the one without a name.
func NewMirror(b *shell.Base, holder func() events.Member) *Mirror {
	return &Mirror{
		base: b, holder: holder,
		ledgers: map[events.Member]*shell.Fold[capacity.State]{}, sales: map[events.SlotID]*shell.Fold[sale.State]{},
	}
}

// Load folds a stream of another member from its beginning, or again: a ledger, or a sale. It
// returns the sale's state.
func (m *Mirror) Load(ctx context.Context, stream string) (sale.State, error) {
	if events.Category(stream) == events.CategoryCapacity {
		return sale.State{}, m.loadLedger(ctx, stream)
	}
	_, slot, err := events.ParseSaleStream(stream)
	if err != nil {
		return sale.State{}, err
	}
	f := &shell.Fold[sale.State]{}
	if err := shell.ReadOn(ctx, m.base, f, stream, sale.Evolve); err != nil {
		return sale.State{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sales[slot] = f
	return f.State, nil
}

func (m *Mirror) loadLedger(ctx context.Context, stream string) error {
	_, member, err := events.ParseLedgerStream(stream)
	if err != nil {
		return err
	}
	saved, err := ledger.NewKeeper(m.base, member).Load(ctx)
	if err != nil {
		return fmt.Errorf("read %s: %w", stream, err)
	}
	f := &saved.Fold
	if err := shell.ReadOn(ctx, m.base, f, stream, capacity.Evolve); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ledgers[member] = f
	return nil
}

// decode reads an event of the record.
func decode[E proto.Message](codec *events.Codec, r events.Recorded) (E, error) {
	e, err := shell.DecodeAs[E](codec, r)
	if err != nil {
		err = fmt.Errorf("read %s: %w: %w", r.Stream, shell.ErrUnreadable, err)
	}
	return e, err
}

// Take folds an event of the record. Events of this member's sales, and events that were taken
// before, change nothing.
func (m *Mirror) Take(ctx context.Context, r events.Recorded) (Change, error) {
	switch events.Category(r.Stream) {
	case events.CategoryCapacity:
		return m.takeLedger(ctx, r)
	case events.CategorySale:
		return m.takeSale(ctx, r)
	}
	return Change{}, nil
}

func (m *Mirror) takeLedger(ctx context.Context, r events.Recorded) (Change, error) {
	host, member, err := events.ParseLedgerStream(r.Stream)
	if err != nil || host != m.base.Me {
		return Change{}, nil //nolint:nilerr // It is no ledger of this host's.
	}
	m.mu.Lock()
	f := m.ledgers[member]
	m.mu.Unlock()
	if f == nil || r.Revision > f.Events {
		return Change{Freed: "the ledger of member " + string(member) + " was read"}, m.loadLedger(ctx, r.Stream)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if r.Revision < f.Events {
		return Change{}, nil
	}
	e, err := decode[capacity.Event](m.base.Codec, r)
	if err != nil {
		return Change{}, err
	}
	f.State, f.Events = capacity.Evolve(f.State, e), r.Revision+1
	reason, _ := capacity.Wakes(f.State, e)
	return Change{Freed: reason}, nil
}

func (m *Mirror) takeSale(ctx context.Context, r events.Recorded) (c Change, err error) {
	host, slot, err := events.ParseSaleStream(r.Stream)
	if err != nil || host != m.base.Me {
		return c, nil //nolint:nilerr // It is no sale of this host's.
	}
	e, err := decode[sale.Event](m.base.Codec, r)
	if err != nil {
		return c, err
	}
	m.mu.Lock()
	f := m.sales[slot]
	m.mu.Unlock()
	started, begins := e.(interface{ GetMember() string })
	switch {
	case f == nil && (!begins || m.base.Mine(events.Member(started.GetMember()))):
		return c, nil
	case f == nil || r.Revision > f.Events:
		st, err := m.Load(ctx, r.Stream)
		if err != nil {
			return c, err
		}
		c.Sale = &sales.Changed{Slot: slot, State: st, Last: r.ID, Fresh: []sale.Event{e}}
	case r.Revision < f.Events:
		return c, nil
	default:
		f.State, f.Events = sale.Evolve(f.State, e), r.Revision+1
		c.Sale = &sales.Changed{Slot: slot, State: f.State, Last: r.ID, Fresh: []sale.Event{e}}
	}
	if st := c.Sale.State; st.Over() || m.base.Mine(st.Member) { // A later attempt may be ours.
		m.mu.Lock()
		delete(m.sales, slot)
		m.mu.Unlock()
	}
	return c, nil
}

// Fits returns the members whose ledger has an availability for a slot, in the order in which they
// are asked to sell it: those that sell the fewest slots of the request first, because what fails
// together should not lie together; then the one with the least room, so that large slots find room
// later. The refusal says why none fits.
func (m *Mirror) Fits(ask capacity.Ask, selling map[events.Member]int) (fit []events.Member, _ *capacity.Refusal) {
	m.mu.Lock()
	defer m.mu.Unlock()
	free := map[events.Member]events.Bytes{}
	refusal := &capacity.Refusal{Criterion: capacity.NoAvailability, Reason: "no member offers an availability"}
	for _, name := range slices.Sorted(maps.Keys(m.ledgers)) {
		member := name
		if name == "" {
			member = m.holder()
		}
		a, refused := capacity.Match(m.ledgers[name].State, ask)
		switch {
		case refused == nil:
			free[member] = a.Free()
			fit = append(fit, member)
		case refused.Criterion != capacity.NoAvailability:
			refusal = refused
			refusal.Reason = fmt.Sprintf("member %s: %s", member, refused.Reason)
		}
	}
	if len(fit) > 0 {
		refusal = nil
	}
	slices.SortStableFunc(fit, func(a, b events.Member) int {
		return cmp.Or(cmp.Compare(selling[a], selling[b]), cmp.Compare(free[a], free[b]), cmp.Compare(a, b))
	})
	return fit, refusal
}
