package projections

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/events/catalog"
	"github.com/hostnode/hostnode/events/slotqueue"
	"github.com/hostnode/hostnode/events/snapshot"
	"github.com/hostnode/hostnode/messages"
	views "github.com/hostnode/hostnode/projections/catalog"
	"github.com/hostnode/hostnode/projections/internal/saved"
	"github.com/hostnode/hostnode/projections/machine"
)

// Limits bound what the views keep of what is over, for each host. What is open
// is always kept. A zero field stands for its default.
type Limits struct {
	// ClosedReservations is the most released reservations, default 1,000.
	ClosedReservations int `json:"closedReservations"`
	// ClosedSales is the most settled attempts, default 10,000: about 10 MB.
	ClosedSales int `json:"closedSales"`
	// ClosedProofs is the most settled attempts whose proof ledger is kept,
	// default 1,000; ClosedPeriods the most closed periods of each attempt,
	// open or settled, default 20: with 100,000 hosted slots some 400 MB.
	ClosedProofs  int `json:"closedProofs"`
	ClosedPeriods int `json:"closedPeriods"`
	// Days is the most days whose income is kept apart, default 1,096, which is three years; Periods the most periods
	// whose duties are, default 10,000: some 600 kB. Availabilities is the same of availabilities, default 1,000.
	Days           int `json:"days"`
	Periods        int `json:"periods"`
	Availabilities int `json:"availabilities"`
	// ClosedSectors is the most sectors that are over, default 10,000: about 20 MB.
	ClosedSectors int `json:"closedSectors"`
	// ClosedTransactions is the most mined or abandoned intents, default 1,000.
	ClosedTransactions int `json:"closedTransactions"`
	// Starts is the most starts of a host, and the most terms, default 100.
	Starts int `json:"starts"`
	// Criteria is the most criteria by which refusals are counted separately,
	// default 100; the others are counted under "other".
	Criteria int `json:"criteria"`
}

func (l Limits) withDefaults() Limits {
	l.ClosedReservations = cmp.Or(l.ClosedReservations, 1_000)
	l.ClosedSales = cmp.Or(l.ClosedSales, 10_000)
	l.ClosedProofs = cmp.Or(l.ClosedProofs, 1_000)
	l.ClosedPeriods = cmp.Or(l.ClosedPeriods, 20)
	l.Days = cmp.Or(l.Days, 1_096)
	l.Periods = cmp.Or(l.Periods, 10_000)
	l.Availabilities = cmp.Or(l.Availabilities, 1_000)
	l.ClosedSectors = cmp.Or(l.ClosedSectors, 10_000)
	l.ClosedTransactions = cmp.Or(l.ClosedTransactions, 1_000)
	l.Starts = cmp.Or(l.Starts, 100)
	l.Criteria = cmp.Or(l.Criteria, 100)
	return l
}

// MaxProblems is the most unreadable events that are remembered; all of them
// are counted.
const MaxProblems = 100

// Problem is an event that the views skipped because it cannot be read.
type Problem struct {
	Stream   string          `json:"stream"`
	Revision uint64          `json:"revision"`
	Position events.Position `json:"position"`
	Type     string          `json:"type"`
	Reason   string          `json:"reason"`
}

// Scope says what the views cover. Two sets of views over the same events are
// equal only if their scopes are.
type Scope struct {
	// Host is the only host whose streams are read; the zero address: all hosts.
	Host   events.Address
	Limits Limits
}

// Prefixes returns the beginnings of the names of all streams that the views are made from.
func (s Scope) Prefixes() []string { return catalog.Streams().Prefixes(s.Host) }

// Views is one fold of all streams:
//
//	capacity-<host>, and capacity-<host>-<member> of each further member of the host
//	                     Ledgers, Reservations
//	sale-<host>-<slot>   Sales, Proofs, the outcome of reservations, Earnings, Income, Duties
//	sector-<host>-<n>    Sectors; the space and the deposit are those of the ledger
//	slotqueue-<host>     Queues
//	tx-<account>         Transactions, Earnings, Income
//	host-<host>          Hosts
//	validator-<account>  Validators; what its transactions cost is in tx-<account>
//
// Each machine of projections/catalog has its own view (Of). Other streams are skipped. Views is not safe for
// concurrent use; the Projector is.
type Views struct {
	scope    Scope
	only     string // the host's address, "" for all
	codec    *events.Codec
	asOf     events.Position
	recorded time.Time // when the event at asOf was written
	// anchor is the last event that is not the system's, whose own events may be
	// removed. A store that still has the anchor is the one that the views were
	// made from.
	anchor   snapshot.Event
	anchored time.Time // when the anchor was written
	hosts    map[string]*host
	problems []Problem
	skipped  uint64
}

