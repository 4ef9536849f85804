package api

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/replay"
	"github.com/hostnode/hostnode/events"
)

// Inspector inspects the events: what is wrong with them, and how things were.
type Inspector interface {
	// Audit replays all streams.
	Audit(ctx context.Context, o AuditOptions) (Audit, error)
	// At answers as of a point in the past, where nothing can be changed.
	At(ctx context.Context, when When) (Past, error)
	// Replay returns the state of one stream's machine, now or in the past.
	Replay(ctx context.Context, q ReplayQuestion) (replay.Result, error)
}

// Past answers for a host as it was or, as a part of Backend, as it is.
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
	Stream string
	At     When
	// Events asks for the events that led there, too.
	Events bool
}

// pastTime bounds an answer about the past, which may have to read all events.
const pastTime = auditTime

// inspections are the routes of an Inspector.
func inspections(b Inspector) []route {
	var routes []route
	for path, ask := range answers(func(r *http.Request) (Past, error) { return pastOf(b, r) }) {
		routes = append(routes, route{http.MethodGet, "/v1/past/" + path, ask, pastTime})
	}
	return append(routes, []route{
		{http.MethodGet, "/v1/audit", func(r *http.Request) (any, error) {
			q := r.URL.Query()
			from, err := asked(q, "from", "position", 0, parseUint)
			if err != nil {
				return nil, err
			}
			return b.Audit(r.Context(), AuditOptions{events.Position(from), q.Get("checkpoint"), q.Get("chain")})
		}, auditTime},
		{http.MethodGet, "/v1/replay", func(r *http.Request) (any, error) {
			q := r.URL.Query()
			when, err := ParseWhen(q.Get("at"), distant)
			if err != nil {
				return nil, err
			}
			return b.Replay(r.Context(), ReplayQuestion{q.Get("stream"), when, q.Get("events") == "true"})
		}, pastTime},
	}...)
}

// pastOf is the past that a request is about.
func pastOf(b Inspector, r *http.Request) (Past, error) {
	when, err := ParseWhen(r.URL.Query().Get("at"), distant)
	if err != nil {
		return nil, err
	}
	return b.At(r.Context(), when)
}

// distant lets a server accept times that the client has made absolute: whether
// they are in the future is for the client's clock to say.
var distant = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)

// Audit implements Backend.
func (c *Client) Audit(ctx context.Context, o AuditOptions) (Audit, error) {
	q := url.Values{}
	if o.From > 0 {
		q.Set("from", strconv.FormatUint(uint64(o.From), 10))
	}
	if o.Checkpoint != "" {
		q.Set("checkpoint", o.Checkpoint)
	}
	if o.Chain != "" {
		q.Set("chain", o.Chain)
	}
	return ask[Audit](ctx, c, http.MethodGet, "/v1/audit?"+q.Encode(), nil)
}

// Replay implements Backend.
func (c *Client) Replay(ctx context.Context, q ReplayQuestion) (replay.Result, error) {
	v := url.Values{"stream": {q.Stream}, "at": {q.At.String()}, "events": {strconv.FormatBool(q.Events)}}
	return ask[replay.Result](ctx, c, http.MethodGet, "/v1/replay?"+v.Encode(), nil)
}

// At implements Backend. Each question reads the events again.
func (c *Client) At(_ context.Context, when When) (Past, error) {
	return questions{c, "/v1/past/", url.Values{"at": {when.String()}}}, nil
}
