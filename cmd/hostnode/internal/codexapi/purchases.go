package codexapi

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/requester"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/storage/dataset"
)

// wish is the body of a request for storage.
type wish struct {
	Duration         count  `json:"duration"`
	ProofProbability amount `json:"proofProbability"`
	Price            amount `json:"pricePerBytePerSecond"`
	Collateral       amount `json:"collateralPerByte"`
	Expiry           count  `json:"expiry"`
	Nodes            *count `json:"nodes"`
	Tolerance        *count `json:"tolerance"`
}

// What a wish means that does not say it.
const (
	usualNodes     = 3
	usualTolerance = 1
)

// terms checks a wish in Codex's order, and says how the data is to be coded. longest is the longest duration.
func (q wish) terms(longest time.Duration) (t requester.Terms, code dataset.Params, err error) {
	no := func(format string, args ...any) (requester.Terms, dataset.Params, error) {
		return t, code, unfit(format, args...)
	}
	nodes, tolerance := uint64(usualNodes), uint64(usualTolerance)
	if q.Nodes != nil {
		nodes = q.Nodes.n
	}
	if q.Tolerance != nil {
		tolerance = q.Tolerance.n
	}
	if q.Duration.negative || q.Nodes != nil && q.Nodes.negative || q.Tolerance != nil && q.Tolerance.negative {
		return t, code, errRange
	}
	probability := q.ProofProbability.Big()
	switch {
	case q.Expiry.negative || q.Expiry.n == 0 || q.Expiry.n >= q.Duration.n:
		return no("Expiry must be greater than zero and less than the request's duration")
	case q.ProofProbability.IsZero():
		return no("Proof probability must be greater than zero")
	case !probability.IsUint64():
		return no("Proof probability must be less than 2^64")
	case q.Collateral.IsZero():
		return no("Collateral per byte must be greater than zero")
	case q.Price.IsZero():
		return no("Price per byte per second must be greater than zero")
	case q.Duration.n > uint64(longest/time.Second):
		return no("Duration exceeds limit of %d seconds", uint64(longest/time.Second))
	case tolerance == 0:
		return no("Tolerance needs to be bigger then zero")
	case tolerance > nodes:
		return no("Invalid parameters: `tolerance` cannot be greater than `nodes`")
	case nodes-tolerance <= 1 || nodes-tolerance < tolerance:
		return no("Invalid parameters: parameters must satify `1 < (nodes - tolerance) ≥ tolerance`")
	case nodes > dataset.MaxSlots:
		return no("Invalid parameters: at most %d nodes", dataset.MaxSlots)
	}
	code = dataset.Params{K: int(nodes - tolerance), M: int(tolerance)}
	return requester.Terms{
		PricePerBytePerSecond: q.Price.Amount, CollateralPerByte: q.Collateral.Amount,
		ProofProbability: probability.Uint64(),
		Duration:         time.Duration(q.Duration.n) * time.Second, Expiry: time.Duration(q.Expiry.n) * time.Second,
	}, code, nil
}

// buy codes an upload and posts a request for it. The answer comes when the market has it.
func (a *API) buy(w http.ResponseWriter, r *http.Request) error {
	c, d, err := a.local(r)
	if err != nil {
		return err
	}
	var q wish
	if err := read(w, r, &q); err != nil {
		return err
	}
	longest, err := a.cfg.Buyer.MaxDuration(r.Context())
	if err != nil {
		return err
	}
	terms, code, err := q.terms(longest)
	if err != nil {
		return err
	}
	if d == nil {
		return notHere(c)
	}
	if _, err := dataset.NewLayout(d.Layout().Size, code); errors.Is(err, dataset.ErrTooSmall) {
		return unfit("Dataset too small for erasure parameters, need at least %d bytes",
			code.K*dataset.BlockSize)
	} else if err != nil {
		return unfit("%v", err)
	}
	coded, err := a.cfg.Shelf.Code(r.Context(), d, code)
	if err != nil {
		return err
	}
	posted, err := a.cfg.Buyer.Buy(r.Context(), coded, terms, time.Now().UTC())
	if err != nil {
		return err
	}
	text(w, http.StatusOK, strings.TrimPrefix(posted.ID.String(), "0x"))
	return nil
}

func (a *API) purchases(w http.ResponseWriter, r *http.Request) error {
	ids, err := a.cfg.Buyer.Purchases(r.Context())
	if err != nil {
		return err
	}
	all := make([]string, 0, len(ids))
	for _, id := range ids {
		all = append(all, id.String())
	}
	return answer(w, http.StatusOK, all)
}

type purchase struct {
	RequestID string   `json:"requestId"`
	Request   *request `json:"request"`
	State     string   `json:"state"`
	Error     *string  `json:"error"`
}

// states are Codex's names of what became of a request.
var states = map[events.RequestState]string{
	events.RequestNew: "submitted", events.RequestStarted: "started", events.RequestCancelled: "cancelled",
	events.RequestFinished: "finished", events.RequestFailed: "failed",
}

func (a *API) purchase(w http.ResponseWriter, r *http.Request) error {
	id, err := events.ParseRequestID(r.PathValue("id"))
	if err != nil {
		return refuse(http.StatusBadRequest, "%v", err)
	}
	ids, err := a.cfg.Buyer.Purchases(r.Context())
	if err != nil {
		return err
	}
	if !slices.Contains(ids, id) {
		return refuse(http.StatusNotFound, "This host's client has not posted request %s", id)
	}
	p, err := a.cfg.Buyer.Purchase(r.Context(), id)
	if err != nil {
		return err
	}
	shown := purchase{RequestID: id.String(), State: states[p.State]}
	switch {
	case p.Known:
		shown.Request = new(requestOf(p.Request))
	case p.Posting:
		shown.State = "pending"
	default:
		shown.State = "errored"
		shown.Error = new("the market does not have it: it was not sent, or its transaction failed")
	}
	return answer(w, http.StatusOK, shown)
}
