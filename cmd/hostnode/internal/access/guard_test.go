package access_test

import (
	"encoding/base64"
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

	"github.com/sirupsen/logrus"
	"github.com/sirupsen/logrus/hooks/test"
	"pgregory.net/rapid"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/access"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/api"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/config"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/machines"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/problem"
	"github.com/hostnode/hostnode/events"
)

// door is a guard with what is behind it.
type door struct {
	http.Handler
	tokens        access.Tokens
	read, operate string // secrets of one token of each scope
	log           *test.Hook
	let           int // requests that were let in
	who           access.Principal
	known         bool
}

// guarded makes a guard on a loopback address, with limits that no test reaches unless it lowers them.
func guarded(t testing.TB, change func(*config.API)) *door {
	t.Helper()
	logger, hook := test.NewNullLogger()
	d := &door{log: hook, tokens: access.In(filepath.Join(t.TempDir(), "tokens.json"), time.Now)}
	c := config.Default().API
	c.Listen, c.RequestsPerSecond, c.Burst, c.FailuresPerMinute = "127.0.0.1:8090", 1e6, 1e6, 1e6
	if change != nil {
		change(&c)
	}
	d.Handler = access.Guard(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		d.let++
		d.who, d.known = access.Of(r.Context())
	}), access.Config{API: c, Tokens: d.tokens, Log: logrus.NewEntry(logger)})
	d.read, d.operate = d.token(t, "reader", access.Read), d.token(t, "operator", access.Operate)
	return d
}

func (d *door) token(t testing.TB, name string, scope access.Scope) string {
	t.Helper()
	secret, err := d.tokens.New(t.Context(), name, scope)
	if err != nil {
		t.Fatal(err)
	}
	return secret
}

// ask makes a request; headers are name and value in turn.
func (d *door) ask(method, target string, headers ...string) *http.Response {
	r := httptest.NewRequest(method, "/", nil)
	path, query, _ := strings.Cut(target, "?")
	r.URL.Path, r.URL.RawQuery, r.Host, r.RemoteAddr = path, query, "127.0.0.1:8090", "127.0.0.1:50000"
	for i := 0; i+1 < len(headers); i += 2 {
		if headers[i] == "Host" {
			r.Host = headers[i+1]
		} else {
			r.Header.Add(headers[i], headers[i+1])
		}
	}
	answer := httptest.NewRecorder()
	d.ServeHTTP(answer, r)
	return answer.Result()
}

// refuses checks that a request is refused with a problem of this code, in words for Codex, and not let in.
func (d *door) refuses(t testing.TB, code, method, target string, headers ...string) {
	t.Helper()
	before := d.let
	answer := d.ask(method, target, headers...)
	var p problem.Problem
	kind := answer.Header.Get("Content-Type")
	text, err := io.ReadAll(answer.Body)
	if strings.HasPrefix(target, "/api/codex/") || strings.HasPrefix(target, "/api/storage/") {
		if strings.HasSuffix(string(text), " ["+code+"]\n") && answer.StatusCode >= 400 && d.let == before {
			return
		}
	}
	err = errors.Join(err, json.Unmarshal(text, &p))
	if err != nil || p.Code != code || p.Status != answer.StatusCode || d.let != before || kind != "application/problem+json" {
		t.Errorf("%s %s %q: %d %s %+v, %v, let in: %v, want %s",
			method, target, headers, answer.StatusCode, kind, p, err, d.let != before, code)
	}
}

// lets checks that a request is let in.
func (d *door) lets(t testing.TB, method, target string, headers ...string) {
	t.Helper()
	before := d.let
	if answer := d.ask(method, target, headers...); answer.StatusCode != http.StatusOK || d.let != before+1 {
		t.Errorf("%s %s %q: %d, let in %d times", method, target, headers, answer.StatusCode, d.let-before)
	}
}

func bearer(secret string) string { return "Bearer " + secret }

func basic(user, password string) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password))
}

// unsafe are all methods that may change something, and some that no server knows.
var unsafe = []string{
	http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodConnect, http.MethodTrace, "BREW", "get", "",
}

