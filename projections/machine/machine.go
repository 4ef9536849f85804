// Package machine says what people and auditors see of a machine: its view, its rules and its judge. Package catalog
// (projections/catalog) lists those of all machines that have their own. The view of sales, ledgers and what belongs to
// them is one fold, in package projections, because each of these streams says something of the others.
package machine

import (
	"iter"
	"reflect"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/hostnode/hostnode/events"
)

// Machine is a row of that list.
type Machine struct {
	Category string
	// View begins the view of a host.
	View func() View
	// Judge begins to judge a stream; its rules are told by their codes.
	Judge func() Judge
	Rules []Rule
	// Join, if there is one, holds a stream against others of its host, by rules among those above. It is called after
	// each event that was judged, and with nil at the end of the record; own is what the stream's judge remembers.
	Join func(own any, m proto.Message, others Others)
}

// Others is what an audit knows of a host beside the stream that is judged.
type Others struct {
	Host events.Address
	// State is what the judge of another stream remembers; nil: there is no such stream. Not sure: events are missing.
	State func(stream string) (state any, sure bool)
	// Held is how many bytes the host's ledgers hold for the file of a piece. Not sure: one has events that do not fit.
	Held func(cid string) (bytes events.Bytes, sure bool)
	Find Find
}

// View folds the streams of one category of a host.
type View interface {
	// Fold folds the next event; false: it is one of another machine.
	Fold(r events.Recorded, m proto.Message) bool
	// Rows are what is shown, as JSON: a slice that the view does not change later.
	Rows() any
	// State points to what a checkpoint holds: a struct with exported fields.
	State() any
}

// ViewOf makes a view from what an event changes and what is shown. A row that has maps, slices or pointers must have
// its own, because it is read while later events are folded.
func ViewOf[S, R any, E proto.Message](fold func(*S, events.Recorded, E), rows func(*S) []R) func() View {
	return func() View { return &view[S, R, E]{new(S), fold, rows} }
}

type view[S, R any, E proto.Message] struct {
	state *S
	fold  func(*S, events.Recorded, E)
	rows  func(*S) []R
}

func (v *view[S, R, E]) Fold(r events.Recorded, m proto.Message) bool {
	e, own := m.(E)
	if own {
		v.fold(v.state, r, e)
	}
	return own
}

func (v *view[S, R, E]) Rows() any { return append([]R{}, v.rows(v.state)...) }

func (v *view[S, R, E]) State() any { return v.state }

// Row is a row of a view that shows one stream.
type Row interface {
	// Stands returns what tells that stream from the others of its machine and host, empty if there is one, and the
	// state in which it stands.
	Stands() (key, state string)
}

// Aged is a Row that says since when it stands so; zero: its state is the last one, or it is not known.
type Aged interface{ StandsSince() time.Time }

// Each yields the rows of a view; none, if the host has no view.
func Each(rows any) iter.Seq2[int, any] {
	return func(yield func(int, any) bool) {
		all := reflect.ValueOf(rows)
		for i := 0; all.Kind() == reflect.Slice && i < all.Len(); i++ {
			if !yield(i, all.Index(i).Interface()) {
				return
			}
		}
	}
}

// Rule is something that must be so.
type Rule struct {
	Code    string
	Demands string // a sentence that is true when the rule is kept
}

// Find reports that the event which is judged breaks a rule.
type Find func(rule, format string, args ...any)

// Judge judges the events of a stream in their order.
type Judge interface {
	// Judge judges the next event; false: it is one of another machine.
	Judge(m proto.Message, find Find) bool
	// State is as for View.
	State() any
}

// JudgeOf makes a judge from what it remembers and what it says of an event.
func JudgeOf[S any, E proto.Message](judge func(*S, E, Find)) func() Judge {
	return func() Judge { return &judging[S, E]{new(S), judge} }
}

type judging[S any, E proto.Message] struct {
	state *S
	judge func(*S, E, Find)
}

func (j *judging[S, E]) Judge(m proto.Message, find Find) bool {
	e, own := m.(E)
	if own {
		j.judge(j.state, e, find)
	}
	return own
}

func (j *judging[S, E]) State() any { return j.state }
