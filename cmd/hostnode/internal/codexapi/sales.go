package codexapi

import (
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/api"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/problem"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/projections"
)

// Sentences of Codex, which programs may compare.
const (
	saysSize       = "Total size must be larger then zero"
	saysDuration   = "duration must be larger then zero"
	saysPrice      = "minPricePerBytePerSecond must be larger then zero"
	saysCollateral = "totalCollateral must be larger then zero"
	saysQuota      = "Not enough storage quota"
	saysNegative   = "Cannot set until to a negative value"
	saysUntil      = "Until parameter must be greater or equal to the longest currently hosted slot"
	saysUnknown    = "Availability not found"
)

type availability struct {
	ID                  string `json:"id"`
	TotalSize           count  `json:"totalSize"`
	FreeSize            count  `json:"freeSize"`
	Duration            count  `json:"duration"`
	MinPrice            string `json:"minPricePerBytePerSecond"`
	Collateral          string `json:"totalCollateral"`
	RemainingCollateral string `json:"totalRemainingCollateral"`
	Enabled             bool   `json:"enabled"`
	Until               count  `json:"until"`
}

func availabilityOf(a projections.Availability) availability {
	return availability{
		ID: a.ID, TotalSize: count{n: uint64(a.TotalSize)}, FreeSize: count{n: uint64(a.FreeSize)},
		Duration: count{n: a.DurationSeconds}, MinPrice: a.MinPrice, Collateral: a.Collateral,
		RemainingCollateral: a.Remaining, Enabled: a.Enabled, Until: moment(a.Until),
	}
}

// offer is the body of POST and PATCH; what is nil is not in it.
type offer struct {
	TotalSize  *count  `json:"totalSize"`
	FreeSize   *count  `json:"freeSize"`
	Duration   *count  `json:"duration"`
	MinPrice   *amount `json:"minPricePerBytePerSecond"`
	Collateral *amount `json:"totalCollateral"`
	Enabled    *bool   `json:"enabled"`
	Until      *count  `json:"until"`
}

// check refuses values that no offer may have, in Codex's order. whole: what is missing counts as 0.
func (o offer) check(whole bool) error {
	none := func(c *count) bool { return c == nil && whole || c != nil && c.n == 0 }
	nothing := func(a *amount) bool { return a == nil && whole || a != nil && a.IsZero() }
	below := func(c *count) bool { return c != nil && c.negative }
	switch {
	case below(o.TotalSize) || below(o.Duration):
		return errRange
	case none(o.TotalSize):
		return unfit(saysSize)
	case none(o.Duration):
		return unfit(saysDuration)
	case nothing(o.MinPrice):
		return unfit(saysPrice)
	case nothing(o.Collateral):
		return unfit(saysCollateral)
	case below(o.Until):
		return unfit(saysNegative)
	case o.Until != nil && o.Until.n > uint64(lastMoment.Unix()):
		return unfit("until is after the year 9999")
	}
	return nil
}

// lastMoment is the last one that a record can have.
var lastMoment = time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)

// refusedOffer says of an error what Codex would say of it.
func refusedOffer(err error, o offer) error {
	_, space := errors.AsType[*capacity.SpaceError](err)
	switch {
	case space || errors.Is(err, problem.ErrDiskSmall):
		return unfit(saysQuota)
	case errors.Is(err, capacity.ErrUnknownAvailability):
		return refuse(http.StatusNotFound, saysUnknown)
	case errors.Is(err, capacity.ErrInUse) && o.Until != nil && o.Collateral == nil:
		return unfit(saysUntil)
	}
	for _, is := range []error{
		capacity.ErrInUse, capacity.ErrInvalid, capacity.ErrLimit, problem.ErrOver, problem.ErrBadRequest,
	} {
		if errors.Is(err, is) {
			return unfit("%v", err)
		}
	}
	return err
}

func (a *API) availabilities(w http.ResponseWriter, r *http.Request) error {
	l, err := api.ListAvailabilities.Ask(r.Context(), a.cfg.Host, api.None{})
	if err != nil {
		return err
	}
	all := make([]availability, 0, len(l.Availabilities))
	for _, one := range l.Availabilities {
		all = append(all, availabilityOf(one))
	}
	return answer(w, http.StatusOK, all)
}

func (a *API) addAvailability(w http.ResponseWriter, r *http.Request) error {
	var o offer
	if err := read(w, r, &o); err != nil {
		return err
	}
	if err := o.check(true); err != nil {
		return err
	}
	q := api.Offer{
		Size: events.Bytes(o.TotalSize.n), DurationSeconds: o.Duration.n, MinPrice: o.MinPrice.String(),
		Collateral: o.Collateral.String(), Disabled: o.Enabled != nil && !*o.Enabled,
	}
	if o.Until != nil && o.Until.n > 0 {
		q.Until = time.Unix(int64(o.Until.n), 0).UTC()
	}
	made, err := api.AddAvailability.Ask(r.Context(), a.cfg.Host, api.Send(q))
	if err != nil {
		return refusedOffer(err, o)
	}
	return answer(w, http.StatusCreated, availabilityOf(made))
}

