package snapshot

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/messages"
)

// Snapshot is a state and what is in it.
type Snapshot struct {
	// Schema names the state and the form of its pieces.
	Schema string
	// Last is the last event that is in the state.
	Last Event
	// Pieces are the state, each at most about events.MaxPieceBytes.
	Pieces [][]byte

	checksum string // as it was read
}

// Event names an event of the record.
type Event struct {
	Stream   string
	Revision uint64
	ID       events.EventID
	// Position is set when the state is of the whole log up to this event, and
	// 0 when it is of the event's stream alone.
	Position events.Position
}

// EventOf names an event up to which a state is of the whole log.
func EventOf(r events.Recorded) Event {
	return Event{Stream: r.Stream, Revision: r.Revision, ID: r.ID, Position: r.Position}
}

// maxParts is the most parts of one snapshot; a million queued slots of as many
// requests take about three hundred.
const maxParts = 100_000

// Table is how snapshots are stored.
func Table() []events.Entry {
	return []events.Entry{{
		Name: "SnapshotPart", Version: 1, Check: check,
		Example: &messages.SnapshotPart{
			At: timestamppb.New(events.Unix(1_700_000_000)), Schema: "slotqueue/1",
			Stream:   "slotqueue-0xcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcd",
			Revision: 41, EventId: "d5a2c2a8-64ba-5b13-8c25-9f2f0b1a0d6e", Position: 97, Part: 0, Parts: 1,
			Checksum: "0xabababababababababababababababababababababababababababababababab",
			Payload:  []byte{0x0a, 0x02, 0x08, 0x07},
		},
	}}
}

func check(m proto.Message) error {
	if err := events.CheckMessage(m); err != nil {
		return err
	}
	p := m.(*messages.SnapshotPart)
	if p.GetPart() >= p.GetParts() || p.GetParts() > maxParts {
		return fmt.Errorf("%w: part %d of %d parts", events.ErrMalformed, p.GetPart(), p.GetParts())
	}
	_, err := events.ParseEventID(p.GetEventId())
	return err
}

// sum is the checksum of all contents of a snapshot, in one fixed form.
func (s Snapshot) sum() string {
	h := sha256.New()
	text(h, []byte(s.Schema))
	text(h, []byte(s.Last.Stream))
	text(h, s.Last.ID[:])
	number(h, s.Last.Revision)
	number(h, uint64(s.Last.Position))
	number(h, uint64(len(s.Pieces)))
	for _, piece := range s.Pieces {
		text(h, piece)
	}
	return fmt.Sprintf("0x%x", h.Sum(nil))
}

func number(h hash.Hash, n uint64) { h.Write(binary.BigEndian.AppendUint64(nil, n)) }

func text(h hash.Hash, b []byte) {
	number(h, uint64(len(b)))
	h.Write(b)
}

// Writer writes snapshots of one machine. It is not safe for concurrent use; if
// two write to one stream, one of them fails and does no harm.
type Writer struct {
	Store events.Store
	Codec *events.Codec
	// Stream is where the snapshots go (events.SnapshotStream).
	Stream string
	// Meta is the metadata of each part; version and causes are set here.
	Meta events.Metadata
}

// Save writes a snapshot and returns when it is durable, with the last event of
// the snapshot before it: up to there the stream may be truncated. It is nil
// when there is no other complete snapshot. After an error the older snapshots
// are still there; Save does not try again. Errors are the store's.
func (w Writer) Save(ctx context.Context, s Snapshot, at time.Time) (before *Event, err error) {
	if len(s.Pieces) == 0 || len(s.Pieces) > maxParts {
		return nil, fmt.Errorf("%w: snapshot of %d pieces, want 1 to %d", events.ErrMalformed, len(s.Pieces), maxParts)
	}
	next, before, first, err := w.last(ctx)
	if err != nil {
		return nil, fmt.Errorf("write a snapshot to %s: %w", w.Stream, err)
	}
	keep := uint64(len(s.Pieces))
	if before != nil {
		keep = next + keep - first
	}
	// This comes before the parts, so that they never displace the snapshot before them.
	err = events.ChangeMetadata(ctx, w.Store, w.Stream, func(m *events.StreamMetadata) bool {
		changed := m.MaxCount != keep
		m.MaxCount = keep
		return changed
	})
	if err == nil {
		err = w.append(ctx, s, at, next)
	}
	if err != nil {
		return nil, fmt.Errorf("write a snapshot to %s: %w", w.Stream, err)
	}
	return before, nil
}