// host is what is known of one address.
type host struct {
	address  string
	limits   Limits
	ledgers  ledgers
	sales    sales
	sectors  sectors
	queue    queue
	txs      transactions
	starts   starts
	earnings earnings
	incomes  incomes
	periods  periods
	tally    tally
	// validator is what the account marked.
	validator validating
	// own are the views of the machines that have their own, by category.
	own map[string]machine.View
}

// NewViews are the views of an empty record.
func NewViews(scope Scope) *Views {
	scope.Limits = scope.Limits.withDefaults()
	v := &Views{scope: scope, codec: catalog.Codec(), hosts: map[string]*host{}}
	if !scope.Host.Zero() {
		v.only = scope.Host.String()
	}
	return v
}

// Scope is what the views are about, with the defaults filled in.
func (v *Views) Scope() Scope { return v.scope }

// AsOf is the position of the last event that the views saw.
func (v *Views) AsOf() events.Position { return v.asOf }

// RecordedAt is when the last event that the views saw was written, by the clock
// of the store's machine; zero when they saw none.
func (v *Views) RecordedAt() time.Time { return v.recorded }

// Problems returns the first events that could not be read, and the number of all.
func (v *Views) Problems() ([]Problem, uint64) { return slices.Clone(v.problems), v.skipped }

// Apply folds the next event. An event that the views have seen changes
// nothing. An unreadable one is skipped and noted as a problem: the rest of the
// views is still right.
func (v *Views) Apply(r events.Recorded) { v.ApplyDecoded(r, nil) }

// ApplyDecoded is Apply for an event that the caller has decoded; nil: it is decoded here.
func (v *Views) ApplyDecoded(r events.Recorded, m proto.Message) {
	address, wanted := v.see(r)
	if !wanted {
		return
	}
	var err error
	if m == nil {
		m, err = v.codec.Decode(r)
	}
	switch {
	case r.Type == events.TypeTombstone:
		v.pass(r, "the stream was deleted for good")
	case err != nil:
		v.pass(r, err.Error())
	default:
		v.fold(r, address, m)
	}
}

// see moves the views on to an event. It reports whether the event is new and
// belongs to the views, and to which host.
func (v *Views) see(r events.Recorded) (address string, wanted bool) {
	if r.Position <= v.asOf {
		return "", false
	}
	v.asOf, v.recorded = r.Position, r.Recorded
	if events.IsSystem(r.Stream) {
		return "", false
	}
	v.anchor, v.anchored = snapshot.EventOf(r), r.Recorded
	return v.wants(r.Stream)
}

// wants reports whether a stream belongs to the views, and to which host.
func (v *Views) wants(stream string) (address string, wanted bool) {
	category := events.Category(stream)
	if _, own := views.Of(category); folds[category] == nil && !own { // Such as the market's.
		return "", false
	}
	owner, ours := catalog.Streams().Owner(stream)
	address = owner.String()
	return address, ours && (v.only == "" || v.only == address)
}

func (v *Views) fold(r events.Recorded, address string, m proto.Message) {
	h, category := v.host(address), events.Category(r.Stream)
	fold := folds[category]
	if own := h.own[category]; own != nil {
		fold = func(_ *host, r events.Recorded, m proto.Message) bool { return own.Fold(r, m) }
	}
	if !fold(h, r, m) {
		v.pass(r, r.Type+" does not belong in this stream")
		return
	}
	h.tally.Events[Happening{category, r.Type}]++
}

// folds say, for each category of streams that has a view, what an event does there; false for one of another machine.
// They see only streams of ours, so that names can be parsed.
var folds = map[string]func(*host, events.Recorded, proto.Message) bool{
	events.CategoryCapacity: folding(func(h *host, r events.Recorded, e capacity.Event) {
		_, member, _ := events.ParseLedgerStream(r.Stream)
		h.foldLedger(member, e)
	}),
	events.CategorySale:   folding((*host).foldSale),
	events.CategorySector: folding((*host).foldSector),
	events.CategorySlotQueue: folding(func(h *host, _ events.Recorded, e slotqueue.Event) {
		h.queue.fold(e, h.limits)
	}),
	events.CategoryTx: folding((*host).foldTx),
	events.CategoryValidator: folding(func(h *host, _ events.Recorded, e messages.ValidatorEvent) {
		h.validator.fold(e)
		if marked, ok := e.(*messages.ProofMarked); ok {
			h.book(at(e), func(i *Income) {
				i.ValidatorRewards = i.ValidatorRewards.AddSaturating(amount(marked.GetReward()))
			})
		}
	}),
	events.CategoryHost: folding(func(h *host, _ events.Recorded, e messages.HostEvent) { h.starts.fold(e, h.limits) }),
}

