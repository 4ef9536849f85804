package api

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/problem"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/replay"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/catalog"
	"github.com/hostnode/hostnode/projections"
	"github.com/hostnode/hostnode/projections/machine"
)

// This file is what can be asked about every machine alike, from its rows in the lists of events/catalog and
// projections/catalog: which there are, what stands in their views, and the events of their streams.

// Streams reads the record as it is, machine by machine and stream by stream.
type Streams interface {
	// ListMachines lists the machines, with how many of their rows are in which state.
	ListMachines(ctx context.Context, q Then) (Machines, error)
	// ListRows is a page of what a machine's view shows.
	ListRows(ctx context.Context, q RowsQuestion) (Rows, error)
	// ListEvents is a page of the events of one stream, ListRecord one of all.
	ListEvents(ctx context.Context, q EventsQuestion) (Events, error)
	ListRecord(ctx context.Context, q RecordQuestion) (Events, error)
}

// Machines are those of a host.
type Machines struct {
	AsOf     AsOf            `json:"asOf"`
	Machines []MachineCounts `json:"machines"`
}

// MachineCounts is a machine, with how many rows its view has, in all and by state.
type MachineCounts struct {
	Machine string         `json:"machine"`
	Rows    int            `json:"rows"`
	States  map[string]int `json:"states"`
}

// RowsQuestion asks for rows of a machine; all, or those in a state.
type RowsQuestion struct {
	Then
	Paging
	Machine string `path:"machine"`
	State   string `query:"state"`
}

// Rows are rows of a machine's view, in order of their streams.
type Rows struct {
	AsOf AsOf  `json:"asOf"`
	Rows []Row `json:"rows"`
	Paged
}

// Row is what a view shows of one stream, or of several together.
type Row struct {
	// Stream is the one that it is of, and State how that stands; empty: it is of several.
	Stream string `json:"stream,omitempty"`
	State  string `json:"state,omitempty"`
	Row    Any    `json:"row"`
}

// Any is a JSON value whose type depends on the machine.
type Any json.RawMessage

// MarshalJSON writes it as it is, and UnmarshalJSON reads it so.
func (a Any) MarshalJSON() ([]byte, error) { return json.RawMessage(a).MarshalJSON() }

// UnmarshalJSON is the reverse.
func (a *Any) UnmarshalJSON(text []byte) error { return (*json.RawMessage)(a).UnmarshalJSON(text) }

// Schema says that it is one of the rows that there are, or an event.
func (Any) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Description: "A row of the machine's view, or the data of an event as it is stored."}
}

// ListMachines implements Streams.
func (r *reader) ListMachines(context.Context, Then) (Machines, error) {
	out := Machines{Machines: []MachineCounts{}}
	r.views.Read(func(v *projections.Views) {
		out.AsOf = r.asOfPosition(v.AsOf())
		for _, m := range catalog.Machines() {
			counts := MachineCounts{Machine: m.Category, States: map[string]int{}}
			for state, in := range v.States(r.Account, m.Category) {
				if counts.Rows += in.Rows; state != "" {
					counts.States[state] = in.Rows
				}
			}
			out.Machines = append(out.Machines, counts)
		}
	})
	return out, nil
}

// rowAt is a row that is not encoded yet.
type rowAt struct {
	of any
	// key and state are what machine.Row tells of it, if it does.
	key, state string
	ofStream   bool
	// nth is its place in the view, because a stream may have several rows: a slot has one for each attempt.
	nth int
}

// each yields the rows of a view that stand in a state; empty: all.
func each(rows any, state string) iter.Seq[rowAt] {
	return func(yield func(rowAt) bool) {
		for i, row := range machine.Each(rows) {
			s := rowAt{of: row, nth: i}
			if stands, ok := row.(machine.Row); ok {
				s.ofStream = true
				s.key, s.state = stands.Stands()
			}
			if (state == "" || s.state == state) && !yield(s) {
				return
			}
		}
	}
}

// number orders rows as the beginning of their keys does.
func (s rowAt) number() uint64 {
	var begin [8]byte
	copy(begin[:], s.key)
	return binary.BigEndian.Uint64(begin[:])
}

// shown is the row as it is answered.
func (s rowAt) shown(category, host string) (Row, error) {
	text, err := json.Marshal(s.of)
	if err != nil {
		return Row{}, fmt.Errorf("encode a row of %s: %w", category, err)
	}
	row := Row{State: s.state, Row: text}
	if s.ofStream {
		row.Stream = strings.TrimSuffix(category+"-"+host+"-"+s.key, "-")
	}
	return row, nil
}

// ListRows implements Streams.
func (r *reader) ListRows(_ context.Context, q RowsQuestion) (Rows, error) {
	out := Rows{Rows: []Row{}}
	if _, known := catalog.Of(q.Machine + "-"); !known {
		return out, fmt.Errorf("%w: there is no machine %.40q", problem.ErrNoRoute, q.Machine)
	}
	place := func(key []byte, s rowAt) []byte {
		key = append(append(key, s.key...), ' ')
		return binary.BigEndian.AppendUint32(key, uint32(s.nth)) //nolint:gosec // There are fewer.
	}
	host := r.Account.String()
	var err error
	r.views.Read(func(v *projections.Views) { // The rows may be shared, so they are encoded before the views change.
		out.AsOf = r.asOfPosition(v.AsOf())
		rows, _ := v.Of(q.Machine)
		var some []rowAt
		some, out.Next, err = pick(each(rows[host], q.State), rowAt.number, place, q.Paging)
		for _, s := range some {
			row, failed := s.shown(q.Machine, host)
			err = errors.Join(err, failed)
			out.Rows = append(out.Rows, row)
		}
	})
	return out, err
}

