// Package probe asks hosts over HTTP whether they are there, and answers when this host is asked.
//
// Who asks sends GET with a fresh nonce, 52 hex digits in the query. Status 200 in time means that the host is online,
// whatever sends it; so does 429, or whoever sends it many questions could have it suspended. A hostnode answers with a
// Statement as JSON, signed by its account; if the signature is right, it was this host. The signature is that of
// personal_sign (EIP-191) over the Statement's text. What is hashed begins with a byte with which no transaction
// begins, and the text with its purpose; so the signature cannot be mistaken for that of a transaction or of another
// message. This is a whole text, without a newline at its end:
//
//	hostnode probe
//	chain: 1
//	account: 0xcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcd
//	nonce: 00112233445566778899aabbccddeeff
//	time: 2026-11-28T12:00:00Z
//
// A host may pass a question on to another one. So a proven answer shows that the account signed now, and not where.
package probe

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	random "math/rand/v2"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"syscall"
	"time"

	"github.com/ethereum/go-ethereum/common/hexutil"
	"golang.org/x/net/netutil"
	"golang.org/x/sync/errgroup"
	"golang.org/x/time/rate"

	"github.com/hostnode/hostnode/actors/downtime"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/keys"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/internal/publicnet"
	"github.com/hostnode/hostnode/internal/retry"
)

// ErrHere: there is a fault here, so that it is not known which nodes are there. Either this process may open no more
// connections. Or nothing came back from any target, not even a refusal, and at least one request failed here: no
// network, no route, a firewall that forbids it, or no name server that answers. That a name does not exist, that an
// address is private and that nothing comes in time are no such faults. Of a few targets it cannot always be known
// whose fault it is; then none of them is blamed.
var ErrHere = errors.New("no node could be probed, because of a fault here; look at the network and the name server")

const (
	// maxBytes limits the body of an answer, of which no more is read, and the head of a request: some ten times what
	// they have.
	maxBytes = 4 << 10
	// maxRedirects is enough for a change to https and a path that moved.
	maxRedirects = 3
	// maxSkew is how far a Statement's time may be from the time here. That it is new the nonce shows; the time, that
	// its host's clock is right.
	maxSkew = 2 * time.Minute
	// requestTime limits reading a request, and writing its answer.
	requestTime = 5 * time.Second
	// maxConnections is how many are served at once. Each ends with its answer.
	maxConnections = 64
)

// Target is a node that is asked.
type Target struct {
	Node events.Node
	// URL is asked as it is, with the nonce. A hostnode answers at /v1/probe.
	URL string
	// Account has to sign; zero: nothing is ever proven.
	Account events.Address
}

// Config says who is asked, and how.
type Config struct {
	Targets []Target
	ChainID uint64 // of our chain, which a Statement has to name
	// Parallel is how many requests there are at a time, at most; at least 1.
	Parallel int
	// Timeout is how long each may take, to the last byte; half of it, to look up the name and be connected.
	Timeout time.Duration
	// Jitter is the time over which the requests of a round are spread, in an order by chance; zero: at once.
	Jitter time.Duration
	// AllowPrivate allows targets that are not in the public network.
	AllowPrivate bool
	Now          func() time.Time // the wall clock, by which Statements are judged
}

// Prober asks nodes. It is safe for concurrent use.
type Prober struct {
	cfg    Config
	nodes  []events.Node
	client *http.Client
}

// NewProber refuses what cannot be asked: events.ErrMalformed.
func NewProber(cfg Config) (*Prober, error) {
	if cfg.Parallel < 1 || cfg.Timeout <= 0 {
		return nil, fmt.Errorf("probes: want at least one at a time, and a timeout: %w", events.ErrMalformed)
	}
	transport := publicnet.Transport(cfg.Timeout/2, cfg.AllowPrivate)
	transport.DisableKeepAlives, transport.MaxResponseHeaderBytes = true, maxBytes
	p := &Prober{cfg: cfg, client: &http.Client{
		Transport: transport,
		CheckRedirect: func(next *http.Request, via []*http.Request) error {
			if len(via) > maxRedirects || next.URL.Hostname() != via[0].URL.Hostname() {
				return http.ErrUseLastResponse // Its status is not 200.
			}
			return nil
		},
	}}
	for _, t := range cfg.Targets {
		u, err := url.Parse(t.URL)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || slices.Contains(p.nodes, t.Node) {
			name, _ := events.RedactURL(t.URL)
			return nil, fmt.Errorf("probe of %s at %q, want one https://host:port/v1/probe for each node: %w",
				t.Node, name, events.ErrMalformed)
		}
		if a, err := netip.ParseAddr(u.Hostname()); err == nil && !cfg.AllowPrivate && !publicnet.Public(a) {
			return nil, fmt.Errorf("probe %s: allow private addresses, or use others: %w", t.Node, events.ErrMalformed)
		}
		p.nodes = append(p.nodes, t.Node)
	}
	return p, nil
}

// Nodes are those that it asks, in the order of the configuration. They are not to be changed.
func (p *Prober) Nodes() []events.Node { return p.nodes }

// Probe asks each target once, and returns when all have answered or had time to: after Jitter and, at worst, a Timeout
// for every Parallel of them. Errors: ErrHere, and that of ctx.
func (p *Prober) Probe(ctx context.Context) (map[events.Node]downtime.Answer, error) {
	count, start := len(p.nodes), time.Now()
	found, errs := make([]downtime.Answer, count), make([]error, count)
	var asking errgroup.Group
	asking.SetLimit(p.cfg.Parallel)
	for turn, i := range random.Perm(count) {
		if retry.Sleep(ctx, time.Until(start.Add(p.cfg.Jitter*time.Duration(turn)/time.Duration(count)))) != nil {
			break
		}
		asking.Go(func() error {
			found[i], errs[i] = p.ask(ctx, p.cfg.Targets[i])
			return nil
		})
	}
	if err := cmp.Or(asking.Wait(), ctx.Err(), here(errs)); err != nil {
		return nil, err
	}
	answers := make(map[events.Node]downtime.Answer, count)
	for i, node := range p.nodes {
		answers[node] = found[i]
	}
	return answers, nil
}