// Of is the view of a machine: its rows, host by host. False: there is no such view.
func (v *Views) Of(category string) (rows map[string]any, known bool) {
	show := shown[category]
	if _, known = views.Of(category); known {
		show = func(h *host) any { return h.own[category].Rows() }
	}
	if show == nil {
		return nil, false
	}
	rows = map[string]any{}
	for _, h := range v.hosts {
		rows[h.address] = show(h)
	}
	return rows, true
}

// shown are the rows of the machines without a view of their own.
var shown = map[string]func(*host) any{
	events.CategoryCapacity:  showing((*host).ledger),
	events.CategorySale:      (*host).listedSales,
	events.CategorySector:    (*host).listedSectors,
	events.CategorySlotQueue: showing((*host).queued),
	events.CategoryTx:        (*host).listedTransactions,
	events.CategoryValidator: showing((*host).validated),
	events.CategoryHost:      showing((*host).ran),
}

func showing[T any](add func(*host, []T) []T) func(*host) any {
	return func(h *host) any { return add(h, []T{}) }
}

func folding[E proto.Message](fold func(*host, events.Recorded, E)) func(*host, events.Recorded, proto.Message) bool {
	return func(h *host, r events.Recorded, m proto.Message) bool {
		e, ok := m.(E)
		if ok {
			fold(h, r, e)
		}
		return ok
	}
}

func (v *Views) host(address string) *host {
	if v.hosts[address] == nil {
		v.hosts[address] = newHost(address, v.scope.Limits)
	}
	return v.hosts[address]
}

func newHost(address string, l Limits) *host {
	h := &host{
		address: address, limits: l,
		ledgers: ledgers{Of: map[events.Member]saved.Ledger{}},
		sales:   sales{Open: map[events.SlotID]*openSale{}},
		sectors: sectors{All: map[uint64]*openSector{}},
		queue:   queue{State: saved.NewQueue(), Refusals: map[string]Refusals{}, LetGo: map[string]Refusals{}},
		txs:     transactions{Open: map[string]*Transaction{}, Done: map[string]bool{}},
		incomes: incomes{Of: map[events.AvailabilityID]Income{}},
		tally: tally{
			Events: map[Happening]uint64{}, Stays: map[Happening]Durations{}, Sent: map[Outcome]uint64{},
		},
		own: map[string]machine.View{},
	}
	for _, m := range views.Machines() {
		h.own[m.Category] = m.View()
	}
	return h
}

func (v *Views) pass(r events.Recorded, reason string) {
	v.skipped++
	if len(v.problems) < MaxProblems {
		v.problems = append(v.problems, Problem{
			Stream: r.Stream, Revision: r.Revision, Position: r.Position, Type: r.Type, Reason: reason,
		})
	}
}

// inOrder are the hosts in order of their addresses.
func (v *Views) inOrder() []*host {
	return slices.SortedFunc(maps.Values(v.hosts), func(a, b *host) int {
		return cmp.Compare(a.address, b.address)
	})
}

// rows makes the rows of a view from what each host adds to them.
func rows[T any](v *Views, add func(*host, []T) []T) []T {
	out := []T{}
	for _, h := range v.inOrder() {
		out = add(h, out)
	}
	return out
}

// recent keeps the newest finished entries, up to a limit, and returns the one it drops.
func recent[T any](list []T, next T, limit int) (kept []T, dropped *T) {
	list = append(list, next)
	if len(list) > limit {
		return list[1:], &list[0]
	}
	return list, nil
}

// amount parses an amount that the codec has checked.
func amount(s string) events.Amount { return events.Must(events.ParseAmount(s)) }

// at is when an event happened, by the clock that its message's comment names.
func at(m proto.Message) time.Time {
	if e, ok := m.(timed); ok {
		return events.TimeFromMessage(e.GetAt())
	}
	return time.Time{}
}
