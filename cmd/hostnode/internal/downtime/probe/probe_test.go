package probe

import (
	"context"
	"crypto/ecdsa"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ethereum/go-ethereum/crypto"
	"github.com/google/go-cmp/cmp"

	"github.com/hostnode/hostnode/actors/downtime"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/keys"
	"github.com/hostnode/hostnode/events"
)

var _ downtime.Prober = (*Prober)(nil)

const (
	chain = 31337
	north = events.Node("north")
)

// What may be found of a target.
var (
	offline  = downtime.Answer{}
	unproven = downtime.Answer{Online: true}
	proven   = downtime.Answer{Online: true, Proven: true}
)

func TestATargetIsJudgedByItsAnswer(t *testing.T) {
	key, account := newKey(t)
	otherKey, _ := newKey(t)
	answers := func(h http.Handler) http.HandlerFunc { return h.ServeHTTP }
	// says answers with a Statement of its own, signed with the account's key.
	says := func(change func(*Statement)) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			s := Statement{chain, account.String(), r.URL.Query().Get("nonce"), time.Now().UTC(), nil}
			change(&s)
			s.Signature, _ = keys.SignWith(key)(r.Context(), s.Text())
			_ = json.NewEncoder(w).Encode(s)
		}
	}
	failing := func(context.Context, []byte) ([]byte, error) { return nil, errors.New("the signer is away") }
	for _, c := range []struct {
		name    string
		target  http.HandlerFunc
		account events.Address
		want    downtime.Answer
	}{
		{"it signs", answers(NewResponder(chain, account, 10, keys.SignWith(key))), account, proven},
		{"its account is not known", answers(NewResponder(chain, account, 10, keys.SignWith(key))), events.Address{}, unproven},
		{"it cannot sign", answers(NewResponder(chain, account, 10, failing)), account, unproven},
		{"another account signs", answers(NewResponder(chain, account, 10, keys.SignWith(otherKey))), account, unproven},
		{"it is of another account", answers(NewResponder(chain, account, 10, keys.SignWith(key))), events.Address{1}, unproven},
		{"it is of another chain", answers(NewResponder(chain+1, account, 10, keys.SignWith(key))), account, unproven},
		{"nothing is wrong", says(func(*Statement) {}), account, proven},
		{"another nonce", says(func(s *Statement) { s.Nonce = strings.Repeat("0", 52) }), account, unproven},
		{"too old", says(func(s *Statement) { s.Time = s.Time.Add(-time.Hour) }), account, unproven},
		{"too new", says(func(s *Statement) { s.Time = s.Time.Add(time.Hour) }), account, unproven},
		{"something else", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "welcome") }, account, unproven},
		{"nothing", func(http.ResponseWriter, *http.Request) {}, account, unproven},
		{"not there", http.NotFound, account, offline},
		{"no content", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }, account, offline},
		{"an error", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) }, account, offline},
		{"it hangs up", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, account, offline},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newProber(t, Config{Targets: []Target{{north, serve(t, c.target), c.account}}})
			if got := probe(t, p); got[north] != c.want {
				t.Errorf("%+v, want %+v", got[north], c.want)
			}
		})
	}
}

func TestAnAnswerCannotBeUsedAgain(t *testing.T) {
	key, account := newKey(t)
	responder := NewResponder(chain, account, 10, keys.SignWith(key))
	var kept *httptest.ResponseRecorder
	p := newProber(t, Config{Targets: []Target{{north, serve(t, func(w http.ResponseWriter, r *http.Request) {
		if kept == nil {
			kept = httptest.NewRecorder()
			responder.ServeHTTP(kept, r)
		}
		_, _ = w.Write(kept.Body.Bytes())
	}), account}}})
	for _, want := range []downtime.Answer{proven, unproven} {
		if got := probe(t, p); got[north] != want {
			t.Errorf("%+v, want %+v", got[north], want)
		}
	}
}

func TestTheTimeOfAnAnswerHasALimit(t *testing.T) {
	key, account := newKey(t)
	now := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	p := newProber(t, Config{Now: func() time.Time { return now }})
	for off, want := range map[time.Duration]bool{
		0: true, maxSkew: true, -maxSkew: true, maxSkew + time.Second: false, -maxSkew - time.Second: false,
	} {
		s := Statement{chain, account.String(), "00", now.Add(off), nil}
		if got := p.proves(signed(t, key, s), account, "00"); got != want {
			t.Errorf("off by %s: %t, want %t", off, got, want)
		}
	}
	if p.proves([]byte(`{"time":"9999-12-31T23:59:59Z","signature":"0x`+strings.Repeat("00", 65)+`"}`), account, "00") {
		t.Error("a time in the far future is taken")
	}
}

