package projections

import (
	"context"
	"fmt"
	"strings"
	"time"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/catalog"
	"github.com/hostnode/hostnode/events/sector"
)

// SectorTimeline is a page of the life of a sector: its stream is its log.
type SectorTimeline struct {
	// AsOf is the position of the last event of the page.
	AsOf         events.Position `json:"asOf"`
	Host         string          `json:"host"`
	SectorNumber uint64          `json:"sectorNumber"`
	Moments      []SectorMoment  `json:"moments"`
	// Next is the revision with which the next page begins; 0: this is the last one.
	Next uint64 `json:"next,omitempty"`
}

// SectorMoment is one event of a sector, told to a person.
type SectorMoment struct {
	At       time.Time       `json:"at"` // by the machine's clock
	Type     string          `json:"type"`
	Sentence string          `json:"sentence"` // what the event says, beside its type
	State    string          `json:"state"`    // in which the event left the sector
	Cause    string          `json:"cause,omitempty"`
	Revision uint64          `json:"revision"`
	Position events.Position `json:"position"`
}

// Page is which events of a stream are shown: at most so many, from a revision on.
type Page struct {
	From uint64
	Most int
}

// ReadSectorTimeline reads a page of a sector's stream, as it was; a nil until means as it is. All events before the
// page are read too, because they say in which state it begins. An unknown sector is
// events.ErrStreamNotFound. An event that cannot be read has its error for a sentence.
func ReadSectorTimeline(
	ctx context.Context, store events.Store, host events.Address, number uint64, page Page, until Until,
) (SectorTimeline, error) {
	out := SectorTimeline{Host: host.String(), SectorNumber: number, Moments: []SectorMoment{}}
	codec := catalog.Codec()
	state := sector.New(sector.Policy{})
	for r, err := range store.ReadStream(ctx, events.SectorStream(host, number), events.ReadStream{}) {
		if err != nil {
			return SectorTimeline{}, fmt.Errorf("read sector %d: %w", number, err)
		}
		if until != nil && !until(r) {
			break
		}
		if len(out.Moments) == page.Most {
			out.Next = r.Revision
			break
		}
		moment := SectorMoment{Type: r.Type, Cause: r.Meta.CauseKey(), Revision: r.Revision, Position: r.Position}
		m, err := codec.Decode(r)
		switch e, ok := m.(sector.Event); {
		case err != nil:
			moment.Sentence = "this event cannot be read: " + err.Error()
		case !ok:
			moment.Sentence = "this event does not belong in the stream of a sector"
		default:
			state = sector.Evolve(state, e)
			moment.At, moment.Sentence = at(e), sectorSentence(e)
		}
		if moment.State = string(state.State); r.Revision >= page.From {
			out.AsOf = r.Position
			out.Moments = append(out.Moments, moment)
		}
	}
	return out, nil
}

// sectorSentence is what an event says, beside its name and its time: its fields, in their order.
func sectorSentence(e sector.Event) string {
	var said []string
	m := e.ProtoReflect()
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		if f := fields.Get(i); f.Name() != "at" && m.Has(f) {
			said = append(said, f.JSONName()+" "+told(m.Get(f)))
		}
	}
	return strings.Join(said, ", ")
}

// mostHex is how many characters of hex are shown: proofs are long, and nobody reads them.
const mostHex = 18

func told(v protoreflect.Value) string {
	switch v := v.Interface().(type) {
	case protoreflect.List:
		var all []string
		for i := range v.Len() {
			all = append(all, told(v.Get(i)))
		}
		return strings.Join(all, " ")
	case protoreflect.Message:
		switch m := v.Interface().(type) {
		case *timestamppb.Timestamp:
			return events.TimeFromMessage(m).Format(time.RFC3339)
		case interface {
			GetCid() string
			GetSize() uint64
		}:
			return fmt.Sprintf("%s (%d)", m.GetCid(), m.GetSize())
		}
	case string:
		if strings.HasPrefix(v, "0x") && len(v) > mostHex {
			return v[:mostHex] + "…"
		}
		return v
	}
	return v.String()
}