// routes are the paths of each call of the API, also of the machines, wherever the API is.
func routes(t testing.TB) (paths []string) {
	t.Helper()
	calls := api.Calls()
	for _, m := range machines.API() {
		calls = append(calls, m.Calls...)
	}
	for _, c := range calls {
		_, path, ok := strings.Cut(api.Place(c), " ")
		if !ok {
			t.Fatalf("a call has no place: %q", api.Place(c))
		}
		path = strings.NewReplacer("{", "", "}", "", "...", "").Replace(path)
		paths = append(paths, "/api/v1/"+path, "/api/v1/past/"+path, "/api/v1/"+path, "/api/codex/v1/"+path)
	}
	if len(paths) < 100 {
		t.Fatalf("the API has only %d paths", len(paths))
	}
	return paths
}

func codexToo(c *config.API) { c.Codex = true }

func TestNothingChangesStateWithoutAToken(t *testing.T) {
	d := guarded(t, codexToo)
	for _, path := range routes(t) {
		for _, method := range unsafe {
			if method == "" { // It means GET to the client that tests use.
				continue
			}
			d.refuses(t, "unauthorized", method, path)
			d.refuses(t, "unauthorized", method, path, "X-HTTP-Method-Override", "GET", "X-Forwarded-For", "127.0.0.1")
			d.refuses(t, "unauthorized", method, path, "Authorization", bearer("hn_guess"))
			d.lets(t, method, path, "Authorization", bearer(d.operate))
		}
		d.lets(t, http.MethodGet, path)
		d.lets(t, http.MethodHead, path)
	}
}

func TestNothingChangesStateWithoutATokenWhateverTheRequest(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		d := guarded(t, func(c *config.API) { c.Codex = rapid.Bool().Draw(r, "codex") })
		var headers []string
		for range rapid.IntRange(0, 4).Draw(r, "headers") {
			headers = append(headers, rapid.SampledFrom([]string{
				"Authorization", "Origin", "Sec-Fetch-Site", "Sec-Fetch-Mode", "Sec-Fetch-Dest", "Host", "Cookie", "Forwarded",
				"X-Forwarded-For", "X-Http-Method-Override", "Upgrade",
			}).Draw(r, "header"), rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{
				"Bearer ", "Basic Og==", "Bearer reader", "http://127.0.0.1:8090", "null", "navigate",
				"document", "same-origin", "none", "localhost", "[::1]:8090",
			})).Draw(r, "value"))
		}
		d.ask(rapid.SampledFrom(unsafe[:8]).Draw(r, "method"), "/"+rapid.String().Draw(r, "path"), headers...)
		if d.let != 0 {
			t.Fatalf("let in with %q", headers)
		}
	})
}

