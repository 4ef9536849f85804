package events

import (
	"encoding/json"
	"fmt"
	"time"
)

// LossStream is where a record says that a part of it was lost. No machine folds it.
const LossStream = CategoryLoss + "-record"

// TypeRecordLost is the type of its events.
const TypeRecordLost = "RecordLost"

// RecordLost says that an operator has accepted a loss: of a damaged store what stood
// before the first event that could not be read was taken over, and nothing behind it.
type RecordLost struct {
	// At is when that was.
	At time.Time `json:"at"`
	// Kept is the last position that was taken over, as the damaged store numbered
	// them, and Last that of its last event. Readable counts the events that could
	// be read in all.
	Kept     Position `json:"kept"`
	Last     Position `json:"last"`
	Readable uint64   `json:"readable"`
	// Problem is what was damaged.
	Problem string `json:"problem"`
	// Aside is the directory in which the damaged store was kept.
	Aside string `json:"aside"`
}

// Lost is how many events are not in the record any more.
func (l RecordLost) Lost() uint64 { return uint64(l.Last - min(l.Kept, l.Last)) }

// Event is how it is stored.
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

// ParseRecordLost reads one. It answers ErrMalformed.
func ParseRecordLost(data []byte) (l RecordLost, err error) {
	if err := json.Unmarshal(data, &l); err != nil {
		return l, fmt.Errorf("%w: %s: %w", ErrMalformed, TypeRecordLost, err)
	}
	return l, nil
}
