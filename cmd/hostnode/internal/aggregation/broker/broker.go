// Package broker offers aggregates to an outside broker over HTTP, and asks it how their deals stand.
//
// Each request brings "Authorization: Bearer" and the token; that the answer is the broker's is shown by its
// certificate. {cid} is the piece CID of an aggregate, of version 1:
//
//	PUT    {url}/aggregates/{cid}            offers it: {"aggregate", "size", "pieces", "account", "chainId"}
//	GET    {url}/aggregates/{cid}            asks how its deal stands
//	POST   {url}/aggregates/{cid}/signature  brings a signature: {"deal", "signature"}
//	DELETE {url}/aggregates/{cid}            takes the offer back
//
// All may be repeated. Status 404 means that there is no such offer; 409, to DELETE, that the deal is approved or
// rejected. To DELETE, success is status 200 or 204; to the others, 200 with no other fields than these, of which the
// last four may be left out:
//
//	{"aggregate": "baga6ea4seaq…", "status": "REJECTED", "deal": "d-17", "bad": ["baga6ea4seaq…"], "reason": "…"}
//
// The status is PENDING, SIGNED, APPROVED or REJECTED. What is called bad are pieces because of which an aggregate is
// REJECTED. The reason is one line. While the status is PENDING, "awaits": "signature" asks for the account's signature
// of the deal, which has a name then. It is that of personal_sign (EIP-191), in hex, over this text, without a newline
// at its end:
//
//	hostnode aggregation deal
//	chain: 1
//	account: 0xcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcd
//	broker: broker.example:8443
//	aggregate: baga6ea4seaqao7s73y24kcutaosvacpdjgfe5pw76ooefnyqw4ynr3d2y6x2mpq
//	size: 34359738368
//	deal: d-17
//
// All of it but the name of the deal is what this host knows itself: the broker is the host in the URL, the size that
// of the offer. So no broker gets a signature for anything else.
//
// A broker that has news may call back (Callbacks), and is asked then.
package broker

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum/common/hexutil"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/config"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/keys"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/internal/callback"
	"github.com/hostnode/hostnode/prover/commd"
)

// Config is the configuration of a broker. Zero values mean the defaults in brackets.
type Config struct {
	// URL is the broker's, before "/aggregates/…". Plain http is allowed to this machine only, or with AllowHTTP.
	URL       string
	AllowHTTP bool
	// Token is the bearer token.
	Token string
	// Account is whose deals these are, on the chain of this number.
	Account events.Address
	ChainID uint64
	// Sign signs with the account's key; nil: this process has none.
	Sign keys.Sign
	// Timeout limits a request, to the last byte of its answer [1 min].
	Timeout time.Duration
	// MaxAnswer limits an answer, in bytes [32 MiB: the CIDs of all pieces of an aggregate of 32 GiB have 17].
	MaxAnswer int64
}

// Broker asks a broker. It repeats nothing by itself.
type Broker struct {
	cfg     Config
	url     *url.URL
	name    string   // the URL for people
	secrets []string // what no error may show
	client  *http.Client
}

// tokenForm is what a header can have.
var tokenForm = regexp.MustCompile(`^[!-~]+$`)