// The API that the socket serves, asked over TCP.
func TestTheRecordOfAHostIsChangedOnlyWithAToken(t *testing.T) {
	dir, err := os.MkdirTemp("", "hn") // A socket needs a short path.
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	backend, err := api.OpenOffline(t.Context(), api.OfflineConfig{
		Source: api.Source{DataDir: filepath.Join(dir, "data"), Account: events.Address{1}, Now: time.Now}, Quota: 10 << 20,
		Create: true, Node: "test", Changes: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer backend.Close()
	logger, _ := test.NewNullLogger()
	socket, err := api.Listen(filepath.Join(dir, "s"), backend, logrus.NewEntry(logger))
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	d := guarded(t, nil)
	c := config.Default().API
	c.Listen = "127.0.0.1:0"
	tcp, err := access.Listen(access.Config{API: c, Tokens: d.tokens, Log: logrus.NewEntry(logger)})
	if err != nil {
		t.Fatal(err)
	}
	tcp.Serve(socket.Handler())
	defer tcp.Close()
	paused := func() bool {
		q, err := api.ShowQueue.Ask(t.Context(), backend, api.Then{})
		if err != nil {
			t.Fatal(err)
		}
		return q.Paused
	}
	pause := func(secret string) int {
		r, err := http.NewRequest(http.MethodPost, tcp.URL()+"/api/v1/queue/pause", strings.NewReader(`{"reason": "a test"}`))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", bearer(secret))
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		return answer.StatusCode
	}
	for secret, want := range map[string]int{"": 401, "hn_guess": 401, d.read: 403} {
		if got := pause(secret); got != want || paused() {
			t.Errorf("%d, want %d; paused: %v", got, want, paused())
		}
	}
	if got := pause(d.operate); got != http.StatusOK || !paused() {
		t.Errorf("%d; paused: %v", got, paused())
	}
}

func TestTheScopeReadChangesNothing(t *testing.T) {
	d := guarded(t, codexToo)
	for _, path := range routes(t) {
		for _, method := range unsafe[:8] {
			d.refuses(t, "forbidden", method, path, "Authorization", bearer(d.read))
		}
		d.lets(t, http.MethodGet, path, "Authorization", bearer(d.read))
	}
}

func TestARevokedTokenIsRefusedAtOnce(t *testing.T) {
	d := guarded(t, nil)
	d.lets(t, http.MethodPost, "/api/v1/drain", "Authorization", bearer(d.operate))
	if err := d.tokens.Revoke(t.Context(), "operator"); err != nil {
		t.Fatal(err)
	}
	d.refuses(t, "unauthorized", http.MethodPost, "/api/v1/drain", "Authorization", bearer(d.operate))
	d.refuses(t, "unauthorized", http.MethodGet, "/api/v1/status", "Authorization", bearer(d.operate))
}

func TestPagesOfOtherSitesNeitherChangeNorRead(t *testing.T) {
	d := guarded(t, func(c *config.API) { c.Hosts = []string{"host.example"} })
	for _, page := range [][]string{
		{"Sec-Fetch-Site", "cross-site"},
		{"Sec-Fetch-Site", "same-site"},
		{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "iframe"},
		{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "no-cors", "Sec-Fetch-Dest", "image"},
		{"Origin", "https://evil.example"},
		{"Origin", "null"},
		{"Origin", "http://127.0.0.1:9999"},
		{"Origin", "http://host.example", "Host", "localhost:8090"},
	} {
		with := append(page, "Authorization", bearer(d.operate))
		for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodDelete} {
			d.refuses(t, "cross-origin", method, "/api/v1/availabilities", with...)
		}
	}
	link := []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"}
	d.lets(t, http.MethodGet, "/", link...)
	d.refuses(t, "cross-origin", http.MethodPost, "/api/v1/drain", append(link, "Authorization", bearer(d.operate))...)
	for _, own := range [][]string{
		{"Sec-Fetch-Site", "same-origin"},
		{"Sec-Fetch-Site", "none"},
		{"Origin", "http://127.0.0.1:8090"},
		{"Origin", "https://host.example", "Host", "host.example"},
	} {
		d.lets(t, http.MethodPost, "/api/v1/drain", append(own, "Authorization", bearer(d.operate))...)
	}
}

func TestANameThatIsNotTheHostsIsRefusedOnEveryRoute(t *testing.T) {
	d := guarded(t, func(c *config.API) {
		c.Codex, c.Hosts = true, []string{"Host.Example", "10.0.0.7"}
	})
	for _, path := range append(routes(t), "/", "/healthz", "/readyz", "/metrics", "/openapi.json") {
		for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodPost} {
			d.refuses(t, "host-not-allowed", method, path, "Host", "rebound.example:8090", "Authorization", bearer(d.operate))
		}
	}
	for _, name := range []string{
		"", "evil.example", "127.0.0.1.evil.example", "localhost.evil.example:8090", "10.0.0.8", "0.0.0.0", "host.example.",
		"host.example@evil.example", "[::2]:8090", "127.0.0.1, evil.example", "::1]", "[", ":8090", "2130706433", "0x7f.1",
	} {
		d.refuses(t, "host-not-allowed", http.MethodGet, "/api/v1/status", "Host", name)
	}
	for _, name := range []string{"localhost", "LOCALHOST:1", "127.0.0.1", "127.9.9.9:80", "[::1]:8090", "[::1]"} {
		d.lets(t, http.MethodGet, "/api/v1/status", "Host", name)
	}
	for _, name := range []string{"host.example", "HOST.example:443", "10.0.0.7:8090"} {
		d.lets(t, http.MethodGet, "/api/v1/status", "Host", name, "Authorization", bearer(d.read))
	}
}

func TestReadingNeedsATokenExceptFromThisMachine(t *testing.T) {
	far := guarded(t, func(c *config.API) { c.Listen, c.Codex = "0.0.0.0:8090", true })
	for _, path := range routes(t) {
		far.refuses(t, "unauthorized", http.MethodGet, path)
		far.lets(t, http.MethodGet, path, "Authorization", bearer(far.read))
	}
	for _, path := range []string{"/healthz", "/readyz"} {
		far.lets(t, http.MethodGet, path)
		far.refuses(t, "unauthorized", http.MethodPost, path)
		far.refuses(t, "unauthorized", http.MethodGet, path+"/x")
	}
	proxied := guarded(t, func(c *config.API) { c.Hosts = []string{"host.example"} })
	for _, headers := range [][]string{
		{"Host", "host.example"}, {"X-Forwarded-For", "10.9.8.7"}, {"Forwarded", "for=10.9.8.7"}, {"Via", "1.1 proxy"},
	} {
		proxied.refuses(t, "unauthorized", http.MethodGet, "/api/v1/status", headers...)
		proxied.lets(t, http.MethodGet, "/api/v1/status", append(headers, "Authorization", bearer(proxied.read))...)
	}
	proxied.lets(t, http.MethodGet, "/api/v1/status")
}

