package wire

import (
	"math"

	"github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
)

// reading is a Read request, checked.
type reading struct {
	stream   string // allStream for the log.
	start    bool   // A stream is read from its start on, which a revision cannot say of a subscription.
	at       uint64 // A revision, or a position in the log; atEnd for the end.
	backward bool
	follow   bool   // A subscription.
	count    uint64 // At most, when it is none.
	resolve  bool
	filter   filter
	// structured is how the client wants ids: as numbers, else as text.
	structured bool
	// edges says that the client knows the messages about first and last
	// positions; others cannot handle them.
	edges bool
}

// atEnd is the end of a stream and of the log, as clients and stores write it, too.
const atEnd = math.MaxUint64

// newReading converts a request. Combinations that make no sense are refused.
func newReading(req *streams.ReadReq) (*reading, error) {
	o := req.GetOptions()
	if o == nil {
		return nil, invalid("read: options are missing")
	}
	r := &reading{resolve: o.GetResolveLinks(), edges: o.GetControlOption().GetCompatibility() >= 1}
	if err := r.where(o); err != nil {
		return nil, err
	}
	switch o.GetReadDirection() {
	case streams.ReadReq_Options_Forwards:
	case streams.ReadReq_Options_Backwards:
		r.backward = true
	default:
		return nil, invalid("read: unknown direction %d", o.GetReadDirection())
	}
	switch c := o.GetCountOption().(type) {
	case *streams.ReadReq_Options_Count:
		r.count = c.Count
	case *streams.ReadReq_Options_Subscription:
		r.follow = true
	default:
		return nil, invalid("read: want a count or a subscription")
	}
	if r.follow && r.backward {
		return nil, invalid("read: a subscription cannot go backwards")
	}
	switch f := o.GetFilterOption().(type) {
	case *streams.ReadReq_Options_NoFilter:
	case *streams.ReadReq_Options_Filter:
		if r.stream != allStream {
			return nil, invalid("read: only $all can be filtered")
		}
		var err error
		if r.filter, err = newFilter(f.Filter); err != nil {
			return nil, err
		}
		if r.follow && f.Filter.GetCheckpointIntervalMultiplier() == 0 {
			return nil, invalid("filter: checkpoint interval multiplier is 0")
		}
	default:
		return nil, invalid("read: want a filter, or to be told that there is none")
	}
	switch o.GetUuidOption().GetContent().(type) {
	case *streams.ReadReq_Options_UUIDOption_Structured:
		r.structured = true
	case *streams.ReadReq_Options_UUIDOption_String_:
	default:
		return nil, invalid("read: form of UUIDs is missing")
	}
	return r, nil
}

// where converts what to read and where to begin.
func (r *reading) where(o *streams.ReadReq_Options) error {
	switch what := o.GetStreamOption().(type) {
	case *streams.ReadReq_Options_All:
		r.stream = allStream
		switch from := what.All.GetAllOption().(type) {
		case *streams.ReadReq_Options_AllOptions_Start:
		case *streams.ReadReq_Options_AllOptions_End:
			r.at = atEnd
		case *streams.ReadReq_Options_AllOptions_Position:
			r.at = from.Position.GetCommitPosition()
			if prepare := from.Position.GetPreparePosition(); prepare > r.at {
				return invalid("read $all: prepare position %d is behind commit position %d", prepare, r.at)
			}
		default:
			return invalid("read $all: position is missing")
		}
		return nil
	case *streams.ReadReq_Options_Stream:
		var err error
		if r.stream, err = streamName(what.Stream.GetStreamIdentifier()); err != nil {
			return err
		}
		if r.stream == allStream {
			return invalid("read: $all is asked for by an option of its own")
		}
		switch from := what.Stream.GetRevisionOption().(type) {
		case *streams.ReadReq_Options_StreamOptions_Start:
			r.start = true
		case *streams.ReadReq_Options_StreamOptions_End:
			r.at = atEnd
		case *streams.ReadReq_Options_StreamOptions_Revision:
			r.at = from.Revision
		default:
			return invalid("read stream: revision is missing")
		}
		return nil
	}
	return invalid("read: want a stream or $all")
}