// New refuses what cannot be asked, with events.ErrMalformed. It does not connect yet.
func New(cfg Config) (*Broker, error) {
	cfg.Timeout, cfg.MaxAnswer = cmp.Or(cfg.Timeout, time.Minute), cmp.Or(cfg.MaxAnswer, 32<<20)
	name, secrets := events.RedactURL(cfg.URL)
	u, err := url.Parse(cfg.URL)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" ||
		u.Fragment != "":
		return nil, fmt.Errorf("broker %q, want https://host:port/path: %w", name, events.ErrMalformed)
	case u.Scheme == "http" && !cfg.AllowHTTP && !config.Loopback(u.Hostname()):
		return nil, fmt.Errorf("broker %q: its token would go over the network in the clear; use https: %w",
			name, events.ErrMalformed)
	case !tokenForm.MatchString(cfg.Token):
		return nil, fmt.Errorf("broker %q: its token is missing, or has characters that no token has: %w",
			name, events.ErrMalformed)
	}
	return &Broker{
		cfg: cfg, url: u, name: name, secrets: append(secrets, cfg.Token),
		client: &http.Client{
			Transport: &http.Transport{
				Proxy: http.ProxyFromEnvironment, IdleConnTimeout: time.Minute, DisableCompression: true,
				MaxResponseHeaderBytes: 64 << 10,
			},
			// A redirect is refused, so that token and signature go nowhere else.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}, nil
}

// OfferBody is what PUT sends.
type OfferBody struct {
	Aggregate string `json:"aggregate"`
	Size      uint64 `json:"size"` // padded
	Pieces    int    `json:"pieces"`
	Account   string `json:"account"`
	ChainID   uint64 `json:"chainId"`
}

// SignatureBody is what POST sends.
type SignatureBody struct {
	Deal      string        `json:"deal"`
	Signature hexutil.Bytes `json:"signature"`
}

// Deal is what is signed.
type Deal struct {
	ChainID   uint64
	Account   string
	Broker    string // host, and port if the URL has one
	Aggregate string
	Size      uint64
	Name      string // by the broker
}

// Text is what is signed, a line each. No value has a newline.
func (d Deal) Text() []byte {
	const form = "hostnode aggregation deal\nchain: %d\naccount: %s\nbroker: %s\naggregate: %s\nsize: %d\ndeal: %s"
	return fmt.Appendf(nil, form, d.ChainID, d.Account, d.Broker, d.Aggregate, d.Size, d.Name)
}

// Offer implements port.Broker.
func (b *Broker) Offer(ctx context.Context, offer events.AggregateOffer) (events.DealReport, error) {
	a, err := b.ask(ctx, http.MethodPut, offer, OfferBody{
		offer.Aggregate, uint64(offer.Size), offer.Pieces, b.cfg.Account.String(), b.cfg.ChainID,
	})
	return a.DealReport, err
}

// State implements port.Broker.
func (b *Broker) State(ctx context.Context, offer events.AggregateOffer) (events.DealReport, error) {
	a, err := b.ask(ctx, http.MethodGet, offer, nil)
	if err != nil || a.awaits == "" {
		return a.DealReport, err
	}
	if b.cfg.Sign == nil {
		return events.DealReport{}, b.tell(offer.Aggregate,
			fmt.Errorf("it waits for a signature, and this process has no key of the account: %w", events.ErrUnsigned))
	}
	signature, err := b.cfg.Sign(ctx, Deal{
		b.cfg.ChainID, b.cfg.Account.String(), strings.ToLower(b.url.Host), offer.Aggregate, uint64(offer.Size), a.Deal,
	}.Text())
	if err != nil {
		return events.DealReport{}, b.tell(offer.Aggregate, fmt.Errorf("sign it: %w: %w", err, events.ErrUnsigned))
	}
	// If it still waits afterwards, the next question signs the same again.
	a, err = b.ask(ctx, http.MethodPost, offer, SignatureBody{a.Deal, signature})
	return a.DealReport, err
}

// Withdraw implements port.Broker.
func (b *Broker) Withdraw(ctx context.Context, aggregate string) error {
	_, err := b.ask(ctx, http.MethodDelete, events.AggregateOffer{Aggregate: aggregate}, nil)
	return err
}

// maxCallbacks limits the call-backs of a second: more than deals move on.
const maxCallbacks = 20

// Callbacks takes the call-backs of a broker that was given this token: POST {"aggregate": "baga6ea4seaq…"}. look is
// told to ask about that aggregate, of which the caller may know nothing; it must not wait.
func Callbacks(token string, look func(aggregate string)) http.Handler {
	return callback.New(token, maxCallbacks, func(said struct{ Aggregate string }) error {
		_, err := commd.ParseCID(said.Aggregate)
		if err == nil {
			look(said.Aggregate)
		}
		return err
	})
}
