package projections

import (
	"strconv"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/projections/machine"
)

// Counts says how many rows the view of a machine has for a host, in all and by the states in which they stand, without
// making the rows of which there are many.
func (v *Views) Counts(of events.Address, category string) (rows int, states map[string]int) {
	states = map[string]int{}
	add := func(state string) {
		rows++
		if state != "" {
			states[state]++
		}
	}
	h := v.hosts[of.String()]
	switch {
	case h == nil:
	case category == events.CategorySale:
		for i := range h.sales.Closed {
			add(h.sales.Closed[i].Phase)
		}
		for _, s := range h.sales.Open {
			add(s.State.Phase.String())
		}
	case category == events.CategorySector:
		for _, s := range h.sectors.All {
			add(string(s.State.State))
		}
	case category == events.CategoryTx:
		for t := range v.TransactionsOf(of) {
			add(string(t.Outcome))
		}
	default:
		all, _ := v.Of(category)
		for _, row := range machine.Each(all[h.address]) {
			state := ""
			if stands, ok := row.(machine.Row); ok {
				_, state = stands.Stands(h.address)
			}
			add(state)
		}
	}
	return rows, states
}

// The rows of these views tell of which streams they are (machine.Row).

// Stands implements machine.Row.
func (s Sale) Stands(host string) (stream, state string) {
	return events.CategorySale + "-" + host + "-" + s.Slot, s.Phase
}

// Stands implements machine.Row.
func (s Sector) Stands(host string) (stream, state string) {
	return events.CategorySector + "-" + host + "-" + strconv.FormatUint(s.SectorNumber, 10), s.State
}

// Stands implements machine.Row.
func (t Transaction) Stands(host string) (stream, state string) {
	return events.CategoryTx + "-" + host, string(t.Outcome)
}
