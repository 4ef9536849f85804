package api

import (
	"context"
	"fmt"
	"time"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/problem"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/replay"
	"github.com/hostnode/hostnode/projections"
)

// Inspector inspects the events: what is wrong with them, and how one stream was; and it copies them.
type Inspector interface {
	// Audit replays all streams.
	Audit(ctx context.Context, o AuditOptions) (Audit, error)
	// Replay returns the state of one stream's machine, now or in the past.
	Replay(ctx context.Context, q ReplayQuestion) (replay.Result, error)
	// Backup copies the embedded event store into an empty or missing directory, an absolute path, also while the
	// host runs.
	Backup(ctx context.Context, dir string) (Backup, error)
}

// Past answers for a host as it was, or as it is.
type Past interface {
	// Status says whether the host sells, why not, and how all of its parts are.
	Status(ctx context.Context) (Status, error)
	// Ledger says how the quota is used, with all availabilities.
	Ledger(ctx context.Context) (Ledger, error)
	// Sales is a page of the open sales and the newest settled ones.
	Sales(ctx context.Context, q SalesQuestion) (Sales, error)
	// Sale returns the history of a slot. The beginning of its id is enough.
	Sale(ctx context.Context, slot string) (Story, error)
	// Queue says how many slots wait, which are worked on, and what was refused.
	Queue(ctx context.Context) (Queue, error)
	// Members lists the processes that together are the host, and says which has the term.
	Members(ctx context.Context) (Members, error)
	SectorReader
}

// Reports tells of money, duties and the queue, a page at a time.
type Reports interface {
	Earnings(ctx context.Context) (Earnings, error)
	EarningsByDay(ctx context.Context, q Paging) (EarningsByDay, error)
	EarningsBySlot(ctx context.Context, q SlotsQuestion) (EarningsBySlot, error)
	EarningsByAvailability(ctx context.Context, q Paging) (EarningsByAvailability, error)
	// Duties are those to come, Periods how many were met in those that are over.
	Duties(ctx context.Context, q DutiesQuestion) (Duties, error)
	Periods(ctx context.Context, q Paging) (Periods, error)
	Transactions(ctx context.Context, q TransactionsQuestion) (Transactions, error)
	Proofs(ctx context.Context, q ProofsQuestion) (Proofs, error)
	// QueuedSlots are those that wait, in the order in which they are looked at.
	QueuedSlots(ctx context.Context, q QueueQuestion) (QueuedSlots, error)
	// Prices is what clients asked for lately, and PreviewOffer how much of that an offer would match.
	Prices(ctx context.Context, q PricesQuestion) (Prices, error)
	PreviewOffer(ctx context.Context, q PreviewQuestion) (Preview, error)
	// Dry is what a dry run would have sold.
	Dry(ctx context.Context) (Dry, error)
}

// PageQuestion asks for a page of a list.
type PageQuestion struct {
	Then
	Paging
}

// MaxPosition is the last place of the queue that can be asked for.
const MaxPosition = 10_000

// QueueQuestion asks for slots of the queue, from a place on.
type QueueQuestion struct {
	Then
	From  int `query:"from" default:"1"`
	Limit int `query:"limit" default:"100"`
}

// QueuedSlots are slots that wait.
type QueuedSlots struct {
	AsOf   AsOf                     `json:"asOf"`
	Length int                      `json:"length"` // of the whole queue
	Slots  []projections.QueuedSlot `json:"slots"`
}

// QueuedSlots implements Reports.
func (r *reader) QueuedSlots(_ context.Context, q QueueQuestion) (out QueuedSlots, err error) {
	if q.From < 1 || q.Limit < 1 || q.Limit > MaxPage || q.From > MaxPosition-q.Limit+1 {
		return out, fmt.Errorf("%w: from = %d and limit = %d; allowed are %d slots, among the first %d",
			problem.ErrBadRequest, q.From, q.Limit, MaxPage, MaxPosition)
	}
	r.views.Read(func(v *projections.Views) {
		out = QueuedSlots{r.asOfPosition(v.AsOf()), v.QueueLength(r.Account), v.QueuedOf(r.Account, q.From, q.Limit)}
	})
	return out, nil
}

// ReplayQuestion names a stream and a point in it.
type ReplayQuestion struct {
	// Stream may be the beginning of a name or, for a sale, of the slot's id.
	Stream string `path:"stream"`
	At     When   `query:"at"`
	// Events asks for the events that led there, too.
	Events bool `query:"events"`
}

// distant lets a server accept times that the client has made absolute: whether
// they are in the future is for the client's clock to say.
var distant = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)
