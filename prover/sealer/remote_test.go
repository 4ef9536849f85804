package sealer_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hostnode/hostnode/actors/port"
	"github.com/hostnode/hostnode/actors/porttest/sealertest"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/prover/sealer"
	"github.com/hostnode/hostnode/prover/sealer/remoteapi"
	"github.com/hostnode/hostnode/prover/sealer/remotetest"
	"github.com/hostnode/hostnode/storage/sectors/sectorstest"
)

const token = "the-token-of-the-host"

// prover starts an outside prover over a sealer.
func prover(t *testing.T, s port.Sealer, async bool) (*remotetest.Server, string) {
	t.Helper()
	server := remotetest.New(s, token)
	server.Async = async
	h := httptest.NewServer(server)
	t.Cleanup(func() { h.Close(); server.Close() })
	return server, h.URL
}

func remote(t *testing.T, cfg sealer.RemoteConfig) *sealer.RemoteSealer {
	t.Helper()
	if cfg.Token == "" {
		cfg.Token = token
	}
	cfg.Backoff = time.Millisecond
	r, err := sealer.NewRemote(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// called is a remote sealer that receives call-backs. It hardly ever asks by itself.
func called(t *testing.T, url, proves string) *sealer.RemoteSealer {
	t.Helper()
	var handler atomic.Pointer[http.Handler]
	back := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		(*handler.Load()).ServeHTTP(w, r)
	}))
	t.Cleanup(back.Close)
	r := remote(t, sealer.RemoteConfig{
		URL: url, Proves: proves, SealLeaves: sealLeaves, Callback: back.URL, CallbackToken: "of the call-backs", Poll: time.Hour,
	})
	h := r.Callbacks()
	handler.Store(&h)
	return r
}

func TestTheRemoteSealerObeysItsPort(t *testing.T) {
	for name, newSealer := range makers {
		for kind, async := range map[string]bool{"at once": false, "with call-backs": true} {
			t.Run(name+" "+kind, func(t *testing.T) {
				sealertest.Run(t, func(t *testing.T) sealertest.World {
					var inner port.Sealer
					w := world(func(f sealer.Files) port.Sealer { inner = newSealer(f); return inner }, false)
					_, url := prover(t, inner, async)
					w.Sealer = called(t, url, inner.Proves())
					restart := w.Restart
					w.Restart = func() port.Sealer { // Both begin anew.
						_, url := prover(t, restart(), async)
						return called(t, url, inner.Proves())
					}
					return w
				})
			})
		}
	}
}

func TestAStepThatRunsIsAskedForAgain(t *testing.T) {
	_, url := prover(t, sealer.NewSim(sectorstest.NewMemory(), 0), true)
	r := remote(t, sealer.RemoteConfig{URL: url, Proves: sealer.Simulated, Poll: time.Millisecond})
	if _, err := r.PreCommit1(t.Context(), sealertest.Sector, events.Hash{}, nil, nil); err != nil {
		t.Fatal(err)
	}
}

func TestAProverThatIsLostForAWhile(t *testing.T) {
	server, url := prover(t, sealer.NewSim(sectorstest.NewMemory(), 0), false)
	var fails atomic.Int32
	status := http.StatusServiceUnavailable
	server.Refuse = func(w http.ResponseWriter, _ *http.Request) bool {
		if fails.Add(-1) < 0 {
			return false
		}
		w.WriteHeader(status)
		return true
	}
	r := remote(t, sealer.RemoteConfig{URL: url, Proves: sealer.Simulated, Attempts: 3})
	l := sealertest.NewLoad(t, 0, 1000, 'a')
	steps := map[string]func() error{
		"AddPiece": func() error {
			return r.AddPiece(t.Context(), sealertest.Sector, 0, l.SectorPiece, strings.NewReader(string(l.Bytes)))
		},
		"PreCommit1": func() error {
			_, err := r.PreCommit1(t.Context(), sealertest.Sector, events.Hash{}, nil, nil)
			return err
		},
		"Remove": func() error { return r.Remove(t.Context(), sealertest.Sector) },
	}
	for _, name := range []string{"PreCommit1", "Remove", "AddPiece"} {
		for _, status = range []int{503, 500, 429, 408} {
			fails.Store(3)
			if err := steps[name](); !errors.Is(err, events.ErrSealerAway) {
				t.Errorf("%s, three times %d: %v", name, status, err)
			}
			fails.Store(2)
			if err := steps[name](); err != nil {
				t.Errorf("%s, twice %d: %v", name, status, err)
			}
		}
	}
}