func TestNoMoreOfAnAnswerIsReadThanItMayHave(t *testing.T) {
	key, account := newKey(t)
	wrote := make(chan int, 1)
	p := newProber(t, Config{Targets: []Target{{north, serve(t, func(w http.ResponseWriter, r *http.Request) {
		// It is a Statement, if it is read to its end.
		s := Statement{chain, account.String(), r.URL.Query().Get("nonce"), time.Now(), nil}
		filler := []byte(strings.Repeat(" ", maxBytes))
		count, err := 0, error(nil)
		for err == nil && count < 1<<30 {
			_, err = w.Write(filler)
			count += len(filler)
		}
		_, _ = w.Write(signed(t, key, s))
		wrote <- count
	}), account}}})
	if got := probe(t, p); got[north] != unproven {
		t.Errorf("%+v, want %+v", got[north], unproven)
	}
	if count := <-wrote; count >= 1<<30 {
		t.Errorf("all %d bytes were taken", count)
	}
}

func TestAnAnswerThatDoesNotEndInTimeIsNone(t *testing.T) {
	account := events.Address{1}
	target := func(begin bool) string {
		return serve(t, func(w http.ResponseWriter, r *http.Request) {
			if begin {
				w.WriteHeader(http.StatusOK)
				_ = http.NewResponseController(w).Flush()
			}
			<-r.Context().Done()
		})
	}
	silent := events.Node("silent")
	p := newProber(t, Config{Timeout: 100 * time.Millisecond, Targets: []Target{
		{north, target(true), account}, {silent, target(false), account},
	}})
	want := map[events.Node]downtime.Answer{north: offline, silent: offline}
	if diff := cmp.Diff(want, probe(t, p)); diff != "" {
		t.Error(diff)
	}
}

func TestARedirectIsFollowedOnItsOwnHostOnly(t *testing.T) {
	key, account := newKey(t)
	responder := NewResponder(chain, account, 10, keys.SignWith(key))
	var asked, around atomic.Int64
	there := serve(t, func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		responder.ServeHTTP(w, r)
	})
	to := func(where string) string {
		return serve(t, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, where+"?"+r.URL.RawQuery, http.StatusFound)
		})
	}
	p := newProber(t, Config{Targets: []Target{
		{"same", to(there), account},
		{"other", to(strings.Replace(there, "127.0.0.1", "localhost", 1)), account},
		{"loop", serve(t, func(w http.ResponseWriter, r *http.Request) {
			if around.Add(1) > 2*maxRedirects {
				return // So that the test ends.
			}
			http.Redirect(w, r, r.URL.String(), http.StatusFound)
		}), account},
	}})
	want := map[events.Node]downtime.Answer{"same": proven, "other": offline, "loop": offline}
	if diff := cmp.Diff(want, probe(t, p)); diff != "" {
		t.Error(diff)
	}
	if asked.Load() != 1 || around.Load() != maxRedirects+1 {
		t.Errorf("asked %d times, want once; in a loop %d times, want %d", asked.Load(), around.Load(), maxRedirects+1)
	}
}

func TestAPrivateAddressIsNotConnectedTo(t *testing.T) {
	key, account := newKey(t)
	var asked atomic.Int64
	there := serve(t, func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		NewResponder(chain, account, 10, keys.SignWith(key)).ServeHTTP(w, r)
	})
	port := netip.MustParseAddrPort(strings.Split(there, "/")[2]).Port()
	name := fmt.Sprintf("http://localhost:%d/v1/probe", port)
	for allowed, want := range map[bool]downtime.Answer{false: offline, true: proven} {
		p := newPublicProber(t, Config{AllowPrivate: allowed, Targets: []Target{{north, name, account}}})
		if got := probe(t, p); got[north] != want {
			t.Errorf("allowed %t: %+v, want %+v", allowed, got[north], want)
		}
	}
	if asked.Load() != 1 {
		t.Errorf("it was asked %d times, want once", asked.Load())
	}
}