// ask returns the error of a request without its URL, in which a secret may be.
func (p *Prober) ask(ctx context.Context, t Target) (none downtime.Answer, err error) {
	ctx, cancel := context.WithTimeout(ctx, p.cfg.Timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, t.URL, nil)
	if err != nil {
		return none, err
	}
	nonce := fmt.Sprintf("%x", rand.Text())
	request.URL.RawQuery = "nonce=" + nonce + "&" + request.URL.RawQuery
	response, err := p.client.Do(request)
	if err != nil {
		return none, errors.Unwrap(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxBytes))
	switch {
	case err == nil && response.StatusCode == http.StatusTooManyRequests:
		return downtime.Answer{Online: true}, nil
	case err != nil || response.StatusCode != http.StatusOK:
		return none, err
	}
	return downtime.Answer{Online: true, Proven: p.proves(body, t.Account, nonce)}, nil
}

// proves reports whether a body is a Statement of an account in answer to a nonce. The text is made of what was asked,
// so only the time is taken from the body.
func (p *Prober) proves(body []byte, account events.Address, nonce string) bool {
	var s Statement
	if json.Unmarshal(body, &s) != nil || s.Time.Sub(p.cfg.Now()).Abs() > maxSkew {
		return false
	}
	s.ChainID, s.Account, s.Nonce = p.cfg.ChainID, account.String(), nonce
	signer, err := keys.SignerOf(s.Text(), s.Signature)
	return err == nil && signer == account
}

// cutOff is what a computer without a network says; of one target, it may be the target's network.
var cutOff = []syscall.Errno{
	syscall.ENETDOWN, syscall.ENETUNREACH, syscall.EHOSTUNREACH, syscall.EADDRNOTAVAIL, syscall.EACCES, syscall.EPERM,
}

// here is ErrHere if the errors of all requests show a fault here. Nil is that of an answer.
func here(errs []error) (fault error) {
	reached := false
	for _, err := range errs {
		errno, _ := errors.AsType[syscall.Errno](err)
		name, unnamed := errors.AsType[*net.DNSError](err)
		dialing, _ := errors.AsType[*net.OpError](err)
		switch {
		case errno == syscall.EMFILE || errno == syscall.ENFILE || errno == syscall.ENOBUFS:
			return fmt.Errorf("%w: %w", ErrHere, err)
		case slices.Contains(cutOff, errno) || unnamed && !name.IsNotFound:
			fault = fmt.Errorf("%w: %w", ErrHere, err)
		case dialing == nil || dialing.Op != "dial" || errno == syscall.ECONNREFUSED:
			reached = true
		}
	}
	if reached {
		return nil
	}
	return fault
}

// Statement is what a host answers. All but the signature is in its text, Time in UTC and to the second.
type Statement struct {
	ChainID   uint64        `json:"chainId"`
	Account   string        `json:"account"` // in small letters
	Nonce     string        `json:"nonce"`
	Time      time.Time     `json:"time"`
	Signature hexutil.Bytes `json:"signature,omitempty"` // 65 bytes; none: the host could not sign
}

// Text is what is signed.
func (s Statement) Text() []byte {
	return fmt.Appendf(nil, "hostnode probe\nchain: %d\naccount: %s\nnonce: %s\ntime: %s",
		s.ChainID, s.Account, s.Nonce, s.Time.UTC().Format(time.RFC3339))
}

var nonceForm = regexp.MustCompile(`^[0-9a-f]{16,64}$`)

// NewResponder answers GET /v1/probe?nonce=... with a Statement of the account. The nonce has 16 to 64 hex digits in
// small letters; without one the status is 400. perSecond, at least 1, is how many are answered in a second, from
// wherever they come; the others get status 429, which shows that this
// host is there, and nothing more. Who asks waits for seconds only, so sign asks no person. When it fails there is no
// signature: the host is online, and unproven.
func NewResponder(chainID uint64, account events.Address, perSecond int, sign keys.Sign) http.Handler {
	limit, mux := rate.NewLimiter(rate.Limit(perSecond), perSecond), http.NewServeMux()
	mux.HandleFunc("GET /v1/probe", func(w http.ResponseWriter, r *http.Request) {
		nonce, now := r.URL.Query().Get("nonce"), time.Now().UTC().Truncate(time.Second)
		if !nonceForm.MatchString(nonce) {
			http.Error(w, "send ?nonce=, of 16 to 64 hex digits in small letters", http.StatusBadRequest)
			return
		}
		if !limit.Allow() {
			http.Error(w, "too many ask; ask again in a second", http.StatusTooManyRequests)
			return
		}
		s := Statement{chainID, account.String(), nonce, now, nil}
		s.Signature, _ = sign(r.Context(), s.Text())
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(s) // An error means that the caller has left.
	})
	return mux
}

// Serve answers those who connect to a listener, which it closes, until ctx ends: http.ErrServerClosed.
func Serve(ctx context.Context, l net.Listener, h http.Handler) error {
	server := &http.Server{Handler: h, ReadTimeout: requestTime, WriteTimeout: requestTime, MaxHeaderBytes: maxBytes}
	server.SetKeepAlivesEnabled(false)
	defer context.AfterFunc(ctx, func() { _ = server.Close() })()
	return server.Serve(netutil.LimitListener(l, maxConnections))
}
