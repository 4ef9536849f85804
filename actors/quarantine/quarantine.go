// Package quarantine remembers what a host leaves alone: pieces of work that panicked twice,
// and sales that cannot be run. Beginning and end are in the host's stream, so that a
// restart knows of them, and an auditor.
//
// Not for: what is done about such a piece of work; that is with whoever works on it.
package quarantine

import (
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
	// MostPanics is how often something may panic on a piece of work before that is left
	// alone: the first time may be chance.
	MostPanics = 2
	// maxWork is how many pieces of work are left alone at a time. More are a bug that meets
	// everything; they are in the log alone.
	maxWork = 10_000
	// maxReason is how many characters of a reason are stored: a panic may say anything.
	maxReason = 500
)

// ErrQuarantined: what was asked made a part of the host fail before, and is refused.
var ErrQuarantined = errors.New("quarantined")

// Work is a piece of work that is left alone.
type Work struct {
	Subject shell.Subject
	// Since is by the machine's clock.
	Since  time.Time
	Reason string
}

// Event is an event of the host's stream; all of them say when they were said.
type Event interface {
	messages.HostEvent
	GetAt() *timestamppb.Timestamp
}

// List is all that is left alone. Safe for concurrent use.
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

// New is an empty list. say writes into the host's stream in the background, and calls
// stored when that is durable.
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
	case *messages.HostStarted, *messages.HostStopped, *messages.HostHeartbeat, *messages.RecordWentBack:
	}
}

// Has says whether a piece of work is left alone, and why.
func (q *List) Has(s shell.Subject) (Work, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	it, ok := q.items[s]
	return it.Work, ok
}

// Recorded waits until the record has it that a piece of work is quarantined; false when
// it is not.
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

// All are in the order of their beginning.
func (q *List) All() []Work {
	q.mu.Lock()
	defer q.mu.Unlock()
	out := make([]Work, 0, len(q.items))
	for _, it := range q.items {
		out = append(out, it.Work)
	}
	slices.SortFunc(out, func(a, b Work) int {
		if c := a.Since.Compare(b.Since); c != 0 {
			return c
		}
		return strings.Compare(a.Subject.String(), b.Subject.String())
	})
	return out
}

// Begin leaves a piece of work alone from now on; false when it was so already.
func (q *List) Begin(s shell.Subject, reason string) bool {
	now := q.base.Clock.Now()
	reason = fmt.Sprintf("%.*s", maxReason, reason)
	stored := make(chan struct{})
	q.mu.Lock()
	_, known := q.items[s]
	full := len(q.items) >= maxWork
	if !known && !full {
		q.items[s] = item{Work{s, now, reason}, stored}
	}
	q.mu.Unlock()
	if known || full {
		return false
	}
	q.record(&messages.WorkQuarantined{
		At: events.TimeToMessage(now), Epoch: q.base.Epoch, Kind: string(s.Kind), Key: s.Key, Reason: reason,
	}, func() { close(stored) })
	return true
}

// End ends it; stored is called when that is in the record. False: it was not
// quarantined.
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