// A name has a public address when it is first looked up, and a private one when it is redirected to itself.
func TestANameThatChangesItsAddressIsNotConnectedTo(t *testing.T) {
	key, account := newKey(t)
	var asked atomic.Int64
	inside := serve(t, func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		NewResponder(chain, account, 10, keys.SignWith(key)).ServeHTTP(w, r)
	})
	outside := serve(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://node.example:81/v1/probe?"+r.URL.RawQuery, http.StatusFound)
	})
	p := newPublicProber(t, Config{Targets: []Target{{north, "http://node.example/v1/probe", account}}})
	transport := p.client.Transport.(*http.Transport)
	checked := transport.DialContext
	transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		switch address {
		case "node.example:80": // Stands for a public address.
			return new(net.Dialer).DialContext(ctx, network, strings.Split(outside, "/")[2])
		case "node.example:81":
			return checked(ctx, network, strings.Split(inside, "/")[2])
		}
		return nil, fmt.Errorf("unexpected %s", address)
	}
	if got := probe(t, p); got[north] != offline || asked.Load() != 0 {
		t.Errorf("%+v, asked %d times, want it offline and not asked", got[north], asked.Load())
	}
}

func TestAFaultHereIsNobodysFault(t *testing.T) {
	dial := func(err error) error { return &net.OpError{Op: "dial", Net: "tcp", Err: err} }
	call := func(errno syscall.Errno) error { return dial(os.NewSyscallError("connect", errno)) }
	name := func(e net.DNSError) error { return dial(&e) }
	noRoute, tooMany := call(syscall.EHOSTUNREACH), call(syscall.EMFILE)
	refused, silent := call(syscall.ECONNREFUSED), dial(os.ErrDeadlineExceeded)
	noServer := name(net.DNSError{Err: "server misbehaving", IsTemporary: true})
	noName := name(net.DNSError{Err: "no such host", IsNotFound: true})
	for text, c := range map[string]struct {
		errs []error
		here bool
	}{
		"no targets":                        {nil, false},
		"it answered":                       {[]error{nil}, false},
		"all are unreachable":               {[]error{call(syscall.ENETUNREACH), noRoute}, true},
		"one is unreachable":                {[]error{noRoute, nil}, false},
		"one is unreachable, one refuses":   {[]error{noRoute, refused}, false},
		"one is unreachable, one hangs up":  {[]error{noRoute, io.EOF}, false},
		"one is unreachable, one is slow":   {[]error{noRoute, context.DeadlineExceeded}, false},
		"one is unreachable, others silent": {[]error{silent, noRoute, noName, dial(errors.New("private"))}, true},
		"the only one is unreachable":       {[]error{noRoute}, true},
		"the only one refuses":              {[]error{refused}, false},
		"all refuse":                        {[]error{refused, refused}, false},
		"all are silent":                    {[]error{silent, silent}, false},
		"no name server":                    {[]error{noServer, name(net.DNSError{Err: "i/o timeout", IsTimeout: true})}, true},
		"no such name":                      {[]error{noName}, false},
		"one name is not known now":         {[]error{noServer, nil}, false},
		"no files left for one":             {[]error{nil, tooMany, refused}, true},
		"a connection breaks":               {[]error{&net.OpError{Op: "read", Err: syscall.ECONNRESET}, noRoute}, false},
	} {
		if err := here(c.errs); errors.Is(err, ErrHere) != c.here || !c.here && err != nil {
			t.Errorf("%s: %v, want %t", text, err, c.here)
		}
	}
}

func TestOfUnreachableTargetsOnlyAllAreAFaultHere(t *testing.T) {
	key, account := newKey(t)
	there := serve(t, NewResponder(chain, account, 10, keys.SignWith(key)).ServeHTTP)
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	south := events.Node("south")
	cut := func(p *Prober, hosts ...string) *Prober {
		transport := p.client.Transport.(*http.Transport)
		dial := transport.DialContext
		transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
			if slices.Contains(hosts, address) {
				return nil, &net.OpError{Op: "dial", Net: network, Err: os.NewSyscallError("connect", syscall.ENETUNREACH)}
			}
			return dial(ctx, network, address)
		}
		return p
	}
	far := Target{south, "http://far.example/v1/probe?secret", account}
	one := cut(newProber(t, Config{Targets: []Target{{north, there, account}, far}}), "far.example:80")
	if diff := cmp.Diff(map[events.Node]downtime.Answer{north: proven, south: offline}, probe(t, one)); diff != "" {
		t.Error(diff)
	}
	refuses := newProber(t, Config{Targets: []Target{{north, closed.URL, account}}})
	if got := probe(t, refuses); got[north] != offline {
		t.Errorf("%+v, want %+v", got[north], offline)
	}
	further := Target{north, "http://further.example", account}
	all := cut(newProber(t, Config{Targets: []Target{further, far}}), "far.example:80", "further.example:80")
	answers, err := all.Probe(t.Context())
	if !errors.Is(err, ErrHere) || answers != nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("%v, %v, want %v without the URL", answers, err, ErrHere)
	}
}