func TestPathsWithTwoMeaningsAreRefused(t *testing.T) {
	d := guarded(t, func(c *config.API) { c.Listen, c.Codex = "0.0.0.0:8090", true })
	for _, path := range []string{ // As decoded: /healthz/%2e%2e%2fv1/status is the first of them.
		"/healthz/../api/v1/status", "/healthz/..", "/./healthz", "//healthz", "/healthz//", "/a/./b", "/..", "/a\\..\\b",
		"/healthz\x00", "healthz", "", "*", "/api/codex/../../api/v1/drain", "/a/..",
	} {
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			d.refuses(t, "bad-request", method, path, "Authorization", bearer(d.operate))
		}
	}
	for _, path := range []string{"/", "/api/v1/sales/", "/api/v1/pieces/a..b", "/api/v1/x/...", "/api/v1/.well-known"} {
		d.lets(t, http.MethodGet, path, "Authorization", bearer(d.read))
	}
}

func TestTheCodexAPIHasASwitchAndTakesATokenAsAPassword(t *testing.T) {
	off, on := guarded(t, nil), guarded(t, codexToo)
	for _, path := range []string{"/api/codex/v1/space", "/api/storage/v1/data"} {
		off.refuses(t, "not-found", http.MethodGet, path)
		off.refuses(t, "not-found", http.MethodPost, path, "Authorization", basic("me", off.operate))
		on.lets(t, http.MethodGet, path)
		on.lets(t, http.MethodPost, path, "Authorization", basic("me", on.operate))
		on.lets(t, http.MethodPost, path, "Authorization", basic("", on.operate))
		on.lets(t, http.MethodPost, path, "Authorization", bearer(on.operate))
		on.refuses(t, "forbidden", http.MethodPost, path, "Authorization", basic("me", on.read))
		on.refuses(t, "unauthorized", http.MethodPost, path, "Authorization", basic(on.operate, ""))
		on.refuses(t, "unauthorized", http.MethodPost, path)
	}
	on.refuses(t, "unauthorized", http.MethodPost, "/api/v1/drain", "Authorization", basic("me", on.operate))
	on.refuses(t, "unauthorized", http.MethodPost, "/api/codexv1", "Authorization", basic("me", on.operate))
}

func TestAHeaderThatIsNoTokenIsRefused(t *testing.T) {
	d := guarded(t, nil)
	for _, header := range []string{"", "Bearer", "Bearer ", "Digest " + d.operate, d.operate, "Bearer: " + d.operate, "Bearer a b"} {
		d.refuses(t, "unauthorized", http.MethodPost, "/api/v1/drain", "Authorization", header)
		d.refuses(t, "unauthorized", http.MethodGet, "/api/v1/status", "Authorization", header)
	}
	d.refuses(t, "unauthorized", http.MethodPost, "/api/v1/drain", "Authorization", bearer(d.operate), "Authorization", bearer(d.read))
	d.lets(t, http.MethodPost, "/api/v1/drain", "Authorization", "bearer  "+d.operate)
}

func TestHandlersKnowWhoAsks(t *testing.T) {
	d := guarded(t, nil)
	d.lets(t, http.MethodPost, "/api/v1/drain", "Authorization", bearer(d.operate))
	if want := (access.Principal{Token: "operator", Scope: access.Operate}); !d.known || d.who != want {
		t.Errorf("%+v, %v, want %+v", d.who, d.known, want)
	}
	d.lets(t, http.MethodGet, "/api/v1/status")
	if d.known {
		t.Errorf("without a token: %+v", d.who)
	}
	if who, known := access.Of(t.Context()); known {
		t.Errorf("over the socket: %+v", who)
	}
}