func TestAProverThatDoesNotAnswer(t *testing.T) {
	h := httptest.NewServer(http.NotFoundHandler())
	h.Close()
	r := remote(t, sealer.RemoteConfig{URL: h.URL, Proves: sealer.Simulated})
	if err := r.Remove(t.Context(), sealertest.Sector); !errors.Is(err, events.ErrSealerAway) {
		t.Fatal(err)
	}
	// One that accepts requests and does not answer.
	stop := make(chan struct{})
	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-stop:
		case <-r.Context().Done():
		}
	}))
	defer silent.Close()
	defer close(stop)
	r = remote(t, sealer.RemoteConfig{URL: silent.URL, Proves: sealer.Simulated, RequestTimeout: 20 * time.Millisecond, Attempts: 2})
	if err := r.Remove(t.Context(), sealertest.Sector); !errors.Is(err, events.ErrSealerAway) {
		t.Fatal(err)
	}
	cause := errors.New("the host stops")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	if err := r.Remove(ctx, sealertest.Sector); !errors.Is(err, cause) {
		t.Fatal(err)
	}
}

// A prover that answers anything.
func TestAnswersThatAreNone(t *testing.T) {
	var reply string
	var code int
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/prover" {
			_, _ = io.WriteString(w, `{"Version":1,"Proves":"possession","More":true}`)
			return
		}
		if code == http.StatusTemporaryRedirect {
			w.Header().Set("Location", "http://127.0.0.1:1/steal")
		}
		w.WriteHeader(code)
		_, _ = io.WriteString(w, reply)
	}))
	defer h.Close()
	r := remote(t, sealer.RemoteConfig{URL: h.URL, Proves: sealer.Possession, MaxAnswer: 4 << 20})
	large := func(n int) string { return `"` + strings.Repeat("AAAA", n/3+1) + `"` }
	precommit1 := func() error {
		_, err := r.PreCommit1(t.Context(), sealertest.Sector, events.Hash{}, nil, nil)
		return err
	}
	precommit2 := func() error {
		_, _, err := r.PreCommit2(t.Context(), sealertest.Sector, nil, nil)
		return err
	}
	day := func() error {
		_, err := r.Challenge(t.Context(), sealertest.Sector, events.Hash{}, 1)
		return err
	}
	l := sealertest.NewLoad(t, 0, 1000, 'a')
	piece := func() error {
		return r.AddPiece(t.Context(), sealertest.Sector, 0, l.SectorPiece, strings.NewReader(string(l.Bytes)))
	}
	for name, c := range map[string]struct {
		step  func() error
		code  int
		reply string
		want  error
		says  string
	}{
		"no JSON":               {precommit1, 200, "hello", events.ErrNoProver, "its answer"},
		"nothing":               {precommit1, 200, "", events.ErrNoProver, "its answer"},
		"no state":              {precommit1, 200, "{}", events.ErrNoProver, "the state"},
		"a state of its own":    {precommit1, 200, `{"State":"Sealing"}`, events.ErrNoProver, "Sealing"},
		"no result":             {precommit1, 200, `{"State":"done"}`, events.ErrNoProver, "its result"},
		"a result of its own":   {precommit1, 200, `{"State":"done","Result":{"PreCommit1Out":7}}`, events.ErrNoProver, "its result"},
		"too large an out":      {precommit1, 200, `{"State":"done","Result":{"PreCommit1Out":` + large(65<<10) + `}}`, events.ErrSealerLies, "at most 65536"},
		"too large a proof":     {day, 200, `{"State":"done","Result":{"Proof":` + large(2<<20) + `}}`, events.ErrSealerLies, "at most 1048576"},
		"too large an answer":   {day, 200, large(5 << 20), events.ErrNoProver, "more than 4194304"},
		"roots that are none":   {precommit2, 200, `{"State":"done","Result":{"Unsealed":"0x12","Sealed":"?"}}`, events.ErrSealerLies, "second step"},
		"a piece that runs":     {piece, 202, `{"State":"running"}`, events.ErrNoProver, "does not run"},
		"a failure":             {precommit1, 422, `{"State":"failed","Code":"damaged","Error":"disk"}`, events.ErrSectorDamaged, "disk"},
		"an unknown code":       {precommit1, 422, `{"State":"failed","Code":"moon","Error":"is full"}`, nil, `"is full" (moon)`},
		"our token in an error": {precommit1, 422, `{"State":"failed","Code":"moon","Error":"` + token + `"}`, nil, events.Hidden},
		"a long error":          {precommit1, 422, `{"State":"failed","Error":` + large(2<<20) + `}`, nil, "…"},
		"another address":       {precommit1, 307, "", events.ErrNoProver, "is no prover"},
		"not found":             {precommit1, 404, "", events.ErrNoProver, "is no prover"},
		"a wrong token":         {precommit1, 401, "", events.ErrNoProver, "does not take our token"},
	} {
		code, reply = c.code, c.reply
		err := c.step()
		if err == nil || (c.want != nil && !errors.Is(err, c.want)) || !strings.Contains(err.Error(), c.says) ||
			strings.Contains(err.Error(), token) || len(err.Error()) > 1500 {
			t.Errorf("%s: %.2000v", name, err)
		}
		// What is no answer of a prover says nothing about the sector: the step pauses, and has not failed.
		if away := errors.Is(err, events.ErrSealerAway); away != errors.Is(c.want, events.ErrNoProver) {
			t.Errorf("%s: is called away: %t", name, away)
		}
	}
}