func TestNoMoreAreAskedAtATimeThanAllowed(t *testing.T) {
	const parallel, rounds = 2, 3
	arrived, leave := make(chan struct{}), make(chan struct{})
	var now, most atomic.Int64
	there := serve(t, func(http.ResponseWriter, *http.Request) {
		if n := now.Add(1); n > most.Load() {
			most.Store(n)
		}
		arrived <- struct{}{}
		<-leave
		now.Add(-1)
	})
	var targets []Target
	for i := range parallel * rounds {
		targets = append(targets, Target{events.Node(fmt.Sprint(i)), there, events.Address{}})
	}
	p := newProber(t, Config{Parallel: parallel, Targets: targets})
	var asking sync.WaitGroup
	asking.Go(func() {
		for node, got := range probe(t, p) {
			if got != unproven {
				t.Errorf("%s: %+v, want %+v", node, got, unproven)
			}
		}
	})
	for range rounds {
		for range parallel {
			<-arrived
		}
		for range parallel {
			leave <- struct{}{}
		}
	}
	asking.Wait()
	if most.Load() > parallel {
		t.Errorf("%d at a time, want %d at most", most.Load(), parallel)
	}
}

func TestRequestsAreSpreadOverTheJitter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const count = 10
		var targets []Target
		for i := range count {
			targets = append(targets, Target{events.Node(fmt.Sprint(i)), fmt.Sprintf("http://%d.example", i), events.Address{}})
		}
		p := newProber(t, Config{Targets: targets, Jitter: count * time.Minute})
		start := time.Now()
		var mu sync.Mutex
		at := map[string]time.Duration{}
		p.client.Transport = roundTrip(func(r *http.Request) (*http.Response, error) {
			mu.Lock()
			defer mu.Unlock()
			at[r.URL.Host] = time.Since(start)
			return nil, errors.New("refused")
		})
		if got := probe(t, p); len(got) != count || len(at) != count {
			t.Fatalf("%d answers of %d requests, want %d", len(got), len(at), count)
		}
		for i, offset := range slices.Sorted(maps.Values(at)) {
			if offset != time.Duration(i)*time.Minute {
				t.Errorf("request %d came after %s", i, offset)
			}
		}
	})
}

func TestARoundEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var asked atomic.Int64
	there := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		cancel()
		<-r.Context().Done()
	})
	p := newProber(t, Config{Jitter: time.Hour, Targets: []Target{
		{north, there, events.Address{}}, {"south", there, events.Address{}},
	}})
	if answers, err := p.Probe(ctx); !errors.Is(err, context.Canceled) || answers != nil || asked.Load() != 1 {
		t.Errorf("%v, %v after %d requests, want %v after one", answers, err, asked.Load(), context.Canceled)
	}
}

