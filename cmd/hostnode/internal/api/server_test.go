package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/sirupsen/logrus"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/api"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/datadir"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/keys"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/problem"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/problem/rows"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/projections"
)

func silent() *logrus.Entry {
	log := logrus.New()
	log.SetOutput(io.Discard)
	return logrus.NewEntry(log)
}

// fixed is a clock that stands still, so that answers can be compared.
func fixed() time.Time { return time.Date(2031, 4, 5, 6, 7, 8, 0, time.UTC) }

// offline opens a fresh data directory.
func offline(t testing.TB, account events.Address) *api.Offline {
	t.Helper()
	b, err := api.OpenOffline(t.Context(), api.OfflineConfig{
		Source: api.Source{DataDir: shortDir(t), Account: account, Now: fixed},
		Quota:  10 << 20, Create: true, Node: "test",
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

// shortDir is a directory whose sockets have short paths.
func shortDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "hn")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// served puts a backend behind a socket and returns a client of it.
func served(t testing.TB, b api.Backend) asking {
	t.Helper()
	socket := filepath.Join(shortDir(t), "s")
	server, err := api.Listen(socket, b, silent())
	if err != nil {
		t.Fatal(err)
	}
	client := api.NewClient(socket)
	t.Cleanup(func() {
		if err := errors.Join(client.Close(), server.Close()); err != nil {
			t.Error(err)
		}
	})
	return asking{client}
}

func TestTheAnswerIsTheSameOverTheSocket(t *testing.T) {
	direct := offline(t, me)
	client := served(t, direct)
	o := offer()
	o.ID = api.DrawID().String()
	o.Until = time.Date(2040, 1, 1, 0, 0, 0, 0, time.UTC)
	added := ask(t, func(ctx context.Context) (projections.Availability, error) { return client.AddAvailability(ctx, o) })
	if added.ID != o.ID || !added.Until.Equal(o.Until) || !added.Enabled {
		t.Fatalf("%+v", added)
	}
	size, seconds, price, collateral, enabled := events.Bytes(2<<20), uint64(60), "3", "400", false
	changed := ask(t, func(ctx context.Context) (projections.Availability, error) {
		return client.SetAvailability(ctx, o.ID[:12], api.Changes{
			Size: &size, DurationSeconds: &seconds, MinPrice: &price, Collateral: &collateral, Enabled: &enabled, NoEnd: true,
		})
	})
	want := projections.Availability{
		ID: o.ID, TotalSize: size, FreeSize: size, DurationSeconds: 60, MinPrice: "3", Collateral: "400",
		Committed: "0", Lost: "0", Remaining: "400",
	}
	if diff := cmp.Diff(want, changed); diff != "" {
		t.Fatal(diff)
	}
	ask(t, func(ctx context.Context) (api.Queue, error) { return client.PauseQueue(ctx, "tea") })
	same(t, client.Status, direct.Status)
	same(t, client.Ledger, direct.Ledger)
	same(t, client.Queue, direct.Queue)
	same(t, client.Members, direct.Members)
	same(t, func(ctx context.Context) (api.Audit, error) { return client.Audit(ctx, api.AuditOptions{From: 1}) },
		func(ctx context.Context) (api.Audit, error) { return direct.Audit(ctx, api.AuditOptions{From: 1}) })
	same(t, func(ctx context.Context) (api.Sales, error) { return client.Sales(ctx, 3) },
		func(ctx context.Context) (api.Sales, error) { return direct.Sales(ctx, 3) })
	if q := ask(t, func(ctx context.Context) (api.Queue, error) { return client.ResumeQueue(ctx, "") }); q.Paused {
		t.Fatalf("%+v", q)
	}
	if id := ask(t, func(ctx context.Context) (string, error) { return client.RemoveAvailability(ctx, o.ID) }); id != o.ID {
		t.Fatal(id)
	}
}

func same[A any](t *testing.T, one, other func(context.Context) (A, error)) {
	t.Helper()
	if diff := cmp.Diff(ask(t, other), ask(t, one)); diff != "" {
		t.Fatal(diff)
	}
}

func TestAddingTheSameAvailabilityAgainChangesNothing(t *testing.T) {
	b := offline(t, me)
	o := offer()
	o.ID = api.DrawID().String()
	for range 3 {
		ask(t, func(ctx context.Context) (projections.Availability, error) { return b.AddAvailability(ctx, o) })
	}
	l := ask(t, b.Ledger)
	if len(l.Availabilities) != 1 || l.AsOf.Position != 2 {
		t.Fatalf("%d availabilities after event %d", len(l.Availabilities), l.AsOf.Position)
	}
	o.Size++
	if _, err := b.AddAvailability(t.Context(), o); !errors.Is(err, capacity.ErrExists) {
		t.Fatal(err)
	}
}

func TestAnErrorIsTheSameOverTheSocket(t *testing.T) {
	direct := offline(t, me)
	client := served(t, direct)
	large, empty := offer(), offer()
	large.ID, empty.ID = api.DrawID().String(), api.DrawID().String()
	large.Size, empty.Size = 1<<40, 0
	wrong := offer()
	wrong.MinPrice = "-1"
	late := offer()
	late.DurationSeconds = 1 << 63
	for _, c := range []struct {
		code string
		ask  func(asking) error
	}{
		{"quota-exceeded", func(b asking) error { _, err := b.AddAvailability(t.Context(), large); return err }},
		{"availability-invalid", func(b asking) error { _, err := b.AddAvailability(t.Context(), empty); return err }},
		{"bad-request", func(b asking) error { _, err := b.AddAvailability(t.Context(), wrong); return err }},
		{"bad-request", func(b asking) error { _, err := b.AddAvailability(t.Context(), late); return err }},
		{"availability-unknown", func(b asking) error { _, err := b.RemoveAvailability(t.Context(), "0xbeef"); return err }},
		{"bad-request", func(b asking) error { _, err := b.RemoveAvailability(t.Context(), "0x"); return err }},
		{"bad-request", func(b asking) error { _, err := b.RemoveAvailability(t.Context(), "%2f?#"); return err }},
		{"bad-request", func(b asking) error { _, err := b.Sales(t.Context(), -1); return err }},
		{"sale-unknown", func(b asking) error { _, err := b.Sale(t.Context(), "0xbeef"); return err }},
		{"bad-request", func(b asking) error { _, err := b.Sale(t.Context(), strings.Repeat("a", 1000)); return err }},
	} {
		near, far := c.ask(asking{direct}), c.ask(client)
		if near == nil || far == nil {
			t.Fatalf("%s: %v, %v", c.code, near, far)
		}
		if diff := cmp.Diff(rows.All().Explain(near), rows.All().Explain(far), cmpopts.IgnoreUnexported(problem.Problem{})); diff != "" {
			t.Errorf("%s: %s", c.code, diff)
		}
		if got := rows.All().Explain(far).Code; got != c.code {
			t.Errorf("%v is %s, want %s", far, got, c.code)
		}
	}
	if err := func() error { _, err := client.Sale(t.Context(), "0xbeef"); return err }(); !errors.Is(err, problem.ErrUnknownSale) {
		t.Errorf("the sentinel is lost: %v", err)
	}
}

func TestWithoutAnAccountNothingIsWritten(t *testing.T) {
	b := offline(t, events.Address{})
	if _, err := b.AddAvailability(t.Context(), offer()); !errors.Is(err, keys.ErrMissing) {
		t.Fatal(err)
	}
	if _, err := b.PauseQueue(t.Context(), "x"); !errors.Is(err, keys.ErrMissing) {
		t.Fatal(err)
	}
	s := ask(t, b.Status)
	if s.Account != "" || s.Selling || s.AsOf.Position != 0 {
		t.Fatalf("%+v", s)
	}
}

func TestADirectoryInUseIsNotOpenedTwice(t *testing.T) {
	dir := shortDir(t)
	cfg := api.OfflineConfig{Source: api.Source{DataDir: dir, Account: me}, Quota: 1 << 20, Create: true}
	first, err := api.OpenOffline(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := api.OpenOffline(t.Context(), cfg); !errors.Is(err, datadir.ErrInUse) {
		t.Fatal(err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := api.OpenOffline(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Close(); err != nil {
		t.Fatal(err)
	}
	cfg.DataDir, cfg.Create = filepath.Join(dir, "none"), false
	if _, err := api.OpenOffline(t.Context(), cfg); !errors.Is(err, datadir.ErrEmpty) {
		t.Fatal(err)
	}
}

func TestNobodyOnTheSocketIsAnErrorOfItsOwn(t *testing.T) {
	c := api.NewClient(filepath.Join(shortDir(t), "none"))
	if c.Ping(t.Context()) == nil {
		t.Fatal("somebody is there")
	}
	if _, err := api.ShowStatus.Ask(t.Context(), c, api.Then{}); !errors.Is(err, problem.ErrNotRunning) {
		t.Fatal(err)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := api.ShowStatus.Ask(gone, c, api.Then{}); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
}

func TestOnlyTheOwnerMayConnect(t *testing.T) {
	socket := filepath.Join(shortDir(t), "s")
	server, err := api.Listen(socket, offline(t, me), silent())
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(socket)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("%v, %v", info.Mode(), err)
	}
	if err := server.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(socket); err == nil {
		t.Fatal("the socket was left behind")
	}
}

// request asks a handler and returns status, problem code and Allow.
func request(h http.Handler, method, path, body string) (status int, code, allow string) {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(method, path, strings.NewReader(body)))
	var p problem.Problem
	if w.Header().Get("Content-Type") == "application/problem+json" {
		if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil {
			return w.Code, err.Error(), ""
		}
	}
	return w.Code, p.Code, w.Header().Get("Allow")
}

func TestBadRequestsAreRefused(t *testing.T) {
	h := api.Handler(offline(t, me), silent())
	for _, c := range []struct {
		method, path, body string
		status             int
		code               string
	}{
		{"GET", "/", "", 404, "not-found"},
		{"GET", "/api/v1/nothing", "", 404, "not-found"},
		{"GET", "/api/v2/status", "", 404, "not-found"},
		{"POST", "/api/v1/status", "{}", 405, "method-not-allowed"},
		{"DELETE", "/api/v1/availabilities", "", 405, "method-not-allowed"},
		{"BREW", "/api/v1/sales", "", 405, "method-not-allowed"},
		{"GET", "/api/v1/queue/pause", "", 405, "method-not-allowed"},
		{"POST", "/api/v1/availabilities", "", 400, "bad-request"},
		{"POST", "/api/v1/availabilities", "null", 400, "bad-request"},
		{"POST", "/api/v1/availabilities", "[]", 400, "bad-request"},
		{"POST", "/api/v1/availabilities", "{", 400, "bad-request"},
		{"POST", "/api/v1/availabilities", "{} {}", 400, "bad-request"},
		{"POST", "/api/v1/availabilities", `{"sise": 5}`, 400, "bad-request"},
		{"POST", "/api/v1/availabilities", `{"size": -5}`, 400, "bad-request"},
		{"POST", "/api/v1/availabilities", `{"size": 1e30}`, 400, "bad-request"},
		{"POST", "/api/v1/availabilities", `{"size": "5"}`, 400, "bad-request"},
		{"POST", "/api/v1/availabilities", `{"id": "0x12", "size": 5}`, 400, "bad-request"},
		{"POST", "/api/v1/availabilities", `{"until": "soon"}`, 400, "bad-request"},
		{"POST", "/api/v1/availabilities", `{"id": "` + strings.Repeat("x", api.MaxBody) + `"}`, 413, "too-large"},
		{"PATCH", "/api/v1/availabilities/zz", "{}", 400, "bad-request"},
		{"PATCH", "/api/v1/availabilities/beef", "{}", 404, "availability-unknown"},
		{"GET", "/api/v1/sales?settled=x", "", 400, "bad-request"},
		{"GET", "/api/v1/sales?settled=-1", "", 400, "bad-request"},
		{"GET", "/api/v1/sales?settled=1000000", "", 400, "bad-request"},
		{"POST", "/api/v1/queue/pause", `{"reason": "` + strings.Repeat("x", 501) + `"}`, 400, "bad-request"},
		{"HEAD", "/api/v1/status", "", 200, ""},
	} {
		name := fmt.Sprintf("%s %s %.40s", c.method, c.path, c.body)
		status, code, allow := request(h, c.method, c.path, c.body)
		if status != c.status || code != c.code {
			t.Errorf("%s: %d %s, want %d %s", name, status, code, c.status, c.code)
		}
		if (status == 405) != (allow != "") {
			t.Errorf("%s: Allow is %q", name, allow)
		}
	}
}

// broken is a backend with bugs.
type broken struct{ *api.Offline }

func (broken) Status(context.Context) (api.Status, error) { panic("a bug") }
func (broken) Queue(context.Context) (api.Queue, error) {
	return api.Queue{}, fmt.Errorf("wait: %w", context.DeadlineExceeded)
}

func TestABugInAHandlerIsAnAnswer(t *testing.T) {
	h := api.Handler(broken{offline(t, me)}, silent())
	if status, code, _ := request(h, "GET", "/api/v1/status", ""); status != 500 || code != "internal" {
		t.Fatalf("%d %s", status, code)
	}
	if status, code, _ := request(h, "GET", "/api/v1/queue", ""); status != 504 || code != "timeout" {
		t.Fatalf("%d %s", status, code)
	}
}

func TestTheHintOfALargeRequestSaysHowLargeItMayBe(t *testing.T) {
	if p := rows.All().Explain(problem.ErrTooLarge); !strings.Contains(p.Hint, fmt.Sprintf(" %d bytes", api.MaxBody)) {
		t.Errorf("%s: %s", p.Code, p.Hint)
	}
}

func FuzzRequests(f *testing.F) {
	for _, seed := range []struct{ method, path, body string }{
		{"POST", "availabilities", `{"size":1024,"durationSeconds":60,"minPricePerBytePerSecond":"1","totalCollateral":"5"}`},
		{"PATCH", "availabilities/beef", `{"size":5,"noEnd":true}`},
		{"DELETE", "availabilities/0xbeef", ""},
		{"GET", "sales?settled=9", ""},
		{"GET", "sales/0x5107", ""},
		{"POST", "queue/pause", `{"reason":"x"}`},
		{"GET", "audit", ""},
		{"GET", "status", ""},
	} {
		f.Add(seed.method, seed.path, seed.body)
	}
	h := api.Handler(offline(f, me), silent())
	f.Fuzz(func(t *testing.T, method, path, body string) {
		r, err := http.NewRequest(method, "http://h/api/v1/"+path, bytes.NewReader([]byte(body)))
		if err != nil {
			return // No client could send it.
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code >= 500 {
			t.Fatalf("%s %s %q: %d %s", method, path, body, w.Code, w.Body)
		}
		if w.Code >= 400 && !strings.Contains(w.Body.String(), `"hint"`) {
			t.Fatalf("%s %s %q: %d %s", method, path, body, w.Code, w.Body)
		}
	})
}