func TestAProverThatShowsSomethingElseIsRefused(t *testing.T) {
	_, url := prover(t, sealer.NewSim(sectorstest.NewMemory(), 0), false)
	r := remote(t, sealer.RemoteConfig{URL: url, Proves: sealer.Replication})
	if err := r.Remove(t.Context(), sealertest.Sector); !errors.Is(err, events.ErrNoProver) || !strings.Contains(err.Error(), "simulated") {
		t.Fatal(err)
	}
	r = remote(t, sealer.RemoteConfig{URL: url, Proves: sealer.Simulated, Token: "another"})
	if err := r.Remove(t.Context(), sealertest.Sector); err == nil || !strings.Contains(err.Error(), "token") {
		t.Fatal(err)
	}
}

// liar answers another CommR than it has.
type liar struct{ port.Sealer }

func (l liar) PreCommit2(
	ctx context.Context, sector events.SectorRef, out []byte, progress events.SectorProgress,
) (commD, commR events.Hash, err error) {
	commD, commR, err = l.Sealer.PreCommit2(ctx, sector, out, progress)
	commR[5] ^= 1
	return commD, commR, err
}

// A lie of the outside prover is found like one of a sealer on this host.
func TestAnOutsideProverThatLiesIsFoundOut(t *testing.T) {
	inner := liar{sealer.NewSim(sectorstest.NewMemory(), 0)}
	_, url := prover(t, inner, false)
	r := remote(t, sealer.RemoteConfig{URL: url, Proves: sealer.Simulated})
	out, err := r.PreCommit1(t.Context(), sealertest.Sector, events.Hash{}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	commD, commR, err := r.PreCommit2(t.Context(), sealertest.Sector, out, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.VerifyCommitments(sealertest.Sector, events.SealContext{CommD: commD, CommR: commR}); !errors.Is(err, events.ErrSealerLies) {
		t.Fatal(err)
	}
}

func TestSettingsOfAProverThatCannotBe(t *testing.T) {
	for name, c := range map[string]struct {
		cfg  sealer.RemoteConfig
		says string
	}{
		"no URL":            {sealer.RemoteConfig{Proves: sealer.Possession}, "want https"},
		"another scheme":    {sealer.RemoteConfig{URL: "ftp://x", Proves: sealer.Possession}, "want https"},
		"no host":           {sealer.RemoteConfig{URL: "https://", Proves: sealer.Possession}, "want https"},
		"plain http":        {sealer.RemoteConfig{URL: "http://prover.example", Proves: sealer.Possession}, "in the clear"},
		"nothing to show":   {sealer.RemoteConfig{URL: "https://prover.example"}, "is to show"},
		"a password in it":  {sealer.RemoteConfig{URL: "ftp://u:secretsecret@x"}, "want https"},
		"something unknown": {sealer.RemoteConfig{URL: "https://prover.example", Proves: "magic"}, "magic"},
	} {
		if _, err := sealer.NewRemote(c.cfg); !errors.Is(err, events.ErrMalformed) || !strings.Contains(err.Error(), c.says) ||
			strings.Contains(err.Error(), "secretsecret") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, cfg := range []sealer.RemoteConfig{
		{URL: "http://localhost:1"}, {URL: "http://[::1]:1"}, {URL: "https://prover.example/path/"},
	} {
		cfg.Proves = sealer.Possession
		if _, err := sealer.NewRemote(cfg); err != nil {
			t.Error(err)
		}
	}
}

func TestCallbacksThatAreRefused(t *testing.T) {
	r := remote(t, sealer.RemoteConfig{URL: "http://localhost:1", Proves: sealer.Possession, CallbackToken: "secret"})
	good := `{"Provider":"0x0102030000000000000000000000000000000000","Number":5}`
	for name, c := range map[string]struct {
		method, bearer, body string
		want                 int
	}{
		"one that is taken":   {"POST", "Bearer secret", good, 204},
		"another token":       {"POST", "Bearer secreu", good, 401},
		"no token":            {"POST", "", good, 401},
		"an empty token":      {"POST", "Bearer ", good, 401},
		"another method":      {"GET", "Bearer secret", good, 405},
		"no JSON":             {"POST", "Bearer secret", "x", 400},
		"no provider":         {"POST", "Bearer secret", "{}", 400},
		"more than there may": {"POST", "Bearer secret", strings.Repeat(" ", 5000) + good, 400},
	} {
		w := httptest.NewRecorder()
		req := httptest.NewRequest(c.method, "/", strings.NewReader(c.body))
		req.Header.Set("Authorization", c.bearer)
		r.Callbacks().ServeHTTP(w, req)
		if w.Code != c.want {
			t.Errorf("%s: %d, want %d", name, w.Code, c.want)
		}
	}
	// Without a configured token, none are accepted.
	w := httptest.NewRecorder()
	req := httptest.NewRequest("POST", "/", strings.NewReader(good))
	req.Header.Set("Authorization", "Bearer ")
	remote(t, sealer.RemoteConfig{URL: "http://localhost:1", Proves: sealer.Possession}).Callbacks().ServeHTTP(w, req)
	if w.Code != http.StatusUnauthorized {
		t.Errorf("without a token: %d", w.Code)
	}
}

func TestEachErrorOfASealerHasACode(t *testing.T) {
	for _, err := range []error{
		events.ErrDiskFull, events.ErrPieceMismatch, events.ErrPieceRefused, events.ErrSectorStep,
		events.ErrSectorDamaged, events.ErrNoSectorPart, events.ErrMalformed,
	} {
		if got := remoteapi.Errors[remotetest.Code(err)]; !errors.Is(got, err) {
			t.Errorf("%v becomes %v", err, got)
		}
	}
	if remotetest.Code(io.EOF) != "other" || remoteapi.Errors["other"] != nil {
		t.Error("an error without a code has one")
	}
}

func FuzzAnswer(f *testing.F) {
	f.Add([]byte(`{"State":"done","Result":{"PreCommit1Out":"AAAA"}}`), 200)
	f.Add([]byte(`{"State":"failed","Code":"damaged"}`), 422)
	var reply []byte
	var code int
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/prover" {
			_, _ = io.WriteString(w, `{"Version":1,"Proves":"possession"}`)
			return
		}
		w.WriteHeader(code)
		_, _ = w.Write(reply)
	}))
	f.Cleanup(h.Close)
	f.Fuzz(func(t *testing.T, body []byte, status int) {
		if status < 200 || status > 599 {
			return
		}
		reply, code = body, status
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond) // It may run for ever.
		defer cancel()
		r := remote(t, sealer.RemoteConfig{URL: h.URL, Proves: sealer.Possession, Attempts: 1})
		if _, _, err := r.PreCommit2(ctx, sealertest.Sector, nil, nil); err == nil && status >= 300 && status != 422 {
			t.Fatalf("status %d is taken", status)
		}
	})
}