// append writes the parts in as few appends as possible.
func (w Writer) append(ctx context.Context, s Snapshot, at time.Time, first uint64) error {
	part := s.part()
	part.At = events.TimeToMessage(at)
	var batch []events.NewEvent
	size, next := 0, first
	flush := func() error {
		_, err := w.Store.Append(ctx, w.Stream, events.ExpectNext(next), batch)
		next += uint64(len(batch))
		batch, size = nil, 0
		return err
	}
	for i, piece := range s.Pieces {
		part.Part, part.Payload = uint32(i), piece
		name, version, data, err := w.Codec.Encode(part)
		if err != nil {
			return err
		}
		meta := w.Meta
		meta.Version, meta.Causation = version, part.GetEventId()
		e := events.NewEvent{
			// The id contains the revision, because the same state may be written twice.
			ID:   events.NewEventID(w.Stream, fmt.Sprintf("%s@%d", part.GetEventId(), first), i),
			Type: name, Data: data, Meta: meta,
		}
		if len(batch) > 0 && size+e.Size() > events.PreferredAppendBytes {
			if err := flush(); err != nil {
				return err
			}
		}
		batch, size = append(batch, e), size+e.Size()
	}
	return flush()
}

// last finds the end of the stream, and the last event of the newest snapshot of which all parts
// are there, with the revision of its first part. It reads only the last parts of snapshots; the
// reader checks whether one is sound.
func (w Writer) last(ctx context.Context) (next uint64, before *Event, first uint64, err error) {
	at, known := events.End, false
	for {
		p, revision, err := w.part(ctx, events.ReadStream{From: at, Backward: true, Limit: 1})
		if errors.Is(err, events.ErrStreamNotFound) {
			return next, nil, 0, nil
		}
		if err != nil {
			return 0, nil, 0, err
		}
		if !known {
			next, known = revision+1, true
		}
		// An unreadable part counts as a snapshot of its own.
		first = revision - min(uint64(p.GetPart()), revision)
		if p != nil && p.GetPart() == p.GetParts()-1 && first+uint64(p.GetPart()) == revision {
			q, at, err := w.part(ctx, events.ReadStream{From: first, Limit: 1})
			if err != nil && !errors.Is(err, events.ErrStreamNotFound) {
				return 0, nil, 0, err
			}
			if at == first && q != nil && q.GetPart() == 0 && q.GetChecksum() == p.GetChecksum() {
				event := lastOf(p)
				return next, &event, first, nil
			}
		}
		if first == 0 {
			return next, nil, 0, nil
		}
		at = first - 1
	}
}

// part reads one part; nil when the event is not a part.
func (w Writer) part(ctx context.Context, q events.ReadStream) (*messages.SnapshotPart, uint64, error) {
	for r, err := range w.Store.ReadStream(ctx, w.Stream, q) {
		if err != nil {
			return nil, 0, err
		}
		m, err := w.Codec.Decode(r)
		if err != nil {
			return nil, r.Revision, nil //nolint:nilerr // What cannot be read is no part.
		}
		p, _ := m.(*messages.SnapshotPart)
		return p, r.Revision, nil
	}
	return nil, 0, events.ErrStreamNotFound
}

// part says what the snapshot is, without a payload.
func (s Snapshot) part() *messages.SnapshotPart {
	return &messages.SnapshotPart{
		Schema: s.Schema, Stream: s.Last.Stream, Revision: s.Last.Revision,
		EventId: s.Last.ID.String(), Position: uint64(s.Last.Position),
		Parts: uint32(len(s.Pieces)), Checksum: s.sum(),
	}
}

// lastOf returns the event that a checked part names.
func lastOf(p *messages.SnapshotPart) Event {
	return Event{
		Stream: p.GetStream(), Revision: p.GetRevision(), Position: events.Position(p.GetPosition()),
		ID: events.Must(events.ParseEventID(p.GetEventId())),
	}
}
