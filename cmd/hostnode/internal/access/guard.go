package access

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"math"
	"net"
	"net/http"
	"net/netip"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/sirupsen/logrus"
	"golang.org/x/time/rate"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/config"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/problem"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/problem/rows"
)

// Config is what Guard and Listen need.
type Config struct {
	API    config.API
	Tokens Tokens
	Log    *logrus.Entry
}

// Paths with rules of their own.
var (
	// openPaths answer without a token: a load balancer asks them, and browsers have no token before they sign in.
	openPaths = []string{"/healthz", "/readyz", "/", SignInPath}
	// codexPaths are below the switch api.codex, and take Basic, because the Codex SDK sends nothing else.
	codexPaths = []string{"/api/codex/", "/api/storage/"}
)

// guard lets requests in, or refuses them.
type guard struct {
	Config
	next               http.Handler
	hosts              []string // in lower case
	origin             *http.CrossOriginProtection
	requests, failures *buckets
}

// Guard lets requests that come over TCP in to next, or refuses them. It relies on next to change nothing on GET and
// HEAD.
func Guard(next http.Handler, c Config) http.Handler {
	g := &guard{
		Config: c, next: next, origin: http.NewCrossOriginProtection(),
		requests: newBuckets(rate.Limit(c.API.RequestsPerSecond), c.API.Burst),
		failures: newBuckets(rate.Limit(c.API.FailuresPerMinute)/60, c.API.FailuresPerMinute),
	}
	for _, host := range append(slices.Clone(c.API.Hosts), hostOf(c.API.Listen)) {
		g.hosts = append(g.hosts, strings.ToLower(host))
	}
	g.hosts = slices.DeleteFunc(g.hosts, func(host string) bool { return host == "" }) // Of an address such as :8090.
	return g
}

// ServeHTTP implements http.Handler.
func (g *guard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Content-Security-Policy", "frame-ancestors 'none'")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	if len(r.TransferEncoding) > 0 {
		// A length beside chunks was dropped unseen. A proxy that believes it would find another request after this one
		// than this server does, so there is none (RFC 9112, 6.1).
		h.Set("Connection", "close")
	}
	if g.session(w, r) {
		return
	}
	who, err := g.admit(h, r)
	if err != nil {
		if !g.refusePage(w, r, err) {
			refuse(w, r, err)
		}
		return
	}
	r.Header.Del("Authorization") // So that nothing behind this can log a secret.
	r.Header.Del("Cookie")
	v := &visit{who, r.Body}
	r = r.WithContext(context.WithValue(r.Context(), visitKey{}, v))
	r.Body = http.MaxBytesReader(w, r.Body, int64(g.API.MaxBody))
	g.next.ServeHTTP(w, r)
}

// admit says who makes a request, or why it is refused. What is cheap to find out comes first.
func (g *guard) admit(h http.Header, r *http.Request) (who Principal, err error) {
	reads := r.Method == http.MethodGet || r.Method == http.MethodHead
	if err := g.mayAsk(h, r); err != nil {
		return who, err
	}
	switch who, err = g.identify(h, r); {
	case err != nil:
		return who, err
	case who.Scope == Read && below(r.URL.Path, profilePaths) && !g.near(r):
		return who, fmt.Errorf("%w: profiles need the scope %s", problem.ErrForbidden, Operate)
	case who.Scope == Operate, who.Scope == Read && reads:
		return who, nil
	case who.Scope == Read:
		return who, fmt.Errorf("%w: token %s has the scope %s", problem.ErrForbidden, who.Token, Read)
	case reads && (g.near(r) || slices.Contains(openPaths, r.URL.Path) || below(r.URL.Path, []string{assetsPath})):
		return who, nil
	}
	h.Set("WWW-Authenticate", "Bearer")
	return who, fmt.Errorf("%w: the request has none", problem.ErrUnauthorized)
}

// mayAsk says why a request is refused, whoever makes it.
func (g *guard) mayAsk(h http.Header, r *http.Request) error {
	reads := r.Method == http.MethodGet || r.Method == http.MethodHead
	if !g.requests.of(r).Allow() {
		h.Set("Retry-After", "1")
		return fmt.Errorf("%w: more than %d requests in a second", problem.ErrTooOften, g.API.RequestsPerSecond)
	}
	// A page of another site whose name leads to this machine for a moment (DNS rebinding) has that name here.
	if host := hostOf(r.Host); !config.Loopback(host) && !slices.Contains(g.hosts, host) {
		return fmt.Errorf("%w: %.100q", problem.ErrHost, r.Host)
	}
	switch {
	case r.Method == http.MethodOptions: // Only pages of other origins ask this, and they get no permission (CORS).
		h.Set("Allow", "GET, HEAD, POST, PUT, PATCH, DELETE")
		return fmt.Errorf("%w: OPTIONS", problem.ErrMethod)
	case !plain(r.URL.Path): // What is behind this must not find another path in it than was judged here.
		return fmt.Errorf("%w: the path has empty parts, dots or backslashes", problem.ErrBadRequest)
	case !g.API.Codex && below(r.URL.Path, codexPaths):
		return fmt.Errorf("%w: api.codex is off", problem.ErrNoRoute)
	case !g.API.Pprof && below(r.URL.Path, profilePaths):
		return fmt.Errorf("%w: api.pprof is off", problem.ErrNoRoute)
	case !g.sameOrigin(r, reads), !reads && below(r.URL.Path, []string{PagesPath}) && !fromBrowser(r):
		return problem.ErrCrossOrigin
	}
	return nil
}

