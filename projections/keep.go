package projections

import (
	"fmt"

	"github.com/hostnode/hostnode/events"
)

// This file is for folds of other packages that want to be kept as the views
// are: as disposable values that are looked at before they are believed.

// Save is all that the views hold, for a file of the caller's. LoadViews is the
// reverse.
func (v *Views) Save() ([]byte, error) { return encodeCheckpoint(v) }

// LoadViews are saved views. asOf is the position up to which the caller knows
// that only the system wrote behind what the views saw last.
func LoadViews(saved []byte, asOf events.Position) (*Views, error) {
	v, err := decodeCheckpoint(saved)
	if err != nil {
		return nil, fmt.Errorf("load views: %w", err)
	}
	v.asOf = max(v.asOf, asOf)
	return v, nil
}
