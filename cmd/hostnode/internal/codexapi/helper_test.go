package codexapi_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/api"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/codexapi"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/requester"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/storage/dataset"
)

const quota = 10 << 20

// rig is the API over a real record without a host, a real shelf, and a market in memory.
type rig struct {
	*market
	shelf *requester.Shelf
	dir   string // of the shelf
	data  string // the host's data directory
	log   *logrus.Entry
	api   *codexapi.API
	// server waits for its calls when it is closed.
	server *httptest.Server
	url    string
}

func newRig(t *testing.T, change func(*codexapi.Config)) *rig {
	t.Helper()
	dir, err := os.MkdirTemp("", "hn") // Sockets have short paths.
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	host, err := api.OpenOffline(t.Context(), api.OfflineConfig{
		Source: api.Source{DataDir: dir, Account: events.Address{1}, Now: func() time.Time { return now }},
		Quota:  quota, Create: true, Node: "test",
	})
	if err != nil {
		t.Fatal(err)
	}
	log := logrus.New()
	log.SetOutput(io.Discard)
	r := &rig{
		market: &market{asked: map[events.RequestID]requester.Purchase{}}, dir: filepath.Join(t.TempDir(), "shelf"),
		data: dir, log: logrus.NewEntry(log),
	}
	r.shelf = requester.Open(r.dir)
	cfg := codexapi.Config{
		Host: host, Market: r.market, Buyer: r.market, Shelf: r.shelf, Content: nowhere{}, MaxUpload: 10 << 30,
		Log: r.log,
	}
	if change != nil {
		change(&cfg)
	}
	r.api = codexapi.New(cfg)
	r.server = httptest.NewServer(r.api)
	r.url = r.server.URL
	t.Cleanup(func() {
		r.server.Close()
		if err := errors.Join(r.api.Close(), r.shelf.Close(), host.Close()); err != nil {
			t.Error(err)
		}
	})
	return r
}

// now is by a clock that stands still.
var now = time.Date(2031, 4, 5, 6, 7, 8, 0, time.UTC)

// call calls as the SDK does, with a body of type text/plain.
func (r *rig) call(t testing.TB, method, path, body string, headers ...string) (status int, says string) {
	t.Helper()
	status, says, _ = r.ask(t, method, path, strings.NewReader(body), headers...)
	return status, says
}

func (r *rig) ask(t testing.TB, method, path string, body io.Reader, headers ...string) (int, string, http.Header) {
	t.Helper()
	if !strings.HasPrefix(path, "/api/") {
		path = "/api/codex/v1" + path
	}
	q, err := http.NewRequestWithContext(t.Context(), method, r.url+path, body)
	if err != nil {
		t.Fatal(err)
	}
	q.Header.Set("Content-Type", "text/plain;charset=UTF-8")
	for i := 0; i < len(headers); i += 2 {
		q.Header.Set(headers[i], headers[i+1])
	}
	a, err := http.DefaultClient.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	b, err := io.ReadAll(a.Body)
	if err != nil {
		t.Fatal(err)
	}
	return a.StatusCode, string(b), a.Header
}

// must is the answer to a call that succeeds.
func (r *rig) must(t testing.TB, want int, method, path, body string, headers ...string) string {
	t.Helper()
	status, says := r.call(t, method, path, body, headers...)
	if status != want {
		t.Fatalf("%s %s: %d %s, want %d", method, path, status, says, want)
	}
	return says
}

// market is a market in memory, with its buyer.
type market struct {
	mu     sync.Mutex
	slots  []events.OwnedSlot
	order  []events.RequestID
	asked  map[events.RequestID]requester.Purchase
	failed error
	// collected is how often CollectAll was called.
	collected int
}

func (m *market) MySlots(context.Context) ([]events.OwnedSlot, error) { return m.slots, m.failed }

func (m *market) Request(_ context.Context, id events.RequestID) (events.Request, error) {
	if p, ok := m.asked[id]; ok {
		return p.Request, nil
	}
	return events.Request{}, events.ErrUnknownRequest
}

func (m *market) MaxDuration(context.Context) (time.Duration, error) { return 1000 * time.Second, nil }

func (m *market) Buy(
	_ context.Context, d *dataset.Dataset, t requester.Terms, _ time.Time,
) (events.Request, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := t.Request(d)
	r.ID = events.RequestID{9, byte(len(m.order))}
	m.order = append(m.order, r.ID)
	m.asked[r.ID] = requester.Purchase{Known: true, State: events.RequestNew, Request: r}
	return r, m.failed
}

func (m *market) Purchases(context.Context) ([]events.RequestID, error) { return m.order, nil }

func (m *market) Purchase(_ context.Context, id events.RequestID) (requester.Purchase, error) {
	return m.asked[id], nil
}

func (m *market) CollectAll(context.Context) error {
	m.collected++
	return m.failed
}

// nowhere has no content.
type nowhere struct{}

func (nowhere) Manifest(context.Context, dataset.CID) (dataset.Manifest, error) {
	return dataset.Manifest{}, events.ErrContentUnavailable
}

func (nowhere) CopyOriginal(context.Context, dataset.Manifest, io.Writer) error {
	return events.ErrContentUnavailable
}

// another is the shelf of another client, as content; it fails after some bytes.
type another struct {
	*requester.Shelf
	after int64 // 0: it does not fail
}

func (a another) Manifest(_ context.Context, c dataset.CID) (dataset.Manifest, error) {
	d, err := a.Get(c)
	if err != nil {
		return dataset.Manifest{}, events.ErrContentUnavailable
	}
	return d.Manifest(), nil
}

func (a another) CopyOriginal(_ context.Context, m dataset.Manifest, w io.Writer) error {
	all, err := a.Everything()
	if err != nil {
		return err
	}
	for _, d := range all {
		if d.Manifest().Tree != m.Tree {
			continue
		}
		if a.after > 0 {
			_, _ = io.CopyN(w, d.Original(), a.after)
			return events.ErrContentUnavailable
		}
		_, err := io.Copy(w, d.Original())
		return err
	}
	return events.ErrContentUnavailable
}
