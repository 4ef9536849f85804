package api

import (
	"context"
	"time"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/replay"
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
	// Sales lists the open sales and the newest settled ones.
	Sales(ctx context.Context, settled int) (Sales, error)
	// Sale returns the history of a slot. The beginning of its id is enough.
	Sale(ctx context.Context, slot string) (Story, error)
	// Queue says how many slots wait, which are worked on, and what was refused.
	Queue(ctx context.Context) (Queue, error)
	// Members lists the processes that together are the host, and says which has the term.
	Members(ctx context.Context) (Members, error)
	SectorReader
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
