package projections

import "strconv"

// The rows of these views tell of which streams they are (machine.Row).

// Stands implements machine.Row.
func (s *Sale) Stands() (key, state string) { return s.Slot, s.Phase }

// Stands implements machine.Row.
func (s *Sector) Stands() (key, state string) { return strconv.FormatUint(s.SectorNumber, 10), s.State }

// Stands implements machine.Row.
func (t *Transaction) Stands() (key, state string) { return "", string(t.Outcome) }
