package admission

import (
	"fmt"
	"time"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/dispersal"
)

// MayReserve is what a dispersal policy is asked: may this host reserve that
// slot now? All points in time are chain time.
type MayReserve struct {
	Host    events.Address
	Slot    events.SlotID
	Request events.Request
	// Repair says that the slot was freed: it can be filled until the request ends.
	Repair            bool
	ExpiresAt, EndsAt time.Time
	// MinFill is how much time a fill needs; a permission that comes later is of no use.
	MinFill time.Duration
	Now     time.Time
}

// Permission is the answer of a dispersal policy.
type Permission struct {
	// Opens is when the host may reserve; at or before Now: it may. A policy never
	// moves it to a later time.
	Opens  time.Time
	Reason string // why not yet
}

// Open says whether the host may reserve now.
func (p Permission) Open(now time.Time) bool { return !p.Opens.After(now) }

// ReserveAlways is the policy of the contract: who comes first.
func ReserveAlways(MayReserve) Permission { return Permission{} }

// ReserveInWindow lets a host reserve when the window of package dispersal has
// reached it. The window of a new request is open to all when a fill just fits
// before the expiry; that of a slot in repair, before the end of the request. It
// began when the request was made, so a slot that is freed late is open to most.
func ReserveInWindow(q MayReserve) Permission {
	w := dispersal.Window{From: q.ExpiresAt.Add(-q.Request.Expiry), Until: q.ExpiresAt}
	if q.Repair {
		w.Until = q.EndsAt
	}
	w.Until = w.Until.Add(-q.MinFill)
	opens := w.Opens(dispersal.Between(q.Host, q.Slot))
	return Permission{opens, fmt.Sprintf("the window of the slot reaches this host at %s, in %s",
		opens.UTC().Format(time.RFC3339), opens.Sub(q.Now))}
}
