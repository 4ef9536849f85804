package actors_test

import (
	"slices"
	"sync"

	"github.com/hostnode/hostnode/actors/health"
)

// alertLog keeps the alerts of a host. Safe for concurrent use.
type alertLog struct {
	mu  sync.Mutex
	all []health.Alert
}

// listen keeps the alerts of all hosts that start from now on.
func (r *rig) listen() *alertLog {
	h := &alertLog{}
	r.cfg.Alert = h.take
	return h
}

func (h *alertLog) take(a health.Alert) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.all = append(h.all, a)
}

// of returns the alerts of a kind, in their order.
func (h *alertLog) of(kind health.AlertKind) []health.Alert {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(h.all), func(a health.Alert) bool { return a.Kind != kind })
}

// periods returns the periods that the alerts of a kind are about.
func (h *alertLog) periods(kind health.AlertKind) (periods []uint64) {
	for _, a := range h.of(kind) {
		periods = append(periods, a.Period)
	}
	return periods
}
