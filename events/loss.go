package events

import (
	"encoding/json"
	"fmt"
	"time"
)

// LossStream is where a loss of events is recorded. No machine folds it.
const LossStream = CategoryLoss + "-record"

// TypeRecordLost is the type of the events in LossStream.
const TypeRecordLost = "RecordLost"

// RecordLost says that an operator has accepted a loss: of a damaged store, everything
// before the first unreadable event was kept, and nothing after it.
type RecordLost struct {
	// At is when the operator accepted it.
	At time.Time `json:"at"`
	// Kept is the last position that was kept, and Last the position of the last
	// event, both as the damaged store numbered them. Readable counts all events
	// that could be read.
	Kept     Position `json:"kept"`
	Last     Position `json:"last"`
	Readable uint64   `json:"readable"`
	// Problem is what was damaged.
	Problem string `json:"problem"`
	// Aside is the directory that the damaged store was moved to.
	Aside string `json:"aside"`
}

// Lost is the number of events that are no longer in the store.
func (l RecordLost) Lost() uint64 { return uint64(l.Last - min(l.Kept, l.Last)) }

// Event returns the event as it is stored.
func (l RecordLost) Event() (NewEvent, error) {
	data, err := json.Marshal(l)
	if err != nil {
		return NewEvent{}, fmt.Errorf("encode %s: %w", TypeRecordLost, err)
	}
	unique := fmt.Sprintf("%d/%d/%d", l.Kept, l.Last, l.At.UnixNano())
	return NewEvent{
		ID: NewEventID(LossStream, unique, 0), Type: TypeRecordLost, Data: data,
		Meta: Metadata{Version: 1, Causation: "operator"},
	}, nil
}

// ParseRecordLost decodes such an event. It returns ErrMalformed.
func ParseRecordLost(data []byte) (l RecordLost, err error) {
	if err := json.Unmarshal(data, &l); err != nil {
		return l, fmt.Errorf("%w: %s: %w", ErrMalformed, TypeRecordLost, err)
	}
	return l, nil
}
