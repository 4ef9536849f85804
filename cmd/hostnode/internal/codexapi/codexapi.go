// Package codexapi answers the REST API of Codex, so that programs written for a Codex node work with this host, above
// all @codex-storage/sdk-js. It decides nothing: the host's side is asked and told by the calls of package api, and the
// buyer's side is the client of package requester, as `hostnode client` is. What is the same, what differs and what is
// not here is in docs/codex-api.md.
//
// Start with routes, which lists all calls. They are not those of package api for a reason: bodies come as text/plain,
// errors go as plain text, and numbers are written in the ways of values.go.
//
// Who may call what is for the listener to decide.
package codexapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/api"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/localchain"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/problem"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/requester"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/storage"
	"github.com/hostnode/hostnode/storage/dataset"
)

// Limits.
const (
	// maxBody is the most bytes of a JSON body; a request has some 300.
	maxBody = 64 << 10
	// maxDownloads is how many datasets are fetched in the background at the same time.
	maxDownloads = 2
	// patience is how long one read of an upload may take.
	patience = time.Minute
	// collectEvery is the pause between two looks for requests that are over.
	collectEvery = 30 * time.Second
)

// Market is what the contract says.
type Market interface {
	// MySlots are the slots that the contract counts as the host's.
	MySlots(ctx context.Context) ([]events.OwnedSlot, error)
	// Request is a request by its id.
	Request(ctx context.Context, id events.RequestID) (events.Request, error)
}

// Buyer is a client of the market.
type Buyer interface {
	// MaxDuration is the longest duration of a request.
	MaxDuration(ctx context.Context) (time.Duration, error)
	// Buy posts a request for a dataset.
	Buy(ctx context.Context, d *dataset.Dataset, t requester.Terms, at time.Time) (events.Request, error)
	// Purchases are the requests that were posted, and Purchase is what became of one.
	Purchases(ctx context.Context) ([]events.RequestID, error)
	Purchase(ctx context.Context, id events.RequestID) (requester.Purchase, error)
	// CollectAll collects what is left of the payment for requests that are over.
	CollectAll(ctx context.Context) error
}

// Content is where data comes from that is not on the shelf.
type Content interface {
	Manifest(ctx context.Context, c dataset.CID) (dataset.Manifest, error)
	CopyOriginal(ctx context.Context, m dataset.Manifest, w io.Writer) error
}

// Config are the parts of the host that are needed. All are required unless they say otherwise.
type Config struct {
	Host    api.Backend
	Market  Market
	Buyer   Buyer
	Shelf   *requester.Shelf
	Content Content
	// Room is how much uploads may take of the disk; nil: not known.
	Room func() (events.Bytes, error)
	// MaxUpload is the most bytes of an upload.
	MaxUpload events.Bytes
	// Log is the host's log: its level can be set.
	Log *logrus.Entry
}

// API answers the calls.
type API struct {
	cfg    Config
	mux    *http.ServeMux
	ctx    context.Context // what goes on in the background ends with it
	cancel context.CancelFunc
	behind sync.WaitGroup

	mu      sync.Mutex
	fetched map[dataset.CID]bool // in the background now
}

// New answers until Close. It also collects what is left of payments, as a Codex node does.
func New(cfg Config) *API {
	a := &API{cfg: cfg, mux: http.NewServeMux(), fetched: map[dataset.CID]bool{}}
	a.ctx, a.cancel = context.WithCancel(context.Background())
	a.routes()
	a.behind.Go(a.collect)
	return a
}

// Close ends what goes on in the background. Calls may still be answered.
func (a *API) Close() error {
	a.cancel()
	a.behind.Wait()
	return nil
}

// ServeHTTP implements http.Handler.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) { a.mux.ServeHTTP(w, r) }