// availability is the one that a path names.
func (a *API) availability(r *http.Request) (found projections.Availability, err error) {
	id, err := events.ParseAvailabilityID(r.PathValue("id"))
	if err != nil {
		return found, refuse(http.StatusBadRequest, "%v", err)
	}
	l, err := api.ListAvailabilities.Ask(r.Context(), a.cfg.Host, api.None{})
	if err != nil {
		return found, err
	}
	i := slices.IndexFunc(l.Availabilities, func(a projections.Availability) bool { return a.ID == id.String() })
	if i < 0 {
		return found, refuse(http.StatusNotFound, saysUnknown)
	}
	return l.Availabilities[i], nil
}

func (a *API) setAvailability(w http.ResponseWriter, r *http.Request) error {
	var o offer
	if err := read(w, r, &o); err != nil {
		return err
	}
	was, err := a.availability(r)
	if err != nil {
		return err
	}
	if o.FreeSize != nil {
		return unfit("Updating freeSize is not allowed")
	}
	if err := o.check(false); err != nil {
		return err
	}
	q := api.Changes{Enabled: o.Enabled}
	if o.TotalSize != nil {
		size := events.Bytes(o.TotalSize.n)
		if size < was.UsedSize {
			return unfit("New totalSize must be larger then current totalSize - freeSize, which is currently: %d",
				was.UsedSize)
		}
		q.Size = &size
	}
	if o.Duration != nil {
		q.DurationSeconds = &o.Duration.n
	}
	if o.MinPrice != nil {
		q.MinPrice = new(o.MinPrice.String())
	}
	if o.Collateral != nil {
		q.Collateral = new(o.Collateral.String())
	}
	if o.Until != nil && o.Until.n > 0 {
		q.Until = new(time.Unix(int64(o.Until.n), 0).UTC())
	}
	q.NoEnd = o.Until != nil && o.Until.n == 0
	if _, err := api.SetAvailability.Ask(r.Context(), a.cfg.Host, api.ChangesOf{ID: was.ID, Body: q}); err != nil {
		return refusedOffer(err, o)
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

type reservation struct {
	ID           string `json:"id"`
	Availability string `json:"availabilityId"`
	Size         count  `json:"size"`
	Request      string `json:"requestId"`
	SlotIndex    count  `json:"slotIndex"`
	ValidUntil   count  `json:"validUntil"`
}

// reservationOf is what a sale has reserved; nil: nothing, or nothing any more.
func reservationOf(s projections.Sale) *reservation {
	if s.Over || s.Reservation == "" {
		return nil
	}
	until := s.EndsAt
	if until.IsZero() {
		until = s.ExpiresAt
	}
	return &reservation{
		s.Reservation, s.Availability, count{n: uint64(s.SlotSize)}, s.Request, count{n: s.SlotIndex}, moment(until),
	}
}

func (a *API) reservations(w http.ResponseWriter, r *http.Request) error {
	of, err := a.availability(r)
	if err != nil {
		return err
	}
	sales, err := api.AllSales(r.Context(), a.cfg.Host, api.SalesQuestion{})
	if err != nil {
		return err
	}
	all := []reservation{}
	for _, s := range sales.Sales {
		if has := reservationOf(s); has != nil && has.Availability == of.ID {
			all = append(all, *has)
		}
	}
	return answer(w, http.StatusOK, all)
}

type ownSlot struct {
	ID        string  `json:"id"`
	Request   request `json:"request"`
	SlotIndex count   `json:"slotIndex"`
}

// slots are those that the contract counts as ours, also those that nobody proves.
func (a *API) slots(w http.ResponseWriter, r *http.Request) error {
	mine, err := a.cfg.Market.MySlots(r.Context())
	if err != nil {
		return err
	}
	all := make([]ownSlot, 0, len(mine))
	for _, s := range mine {
		all = append(all, ownSlot{s.Slot.String(), requestOf(s.Request), count{n: s.Index}})
	}
	return answer(w, http.StatusOK, all)
}

type agent struct {
	State       string       `json:"state"`
	Request     string       `json:"requestId"`
	SlotIndex   count        `json:"slotIndex"`
	Asked       *request     `json:"request"`
	Reservation *reservation `json:"reservation"`
}

// slot is a sale that goes on. Codex forgets others, too.
func (a *API) slot(w http.ResponseWriter, r *http.Request) error {
	id, err := events.ParseSlotID(r.PathValue("slot"))
	if err != nil {
		return refuse(http.StatusBadRequest, "%v", err)
	}
	story, err := api.ShowSale.Ask(r.Context(), a.cfg.Host, api.OfSlot{Slot: id.String()})
	if err != nil && !errors.Is(err, problem.ErrUnknownSale) {
		return err
	}
	n := len(story.Attempts)
	if n == 0 || story.Attempts[n-1].Over {
		return refuse(http.StatusNotFound, "Provider not filling slot")
	}
	s := story.Attempts[n-1]
	shown := agent{"Sale" + s.Phase, s.Request, count{n: s.SlotIndex}, nil, reservationOf(s)}
	if id, err := events.ParseRequestID(s.Request); err == nil {
		if asked, err := a.cfg.Market.Request(r.Context(), id); err == nil { // Else the chain does not answer now.
			shown.Asked = new(requestOf(asked))
		}
	}
	return answer(w, http.StatusOK, shown)
}
