// Package replay folds one stream with the core of its machine, up to a point,
// and describes the machine's state then: for operators when a view is not
// enough, and for auditors with a finding. Start with Stream.
//
// It is for one stream; projections.ViewsAt gives past views of all streams.
package replay

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/catalog"
	"github.com/hostnode/hostnode/events/machine"
	"github.com/hostnode/hostnode/events/snapshot"
	"github.com/hostnode/hostnode/projections"
)

// Errors of a replay.
var (
	// ErrUnknownStream: there is no such stream.
	ErrUnknownStream = errors.New("no such stream")
	// ErrBefore: nothing was recorded yet.
	ErrBefore = errors.New("nothing was recorded at that point")
	// ErrBeyond: the last event is before that.
	ErrBeyond = errors.New("the last event is before that")
)

// Result is a machine as it was.
type Result struct {
	Stream string `json:"stream"`
	// Machine is the category of the stream.
	Machine string `json:"machine"`
	// Revision and Position are those of the last event that was folded;
	// Recorded is when it was written, by the clock of the store's machine.
	Revision uint64          `json:"revision"`
	Position events.Position `json:"position"`
	Recorded time.Time       `json:"recorded"`
	// Events is how many were folded; Last is the newest revision of the stream.
	Events uint64 `json:"events"`
	Last   uint64 `json:"lastRevision"`
	// Removed is how many events were removed from the beginning of the stream.
	// The state does not include them.
	Removed uint64 `json:"removed,omitempty"`
	// Unread is how many events could not be read and were skipped.
	Unread uint64 `json:"unread,omitempty"`
	// State describes the machine; it is empty for one that is not known.
	State State `json:"state"`
	// History are the events, if they were asked for.
	History []Event `json:"history,omitempty"`
}

// Event is one that was folded.
type Event struct {
	Revision uint64          `json:"revision"`
	Position events.Position `json:"position"`
	Type     string          `json:"type"`
	Cause    string          `json:"cause,omitempty"`
	Recorded time.Time       `json:"recorded"`
	// Sentence tells it to a person.
	Sentence string `json:"sentence"`
}

// Stream folds a stream up to a point; a nil until means its end. Errors:
// ErrUnknownStream, ErrBefore, or the store's.
func Stream(
	ctx context.Context, store events.Store, name string, until projections.Until, history bool,
) (Result, error) {
	out := Result{Stream: name, Machine: events.Category(name)}
	codec := catalog.Codec()
	var fold machine.Fold
	if m, known := catalog.Of(name); known {
		fold = m.New()
	}
	past, first := false, events.Recorded{}
	for r, err := range snapshot.Kept(ctx, store, name) {
		if err != nil {
			return out, fmt.Errorf("replay %s: %w", clip(name), err)
		}
		if first.Position == 0 {
			first, out.Removed = r, r.Revision
		}
		out.Last = r.Revision
		if past = past || until != nil && !until(r); past {
			continue // Only the end of the stream is still of interest.
		}
		out.Revision, out.Position, out.Recorded = r.Revision, r.Position, r.Recorded.UTC()
		out.Events++
		e, err := codec.Decode(r)
		known := err == nil && fold != nil && fold.Fold(e)
		if !known {
			out.Unread++
		}
		if history {
			out.History = append(out.History, wordsOf(r, e, err))
		}
	}
	if first.Position == 0 {
		return out, fmt.Errorf("%w: %q", ErrUnknownStream, clip(name))
	}
	if out.Events == 0 {
		return out, fmt.Errorf("%w: the stream %s begins at %s with log position %d", ErrBefore, clip(name),
			first.Recorded.UTC().Format(time.RFC3339), first.Position)
	}
	if fold != nil {
		out.State = describe(fold.State())
	}
	return out, nil
}

// Told is an event in words.
func Told(r events.Recorded) Event {
	m, err := catalog.Codec().Decode(r)
	return wordsOf(r, m, err)
}

// wordsOf is an event in words.
func wordsOf(r events.Recorded, m proto.Message, err error) Event {
	e := Event{
		Revision: r.Revision, Position: r.Position, Type: r.Type, Cause: r.Meta.CauseKey(), Recorded: r.Recorded.UTC(),
	}
	if err != nil {
		e.Sentence = "This event cannot be read: " + err.Error() + "."
		return e
	}
	if of, _ := catalog.Of(r.Stream); of.Sentence != nil {
		e.Sentence = of.Sentence(m)
	}
	if e.Sentence == "" {
		text, _ := protojson.Marshal(m) // It was just read.
		e.Sentence = compact(string(text))
	}
	return e
}

// compact normalises the spaces of a JSON object, which differ between builds.
func compact(text string) string {
	const most = 400
	var dense bytes.Buffer
	if json.Compact(&dense, []byte(text)) == nil {
		text = dense.String()
	}
	text = strings.TrimSuffix(strings.TrimPrefix(text, "{"), "}")
	text = strings.NewReplacer(`","`, `, `, `,"`, `, `, `":`, `: `, `"`, ``).Replace(text)
	return events.Clip(text, most)
}

func clip(s string) string {
	const most = 200
	return events.Clip(s, most)
}