// sameOrigin reports whether a request comes from no page, or from one of this host. Reading is judged like writing: an
// answer may be dear. But people may follow links to this host.
func (g *guard) sameOrigin(r *http.Request, reads bool) bool {
	if reads && r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document" {
		return true
	}
	as := *r
	as.Method = http.MethodPost
	return g.origin.Check(&as) == nil
}

// near reports whether a request was surely made on this machine, by a user of it: not through a proxy, which either
// keeps the name that its client wrote, or says that it forwards.
func (g *guard) near(r *http.Request) bool {
	return !g.API.Public() && config.Loopback(hostOf(r.Host)) && r.Header.Get("Forwarded") == "" &&
		r.Header.Get("X-Forwarded-For") == "" && r.Header.Get("Via") == ""
}

// identify says whose token a request brings; zero: it brings none. Only requests with a wrong token count as failures,
// and a right one is always taken: behind a proxy all clients have one address, and secrets cannot be guessed.
func (g *guard) identify(h http.Header, r *http.Request) (who Principal, err error) {
	given := r.Header.Values("Authorization")
	if secret := cookieOf(r); secret != "" && len(given) == 0 {
		return g.check(h, r, secret)
	}
	if len(given) == 0 {
		return who, nil
	}
	err = fmt.Errorf("%w: write one header, Authorization: Bearer TOKEN", problem.ErrUnauthorized)
	scheme, secret, _ := strings.Cut(given[0], " ")
	_, password, basic := r.BasicAuth()
	switch {
	case len(given) > 1:
	case strings.EqualFold(scheme, "Bearer"):
		return g.check(h, r, strings.TrimSpace(secret))
	case basic && below(r.URL.Path, codexPaths):
		return g.check(h, r, password)
	}
	return who, g.failed(h, r, err)
}

// check says whose token a secret is.
func (g *guard) check(h http.Header, r *http.Request, secret string) (who Principal, err error) {
	if who, err = g.Tokens.Check(secret); err != nil {
		return Principal{}, g.failed(h, r, err)
	}
	return who, nil
}

// failed counts a request with a wrong token, and says what is told of it.
func (g *guard) failed(h http.Header, r *http.Request, err error) error {
	switch {
	case !errors.Is(err, problem.ErrUnauthorized):
		g.Log.WithError(err).Error("requests over TCP that bring a token are refused")
		return errors.New("the tokens cannot be read; the host's log says why") // The path is nobody's business.
	case !g.failures.of(r).Allow():
		h.Set("Retry-After", strconv.Itoa(int(math.Ceil(60/float64(g.API.FailuresPerMinute)))))
		return fmt.Errorf("%w: more than %d wrong tokens in a minute", problem.ErrTooOften,
			g.API.FailuresPerMinute)
	}
	g.Log.WithField("from", r.RemoteAddr).Warn("a request over TCP brought a wrong token")
	h.Set("WWW-Authenticate", "Bearer")
	return err
}

// plain reports whether a path, decoded, has exactly one meaning.
func plain(p string) bool {
	return strings.HasPrefix(p, "/") && !strings.Contains(p, "//") && !strings.ContainsAny(p, "\\\x00") &&
		(p == "/" || path.Clean(p) == strings.TrimSuffix(p, "/"))
}

func below(p string, paths []string) bool {
	return slices.ContainsFunc(paths, func(top string) bool { return strings.HasPrefix(p, top) })
}

// hostOf is the host of host:port, or of an address without a port, in lower case.
func hostOf(address string) string {
	if host, _, err := net.SplitHostPort(address); err == nil {
		address = host
	} else if inner, ok := strings.CutPrefix(address, "["); ok {
		address = strings.TrimSuffix(inner, "]")
	}
	return strings.ToLower(address)
}

// refuse answers with a problem; below Codex's paths with its sentence, as Codex's clients expect.
func refuse(w http.ResponseWriter, r *http.Request, err error) {
	p := rows.All().Explain(err)
	if below(r.URL.Path, codexPaths) {
		http.Error(w, p.Detail+". "+p.Hint+" ["+p.Code+"]", p.Status)
		return
	}
	body, err := json.Marshal(p)
	if err != nil { // It has only texts and a number.
		panic(err)
	}
	w.Header().Set("Content-Type", "application/problem+json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(p.Status)
	_, _ = w.Write(body) // If the client has gone, there is nobody to tell.
}

// buckets limit how often each address does something. An address shares its bucket with a thousandth of all others,
// which nobody outside can find out; so their memory is bounded, and nothing must ever be removed.
type buckets struct {
	seed maphash.Seed
	each [1024]*rate.Limiter
}

func newBuckets(limit rate.Limit, burst int) *buckets {
	b := &buckets{seed: maphash.MakeSeed()}
	for i := range b.each {
		b.each[i] = rate.NewLimiter(limit, burst)
	}
	return b
}

// of is the bucket of a request's address; in IPv6, of the network of one customer.
func (b *buckets) of(r *http.Request) *rate.Limiter {
	from, _ := netip.ParseAddrPort(r.RemoteAddr) // Without an address: all of these together.
	address := from.Addr().Unmap().WithZone("")
	if address.Is6() {
		network, _ := address.Prefix(64) // It is shorter than an address.
		address = network.Addr()
	}
	return b.each[maphash.Comparable(b.seed, address)%uint64(len(b.each))]
}