// routes are all calls. Those about data and the node are also where the network's present software has them.
func (a *API) routes() {
	const codex, present = "/api/codex/v1", "/api/storage/v1"
	for _, base := range []string{codex, present} {
		a.at("POST "+base+"/data", a.upload)
		a.at("GET "+base+"/data", a.list)
		a.at("GET "+base+"/data/{cid}", a.download)
		a.at("DELETE "+base+"/data/{cid}", a.remove)
		a.at("POST "+base+"/data/{cid}/network", a.fetch)
		a.at("GET "+base+"/data/{cid}/network/stream", a.stream)
		a.at("GET "+base+"/data/{cid}/network/manifest", a.manifest)
		a.at("GET "+base+"/data/{cid}/exists", a.exists)
		a.at("GET "+base+"/space", a.space)
		a.at("GET "+base+"/spr", noPeers(http.StatusServiceUnavailable))
		a.at("GET "+base+"/peerid", noPeers(http.StatusServiceUnavailable))
		a.at("GET "+base+"/node/peerid", noPeers(http.StatusServiceUnavailable)) // The SDK asks here.
		a.at("GET "+base+"/connect/{peer}", noPeers(http.StatusBadRequest))
		a.at("GET "+base+"/debug/info", a.info)
		a.at("POST "+base+"/debug/chronicles/loglevel", a.setLevel)
	}
	a.at("GET "+codex+"/sales/slots", a.slots)
	a.at("GET "+codex+"/sales/slots/{slot}", a.slot)
	a.at("GET "+codex+"/sales/availability", a.availabilities)
	a.at("POST "+codex+"/sales/availability", a.addAvailability)
	a.at("PATCH "+codex+"/sales/availability/{id}", a.setAvailability)
	a.at("OPTIONS "+codex+"/sales/availability/{id}", func(w http.ResponseWriter, _ *http.Request) error {
		w.Header().Set("Allow", "PATCH, OPTIONS")
		w.WriteHeader(http.StatusNoContent)
		return nil
	})
	a.at("GET "+codex+"/sales/availability/{id}/reservations", a.reservations)
	a.at("POST "+codex+"/storage/request/{cid}", a.buy)
	a.at("GET "+codex+"/storage/purchases", a.purchases)
	a.at("GET "+codex+"/storage/purchases/{id}", a.purchase)
}

// at has a call answered. What a handler returns is the answer instead of its own.
func (a *API) at(pattern string, handle func(w http.ResponseWriter, r *http.Request) error) {
	a.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		if err := handle(w, r); err != nil {
			text(w, statusOf(err), err.Error())
		}
	})
}

// refusal is an answer that is no success.
type refusal struct {
	status int
	says   string
}

func (r refusal) Error() string { return r.says }

// refuse is a refusal with a message, as fmt.Sprintf makes it.
func refuse(status int, format string, args ...any) error {
	return refusal{status, fmt.Sprintf(format, args...)}
}

// unfit refuses values that can be read and make no sense.
func unfit(format string, args ...any) error {
	return refuse(http.StatusUnprocessableEntity, format, args...)
}

// statusOf is the status that an error has if its handler has not chosen one.
func statusOf(err error) int {
	if r, ok := errors.AsType[refusal](err); ok {
		return r.status
	}
	for status, all := range map[int][]error{
		http.StatusServiceUnavailable:  {problem.ErrStandby, localchain.ErrStopped, events.ErrAway},
		http.StatusInsufficientStorage: {events.ErrDiskFull},
	} {
		for _, is := range all {
			if errors.Is(storage.FullDisk(err), is) {
				return status
			}
		}
	}
	return http.StatusInternalServerError
}

// text answers with plain text.
func text(w http.ResponseWriter, status int, says string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, says) // The caller may be gone.
}

// answer answers with JSON.
func answer(w http.ResponseWriter, status int, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(b) // The caller may be gone.
	return nil
}

// read reads a JSON body, whatever its type is said to be: the SDK says text/plain.
func read(w http.ResponseWriter, r *http.Request, into any) error {
	b, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if _, long := errors.AsType[*http.MaxBytesError](err); long {
		return refuse(http.StatusRequestEntityTooLarge, "The body is longer than %d bytes", maxBody)
	}
	if err == nil {
		err = json.Unmarshal(b, into)
	}
	if err != nil {
		return refuse(http.StatusBadRequest, "%v", err)
	}
	return nil
}

// collect collects again and again what is left of payments.
func (a *API) collect() {
	look := time.NewTicker(collectEvery)
	defer look.Stop()
	for {
		select {
		case <-a.ctx.Done():
			return
		case <-look.C:
		}
		if err := a.cfg.Buyer.CollectAll(a.ctx); err != nil && a.ctx.Err() == nil {
			a.cfg.Log.Warnf("what is left of a request's payment cannot be collected yet; it is tried again: %v", err)
		}
	}
}