// EventsQuestion asks for events of a stream, of which a beginning is enough, from a revision on.
type EventsQuestion struct {
	Stream string `path:"stream"`
	From   uint64 `query:"from"`
	Limit  int    `query:"limit" default:"100"`
}

// RecordQuestion asks for events of all streams of the host, or of one machine, after a position.
type RecordQuestion struct {
	After   events.Position `query:"after"`
	Machine string          `query:"machine"`
	Limit   int             `query:"limit" default:"100"`
}

// Events are events in their order.
type Events struct {
	Events []Event `json:"events"`
	// Next is where the next page begins: from for one stream, after for the record; absent: this was the end.
	Next uint64 `json:"next,omitempty"`
}

// Event is one event: what it says, and as it is stored.
type Event struct {
	Position events.Position `json:"position"`
	Stream   string          `json:"stream"`
	Machine  string          `json:"machine"`
	Revision uint64          `json:"revision"`
	Type     string          `json:"type"`
	// Sentence tells it to a person.
	Sentence string    `json:"sentence"`
	Recorded time.Time `json:"recorded"` // by the clock of the store's machine
	ID       string    `json:"id"`
	// Cause is what caused it, Causation the id of the event that did, Correlation the conversation.
	Cause       string `json:"cause,omitempty"`
	Causation   string `json:"causation,omitempty"`
	Correlation string `json:"correlation,omitempty"`
	// Epoch is the start of the host that wrote it, Node the process.
	Epoch uint64 `json:"epoch,omitempty"`
	Node  string `json:"node,omitempty"`
	// Data is absent if it is not JSON.
	Data Any `json:"data,omitempty"`
}

func eventOf(e events.Recorded) Event {
	told := replay.Told(e)
	out := Event{
		Position: e.Position, Stream: e.Stream, Machine: events.Category(e.Stream), Revision: e.Revision, Type: e.Type,
		Sentence: told.Sentence, Recorded: told.Recorded, ID: e.ID.String(), Cause: told.Cause,
		Causation: e.Meta.Causation, Correlation: e.Meta.Correlation, Epoch: e.Meta.Epoch, Node: e.Meta.Node,
	}
	if json.Valid(e.Data) {
		out.Data = e.Data
	}
	return out
}

func checkLimit(limit int) error {
	if limit < 1 || limit > MaxPage {
		return fmt.Errorf("%w: limit = %d, allowed: 1 to %d", problem.ErrBadRequest, limit, MaxPage)
	}
	return nil
}

// ListEvents implements Streams.
func (r *reader) ListEvents(ctx context.Context, q EventsQuestion) (out Events, err error) {
	out.Events = []Event{}
	if err := checkLimit(q.Limit); err != nil {
		return out, err
	}
	name := strings.TrimSpace(q.Stream)
	if _, ours := catalog.Streams().Owner(name); !ours {
		if name, err = r.find(ctx, name); err != nil {
			return out, err
		}
	}
	for e, err := range r.store.ReadStream(ctx, name, events.ReadStream{From: q.From, Limit: q.Limit + 1}) {
		switch {
		case errors.Is(err, events.ErrStreamNotFound):
			return out, fmt.Errorf("%w: %.200q", replay.ErrUnknownStream, name)
		case err != nil:
			return out, fmt.Errorf("read %.200s: %w", name, err)
		case len(out.Events) == q.Limit:
			out.Next = e.Revision
		default:
			out.Events = append(out.Events, eventOf(e))
		}
	}
	return out, nil
}

// ListRecord implements Streams.
func (r *reader) ListRecord(ctx context.Context, q RecordQuestion) (out Events, err error) {
	out.Events = []Event{}
	if err := checkLimit(q.Limit); err != nil {
		return out, err
	}
	prefixes, err := r.prefixes(q.Machine)
	if err != nil {
		return out, err
	}
	for e, err := range events.ReadPrefixed(ctx, r.store, q.After, prefixes) {
		if err != nil {
			return out, fmt.Errorf("read the record: %w", err)
		}
		if len(out.Events) == q.Limit {
			out.Next = uint64(out.Events[q.Limit-1].Position)
			break
		}
		out.Events = append(out.Events, eventOf(e))
	}
	return out, nil
}

// prefixes are those of the streams of this host: of one machine, or of all.
func (r *reader) prefixes(machine string) (some []string, err error) {
	all := catalog.Streams().Prefixes(r.Account)
	if machine == "" {
		return all, nil
	}
	if _, known := catalog.Of(machine + "-"); !known {
		return nil, fmt.Errorf("%w: there is no machine %.40q", problem.ErrNoRoute, machine)
	}
	for _, p := range all {
		if events.Category(p) == machine {
			some = append(some, p)
		}
	}
	if len(some) == 0 { // All hosts share its streams.
		some = []string{machine + "-"}
	}
	return some, nil
}