func TestWhatCannotBeAskedIsRefused(t *testing.T) {
	good := Target{north, "https://node.example/v1/probe", events.Address{1}}
	for text, c := range map[string]Config{
		"want at least one":      {Timeout: time.Second, Targets: []Target{good}},
		"and a timeout":          {Parallel: 1, Targets: []Target{good}},
		"north at":               {Parallel: 1, Timeout: 1, Targets: []Target{good, good}},
		"want one https":         {Parallel: 1, Timeout: 1, Targets: []Target{{north, "node.example/v1/probe", events.Address{}}}},
		`"https://"`:             {Parallel: 1, Timeout: 1, Targets: []Target{{north, "https://", events.Address{}}}},
		"each node":              {Parallel: 1, Timeout: 1, Targets: []Target{{north, "ftp://node.example", events.Address{}}}},
		"v1/probe":               {Parallel: 1, Timeout: 1, Targets: []Target{{north, "http://[::1", events.Address{}}}},
		"allow private":          {Parallel: 1, Timeout: 1, Targets: []Target{{north, "http://192.168.1.1", events.Address{}}}},
		"probe north":            {Parallel: 1, Timeout: 1, Targets: []Target{{north, "http://[::1]:80/", events.Address{}}}},
		"private addresses, or ": {Parallel: 1, Timeout: 1, Targets: []Target{{north, "http://127.0.0.1/", events.Address{}}}},
	} {
		if _, err := NewProber(c); !errors.Is(err, events.ErrMalformed) || !strings.Contains(fmt.Sprint(err), text) {
			t.Errorf("%v, want %q", err, text)
		}
	}
	_, err := NewProber(Config{Parallel: 1, Timeout: 1, Targets: []Target{good, {north, "https://me:secret@node.example", good.Account}}})
	if err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("%v, want an error without the secret", err)
	}
	p := newProber(t, Config{Targets: []Target{good, {"south", "http://127.0.0.1", good.Account}}})
	if diff := cmp.Diff([]events.Node{north, "south"}, p.Nodes()); diff != "" {
		t.Error(diff)
	}
}

func TestTheTextThatIsSigned(t *testing.T) {
	key, account := newKey(t)
	s := Statement{
		1, events.ExampleAddress, "00112233445566778899aabbccddeeff",
		time.Date(2026, 11, 28, 13, 0, 0, 999, time.FixedZone("", 3600)), nil,
	}
	const text = "hostnode probe\nchain: 1\naccount: 0xcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcd\n" +
		"nonce: 00112233445566778899aabbccddeeff\ntime: 2026-11-28T12:00:00Z"
	if got := string(s.Text()); got != text {
		t.Errorf("it is %q, want %q", got, text)
	}
	source, err := os.ReadFile("probe.go")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(text) {
		if !strings.Contains(string(source), "//\t"+strings.TrimSpace(line)+"\n") {
			t.Errorf("the package's comment has no line %q", line)
		}
	}
	signature, err := keys.SignWith(key)(t.Context(), s.Text())
	if err != nil || len(signature) != 65 || signature[64] != 27 && signature[64] != 28 {
		t.Fatalf("%x, %v, want a signature like that of personal_sign", signature, err)
	}
	signature[64] -= 27
	hash := crypto.Keccak256(fmt.Appendf(nil, "\x19Ethereum Signed Message:\n%d%s", len(text), text))
	signer, err := crypto.SigToPub(hash, signature)
	if err != nil || events.Address(crypto.PubkeyToAddress(*signer)) != account {
		t.Errorf("signed by %v, %v, want %s", signer, err, account)
	}
}

func TestAResponderAnswersOneQuestionOnly(t *testing.T) {
	key, account := newKey(t)
	h := NewResponder(chain, account, 1, keys.SignWith(key))
	status := func(method, path string) int {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(method, path, nil))
		return w.Code
	}
	for _, nonce := range []string{
		"", strings.Repeat("0", 15), strings.Repeat("0", 65), strings.Repeat("A", 16), strings.Repeat("g", 16),
		strings.Repeat("0", 16) + "\n", "\n" + strings.Repeat("0", 16), "0x" + strings.Repeat("0", 16),
		strings.Repeat("0", 16) + "\ntime: 2026-11-28T12:00:00Z",
	} {
		if got := status(http.MethodGet, "/v1/probe?nonce="+url.QueryEscape(nonce)); got != http.StatusBadRequest {
			t.Errorf("nonce %q: %d", nonce, got)
		}
	}
	good := "/v1/probe?nonce=" + strings.Repeat("0", 16)
	if got := status(http.MethodPost, good); got != http.StatusMethodNotAllowed {
		t.Errorf("POST: %d", got)
	}
	if got := status(http.MethodGet, "/v1/status"); got != http.StatusNotFound {
		t.Errorf("another path: %d", got)
	}
	counts := map[int]int{status(http.MethodGet, good): 1} // None of those before counted.
	if counts[http.StatusOK] != 1 {
		t.Fatalf("the first answer: %v", counts)
	}
	for range 100 {
		counts[status(http.MethodGet, "/v1/probe?nonce="+strings.Repeat("f", 64))]++
	}
	if counts[http.StatusTooManyRequests] == 0 || len(counts) != 2 {
		t.Errorf("%v, want some to be refused", counts)
	}
}

