package projections

import (
	"strconv"

	"github.com/hostnode/hostnode/events"
)

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
