// Package quarantine keeps the list of work that a host leaves alone: pieces of work that
// panicked twice, and sales that cannot be run. The beginning and the end of each quarantine
// are in the host's stream, so that a restart and an auditor know of them.
//
// Not for: what to do about such work. That is up to the package that does it.
package quarantine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/messages"
)

const (
	// MostPanics is how many panics quarantine a piece of work: one may be chance.
	MostPanics = 2
	// maxWork is how many pieces of work are quarantined at once. More mean a bug that affects
	// everything; they are only logged.
	maxWork = 10_000
	// maxReason is how many characters of a reason are stored, because a panic may say
	// anything.
	maxReason = 500
)

// ErrQuarantined: the work made a part of the host fail before, and is refused.
var ErrQuarantined = errors.New("quarantined")

// Work is a quarantined piece of work.
type Work struct {
	Subject shell.Subject
	// Since is by the machine's clock.
	Since  time.Time
	Reason string
}

// Event is an event of the host's stream; each has a time.
type Event interface {
	messages.HostEvent
	GetAt() *timestamppb.Timestamp
}

// List holds all quarantined work. Safe for concurrent use.
type List struct {
	base   *shell.Base
	record func(e Event, stored func())

	mu    sync.Mutex
	items map[shell.Subject]item
}

type item struct {
	Work
	stored chan struct{} // closed when it is in the record
}

// New returns an empty list. record writes an event into the host's stream in the background,
// and calls stored when it is durable.
func New(base *shell.Base, record func(e Event, stored func())) *List {
	return &List{base: base, record: record, items: map[shell.Subject]item{}}
}

// Clear empties the list, to fold the stream from its beginning.
func (q *List) Clear() {
	q.mu.Lock()
	defer q.mu.Unlock()
	clear(q.items)
}

// Fold takes an event of the host's stream.
func (q *List) Fold(e messages.HostEvent) {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch e := e.(type) {
	case *messages.WorkQuarantined:
		subject := shell.Subject{Kind: shell.SubjectKind(e.GetKind()), Key: e.GetKey()}
		stored := make(chan struct{})
		close(stored)
		q.items[subject] = item{Work{subject, e.GetAt().AsTime(), e.GetReason()}, stored}
	case *messages.QuarantineEnded:
		delete(q.items, shell.Subject{Kind: shell.SubjectKind(e.GetKind()), Key: e.GetKey()})
	case *messages.HostStarted, *messages.HostStopped, *messages.HostHeartbeat, *messages.RecordWentBack,
		*messages.SettingsChanged, *messages.TermTaken, *messages.TermEnded:
	}
}

// Has says whether a piece of work is quarantined, and why.
func (q *List) Has(s shell.Subject) (Work, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	it, ok := q.items[s]
	return it.Work, ok
}

// Recorded waits until the quarantine of a piece of work is recorded; false: it is not
// quarantined. Who skips a piece of work for good waits for that: nothing else in the record would say so.
func (q *List) Recorded(ctx context.Context, s shell.Subject) (bool, error) {
	q.mu.Lock()
	it, ok := q.items[s]
	q.mu.Unlock()
	if !ok {
		return false, nil
	}
	select {
	case <-it.stored:
		return true, nil
	case <-ctx.Done():
		return true, ctx.Err()
	}
}

// All returns the quarantined work in the order in which it was quarantined.
func (q *List) All() []Work {
	q.mu.Lock()
	defer q.mu.Unlock()
	out := make([]Work, 0, len(q.items))
	for _, it := range q.items {
		out = append(out, it.Work)
	}
	slices.SortFunc(out, func(a, b Work) int {
		return cmp.Or(a.Since.Compare(b.Since), strings.Compare(a.Subject.String(), b.Subject.String()))
	})
	return out
}

// Begin quarantines a piece of work; false: it was already, or the list is full, and nothing is recorded.
func (q *List) Begin(s shell.Subject, reason string) bool {
	now := q.base.Clock.Now()
	reason = fmt.Sprintf("%.*s", maxReason, reason)
	stored := make(chan struct{})
	q.mu.Lock()
	_, known := q.items[s]
	if known || len(q.items) >= maxWork {
		q.mu.Unlock()
		return false
	}
	q.items[s] = item{Work{s, now, reason}, stored}
	q.mu.Unlock()
	q.record(&messages.WorkQuarantined{
		At: events.TimeToMessage(now), Epoch: q.base.Epoch, Kind: string(s.Kind), Key: s.Key, Reason: reason,
	}, func() { close(stored) })
	return true
}

// End ends a quarantine; stored is called when that is recorded. False: there was none.
func (q *List) End(s shell.Subject, reason string, stored func()) bool {
	q.mu.Lock()
	_, known := q.items[s]
	delete(q.items, s)
	q.mu.Unlock()
	if known {
		q.record(&messages.QuarantineEnded{
			At: events.TimeToMessage(q.base.Clock.Now()), Epoch: q.base.Epoch, Kind: string(s.Kind), Key: s.Key,
			Reason: reason,
		}, stored)
	}
	return known
}