func TestAServerEndsWithItsContext(t *testing.T) {
	key, account := newKey(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- Serve(ctx, l, NewResponder(chain, account, 10, keys.SignWith(key))) }()
	p := newProber(t, Config{Targets: []Target{{north, fmt.Sprintf("http://%s/v1/probe", l.Addr()), account}}})
	if got := probe(t, p); got[north] != proven {
		t.Errorf("%+v, want %+v", got[north], proven)
	}
	cancel()
	if err := <-served; !errors.Is(err, http.ErrServerClosed) {
		t.Error(err)
	}
	if got := probe(t, p); got[north] != offline {
		t.Errorf("%+v, want %+v", got[north], offline)
	}
	again, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := Serve(ctx, again, http.NotFoundHandler()); !errors.Is(err, http.ErrServerClosed) {
		t.Errorf("%v, when the context has ended before", err)
	}
}

// What is proven was signed by the account, for this nonce, now.
func FuzzAnswer(f *testing.F) {
	now := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	key, err := crypto.ToECDSA(append(make([]byte, 31), 1))
	if err != nil {
		f.Fatal(err)
	}
	account := events.Address(crypto.PubkeyToAddress(key.PublicKey))
	const nonce = "00112233445566778899aabbccddeeff"
	p, err := NewProber(Config{ChainID: chain, Parallel: 1, Timeout: 1, Now: func() time.Time { return now }})
	if err != nil {
		f.Fatal(err)
	}
	good := Statement{chain, account.String(), nonce, now, nil}
	signature, err := keys.SignWith(key)(f.Context(), good.Text())
	if err != nil {
		f.Fatal(err)
	}
	good.Signature = signature
	body, err := json.Marshal(good)
	if err != nil {
		f.Fatal(err)
	}
	if !p.proves(body, account, nonce) {
		f.Fatal("the example is not proven")
	}
	f.Add(body)
	f.Add([]byte(`{"chainId":31337,"time":"2026-11-28T12:00:00+01:00","signature":"0x"}`))
	f.Add([]byte(`{"time":"0000-01-01T00:00:00Z","signature":"0x` + strings.Repeat("ff", 65) + `"}`))
	f.Add([]byte(`[[[[`))
	f.Fuzz(func(t *testing.T, body []byte) {
		if p.proves(body, account, strings.Repeat("0", 32)) {
			t.Fatal("it is proven with a nonce that was never signed")
		}
		if !p.proves(body, account, nonce) {
			return
		}
		var s Statement
		if err := json.Unmarshal(body, &s); err != nil {
			t.Fatal(err)
		}
		// Only the example's text was ever signed.
		if !s.Time.Truncate(time.Second).Equal(now) || !slices.Equal(s.Signature[:64], signature[:64]) {
			t.Fatalf("%+v is proven", s)
		}
	})
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func newKey(t *testing.T) (*ecdsa.PrivateKey, events.Address) {
	t.Helper()
	key, err := crypto.GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	return key, events.Address(crypto.PubkeyToAddress(key.PublicKey))
}

func signed(t *testing.T, key *ecdsa.PrivateKey, s Statement) []byte {
	t.Helper()
	var err error
	if s.Signature, err = keys.SignWith(key)(t.Context(), s.Text()); err != nil {
		t.Fatal(err)
	}
	body, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// serve returns the URL of a target.
func serve(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return server.URL + "/v1/probe"
}

// newProber may ask targets of this computer.
func newProber(t *testing.T, cfg Config) *Prober {
	t.Helper()
	cfg.AllowPrivate = true
	return newPublicProber(t, cfg)
}

func newPublicProber(t *testing.T, cfg Config) *Prober {
	t.Helper()
	cfg.ChainID = chain
	if cfg.Parallel == 0 {
		cfg.Parallel = 4
	}
	if cfg.Timeout == 0 {
		cfg.Timeout = time.Minute
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	p, err := NewProber(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func probe(t *testing.T, p *Prober) map[events.Node]downtime.Answer {
	t.Helper()
	answers, err := p.Probe(t.Context())
	if err != nil {
		t.Error(err)
	}
	return answers
}
