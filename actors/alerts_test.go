package actors_test

import (
	"slices"
	"sync"

	"github.com/hostnode/hostnode/actors/health"
	"github.com/hostnode/hostnode/events/alert"
)

// alertLog keeps the alerts of a host. Safe for concurrent use.
type alertLog struct {
	mu   sync.Mutex
	all  []health.Alert
	open map[alert.Key]bool // raised, and not cleared since
}

// listen keeps the alerts of all hosts that start from now on.
func (r *rig) listen() *alertLog {
	h := &alertLog{}
	r.cfg.Alert, r.cfg.AlertOver = h.take, h.end
	return h
}

func (h *alertLog) take(a health.Alert) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.all = append(h.all, a)
	if h.open == nil {
		h.open = map[alert.Key]bool{}
	}
	h.open[keyOf(a)] = true
}

func (h *alertLog) end(a health.Alert) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.open, keyOf(a))
}

func keyOf(a health.Alert) alert.Key {
	return alert.Key{Kind: string(a.Kind), Member: a.Member, Subject: a.Subject}
}

// opened counts the alerts of a kind that are open.
func (h *alertLog) opened(kind health.AlertKind) (n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for key := range h.open {
		if key.Kind == string(kind) {
			n++
		}
	}
	return n
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
