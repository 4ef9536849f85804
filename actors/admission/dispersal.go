package admission

import (
	"fmt"
	"time"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/dispersal"
)

// MayReserve is the question to a dispersal policy: may this host reserve that slot now? All
// times are chain time.
type MayReserve struct {
	Host    events.Address
	Slot    events.SlotID
	Request events.Request
	// Repair says that the slot was freed: it can be filled until the request ends.
	Repair            bool
	ExpiresAt, EndsAt time.Time
	// MinFill is how much time a fill needs; a later permission is useless.
	MinFill time.Duration
	Now     time.Time
}

// Permission is the answer of a dispersal policy.
type Permission struct {
	// Opens is when the host may reserve; it may if that is not after Now. A policy never moves
	// it to a later time.
	Opens  time.Time
	Reason string // why not yet
}

// Open reports whether the host may reserve now.
func (p Permission) Open(now time.Time) bool { return !p.Opens.After(now) }

// ReserveAlways is the contract's own policy: first come, first served.
func ReserveAlways(MayReserve) Permission { return Permission{} }

// ReserveInWindow lets a host reserve once the window of package dispersal has reached it. The
// window opens with the request and is open to all when there is just enough time left to fill:
// before the expiry for a new request, before the end of the request for a slot in repair. So a
// slot that is freed late is open to most hosts.
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