func TestOtherOriginsGetNoPermissionAndAnswersSayWhatBrowsersMay(t *testing.T) {
	d := guarded(t, nil)
	d.refuses(t, "method-not-allowed", http.MethodOptions, "/api/v1/drain", "Origin", "https://evil.example",
		"Access-Control-Request-Method", "POST")
	for _, answer := range []*http.Response{
		d.ask(http.MethodOptions, "/api/v1/drain", "Origin", "http://127.0.0.1:8090"), d.ask(http.MethodGet, "/api/v1/status"),
		d.ask(http.MethodPost, "/api/v1/drain"), d.ask(http.MethodGet, "/api/v1/status", "Host", "evil.example"),
	} {
		for name, want := range map[string]string{
			"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
			"Content-Security-Policy": "frame-ancestors 'none'", "Cross-Origin-Resource-Policy": "same-origin",
		} {
			if got := answer.Header.Get(name); got != want {
				t.Errorf("%d: %s: %q, want %q", answer.StatusCode, name, got, want)
			}
		}
		for name := range answer.Header {
			if strings.HasPrefix(name, "Access-Control-") {
				t.Errorf("%d: %s is there", answer.StatusCode, name)
			}
		}
	}
}

func TestAnAddressThatAsksTooOftenWaitsAndOthersDoNot(t *testing.T) {
	d := guarded(t, func(c *config.API) { c.RequestsPerSecond, c.Burst = 1, 3 })
	from := func(address string) int {
		r := httptest.NewRequest(http.MethodGet, "http://localhost/api/v1/status", nil)
		r.RemoteAddr = address
		answer := httptest.NewRecorder()
		d.ServeHTTP(answer, r)
		if wait := answer.Header().Get("Retry-After"); (answer.Code == http.StatusTooManyRequests) != (wait == "1") {
			t.Errorf("%d with Retry-After %q", answer.Code, wait)
		}
		return answer.Code
	}
	refused := 0
	for i := range 100 { // All from one address, or one network of IPv6.
		if from(fmt.Sprintf("[2001:db8:0:1::%x]:%d", i, 1000+i)) == http.StatusTooManyRequests {
			refused++
		}
	}
	if refused < 90 {
		t.Errorf("of 100 requests only %d were refused", refused)
	}
	let := 0
	for i := range 100 { // Each from another one; a few may share a bucket.
		if from(fmt.Sprintf("10.0.%d.1:1", i)) == http.StatusOK {
			let++
		}
	}
	if let < 80 {
		t.Errorf("of 100 other addresses only %d were answered", let)
	}
}

func TestWrongTokensAreLimitedAndARightOneIsStillTaken(t *testing.T) {
	d := guarded(t, func(c *config.API) { c.FailuresPerMinute = 4 })
	for range 4 {
		d.refuses(t, "unauthorized", http.MethodGet, "/api/v1/status", "Authorization", "Bearer hn_guess")
	}
	d.refuses(t, "too-often", http.MethodGet, "/api/v1/status", "Authorization", "Bearer hn_guess")
	if wait := d.ask(http.MethodGet, "/api/v1/status", "Authorization", "Bearer hn_guess").Header.Get("Retry-After"); wait != "15" {
		t.Errorf("Retry-After %q, want 15", wait)
	}
	if n := len(d.log.AllEntries()); n != 4 {
		t.Errorf("%d lines are logged", n)
	}
	d.lets(t, http.MethodPost, "/api/v1/drain", "Authorization", bearer(d.operate))
	d.refuses(t, "unauthorized", http.MethodPost, "/api/v1/drain") // Without a token it is no failure.
}

func TestProfilesAreServedByASettingToOperators(t *testing.T) {
	const path = "/debug/pprof/heap"
	off := guarded(t, nil)
	off.refuses(t, "not-found", "GET", path, "Authorization", bearer(off.operate))
	near := guarded(t, func(c *config.API) { c.Pprof = true })
	near.lets(t, "GET", path)
	near.lets(t, "GET", path, "Authorization", bearer(near.read))
	near.refuses(t, "forbidden", "GET", path, "Authorization", bearer(near.read), "Via", "1.1 proxy")
	far := guarded(t, func(c *config.API) { c.Pprof, c.Listen = true, "0.0.0.0:8090" })
	far.refuses(t, "unauthorized", "GET", path)
	far.refuses(t, "forbidden", "GET", path, "Authorization", bearer(far.read))
	far.lets(t, "GET", path, "Authorization", bearer(far.operate))
}
