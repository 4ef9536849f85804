package wire

import (
	"math"
	"regexp"
	"slices"

	"github.com/EventStore/EventStore-Client-Go/v4/protos/streams"

	"github.com/hostnode/hostnode/events"
)

// What a filter may cost: each event of the log meets all of it.
const (
	maxFilterPrefixes = 1000
	maxFilterBytes    = 16 << 10
)

// defaultWindow is how many events make up the unit of a checkpoint when the
// client does not say.
const defaultWindow = 32

// filter selects events of the log by stream or type. The zero value selects all.
type filter struct {
	byType   bool
	prefixes []string
	pattern  *regexp.Regexp
	// interval is how many events are checked between two checkpoints of a
	// subscription; 0 without a filter, when each event is a checkpoint.
	interval uint64
}

// newFilter converts the filter of a request; without one, all events pass.
func newFilter(o *streams.ReadReq_Options_FilterOptions) (filter, error) {
	if o == nil {
		return filter{}, nil
	}
	var f filter
	var e *streams.ReadReq_Options_FilterOptions_Expression
	switch by := o.GetFilter().(type) {
	case *streams.ReadReq_Options_FilterOptions_StreamIdentifier:
		e = by.StreamIdentifier
	case *streams.ReadReq_Options_FilterOptions_EventType:
		e, f.byType = by.EventType, true
	default:
		return f, invalid("filter: want one by stream or by event type")
	}
	switch {
	case e.GetRegex() != "" && len(e.GetPrefix()) > 0:
		return f, invalid("filter: want prefixes or a regular expression, not both")
	case e.GetRegex() == "" && len(e.GetPrefix()) == 0:
		return f, invalid("filter: want prefixes or a regular expression")
	case len(e.GetPrefix()) > maxFilterPrefixes:
		return f, invalid("filter: %d prefixes, the limit is %d", len(e.GetPrefix()), maxFilterPrefixes)
	case len(e.GetRegex()) > maxFilterBytes:
		return f, invalid("filter: regular expression of %d bytes, the limit is %d", len(e.GetRegex()), maxFilterBytes)
	}
	f.prefixes = slices.Clone(e.GetPrefix())
	if e.GetRegex() != "" {
		var err error
		if f.pattern, err = regexp.Compile(e.GetRegex()); err != nil {
			return f, invalid("filter: %.500s (this server has RE2's syntax)", err.Error())
		}
	}
	window := uint64(defaultWindow)
	switch w := o.GetWindow().(type) {
	case *streams.ReadReq_Options_FilterOptions_Max:
		window = uint64(w.Max)
	case *streams.ReadReq_Options_FilterOptions_Count:
	default:
		return f, invalid("filter: window is missing")
	}
	f.interval = window * uint64(o.GetCheckpointIntervalMultiplier()) // Of 32 bits each.
	if f.interval == 0 {
		f.interval = math.MaxUint64 // Only when the subscription has caught up.
	}
	return f, nil
}

// takes reports whether an event passes.
func (f *filter) takes(r *events.Recorded) bool {
	text := r.Stream
	if f.byType {
		text = r.Type
	}
	switch {
	case f.pattern != nil:
		return f.pattern.MatchString(text)
	case f.prefixes == nil:
		return true
	}
	return events.HasPrefix(text, f.prefixes)
}
