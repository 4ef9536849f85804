package actors

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hostnode/hostnode/actors/chainview"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/catalog"
	"github.com/hostnode/hostnode/messages"
)

// This file remembers what is quarantined: pieces of work that panicked twice, and sales
// that cannot be run. Beginning and end are in the host's stream, so that a restart knows
// of them, and an auditor.

// maxQuarantined is how many pieces of work are quarantined at a time. More are a bug
// that meets everything; they are in the log alone.
const maxQuarantined = 10_000

// maxReason is how many characters of a reason are stored: a panic may say anything.
const maxReason = 500

// ErrQuarantined: what was asked made a part of the host fail before, and is refused.
var ErrQuarantined = errors.New("quarantined")

// Quarantined is a piece of work that is left alone.
type Quarantined struct {
	Subject shell.Subject
	// Since is by the machine's clock.
	Since  time.Time
	Reason string
}

// quarantined are all of them. Safe for concurrent use.
type quarantined struct {
	mu    sync.Mutex
	items map[shell.Subject]quarantinedItem
}

type quarantinedItem struct {
	Quarantined
	stored chan struct{} // closed when it is in the record
}

// fold takes an event of the host's stream.
func (q *quarantined) fold(e messages.HostEvent) {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch e := e.(type) {
	case *messages.WorkQuarantined:
		subject := shell.Subject{Kind: shell.SubjectKind(e.GetKind()), Key: e.GetKey()}
		stored := make(chan struct{})
		close(stored)
		q.items[subject] = quarantinedItem{Quarantined{subject, e.GetAt().AsTime(), e.GetReason()}, stored}
	case *messages.QuarantineEnded:
		delete(q.items, shell.Subject{Kind: shell.SubjectKind(e.GetKind()), Key: e.GetKey()})
	case *messages.HostStarted, *messages.HostStopped, *messages.HostHeartbeat, *messages.RecordWentBack:
	}
}

func (q *quarantined) has(s shell.Subject) (Quarantined, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	item, ok := q.items[s]
	return item.Quarantined, ok
}

// recorded waits until the record has it that a piece of work is quarantined; false when
// it is not.
func (q *quarantined) recorded(ctx context.Context, s shell.Subject) (bool, error) {
	q.mu.Lock()
	item, ok := q.items[s]
	q.mu.Unlock()
	if !ok {
		return false, nil
	}
	select {
	case <-item.stored:
		return true, nil
	case <-ctx.Done():
		return true, ctx.Err()
	}
}

// all are in the order of their beginning.
func (q *quarantined) all() []Quarantined {
	q.mu.Lock()
	defer q.mu.Unlock()
	out := make([]Quarantined, 0, len(q.items))
	for _, item := range q.items {
		out = append(out, item.Quarantined)
	}
	slices.SortFunc(out, func(a, b Quarantined) int {
		if c := a.Since.Compare(b.Since); c != 0 {
			return c
		}
		return strings.Compare(a.Subject.String(), b.Subject.String())
	})
	return out
}

// ReadQuarantined is what a host left alone by its record.
func ReadQuarantined(ctx context.Context, store events.Store, host events.Address) ([]Quarantined, error) {
	e := &env{Chain: &chainview.Chain{Base: &shell.Base{Store: store, Codec: catalog.Codec(), Me: host}}}
	e.quarantined.items = map[shell.Subject]quarantinedItem{}
	_, _, err := e.readHost(ctx)
	return e.quarantined.all(), err
}

// beginQuarantine leaves a piece of work alone from now on; false when it was so already.
func (e *env) beginQuarantine(s shell.Subject, reason string) bool {
	now := e.Clock.Now()
	reason = fmt.Sprintf("%.*s", maxReason, reason)
	q := &e.quarantined
	stored := make(chan struct{})
	q.mu.Lock()
	_, known := q.items[s]
	full := len(q.items) >= maxQuarantined
	if !known && !full {
		q.items[s] = quarantinedItem{Quarantined{s, now, reason}, stored}
	}
	q.mu.Unlock()
	if known || full {
		return false
	}
	e.say(&messages.WorkQuarantined{
		At: events.TimeToMessage(now), Epoch: e.Epoch, Kind: string(s.Kind), Key: s.Key, Reason: reason,
	}, func() { close(stored) })
	return true
}

// endQuarantine ends it; stored is called when that is in the record. False: it was not
// quarantined.
func (e *env) endQuarantine(s shell.Subject, reason string, stored func()) bool {
	q := &e.quarantined
	q.mu.Lock()
	_, known := q.items[s]
	delete(q.items, s)
	q.mu.Unlock()
	if known {
		e.say(&messages.QuarantineEnded{
			At: events.TimeToMessage(e.Clock.Now()), Epoch: e.Epoch, Kind: string(s.Kind), Key: s.Key, Reason: reason,
		}, stored)
	}
	return known
}

// words are those of the host's stream that wait to be written, in their order.
type words struct {
	mu      sync.Mutex
	waiting []word
	writing bool
}

type word struct {
	event  hostWord
	stored func()
}

// say writes a word into the host's stream in the background, after those before it.
func (e *env) say(m hostWord, stored func()) {
	e.words.mu.Lock()
	defer e.words.mu.Unlock()
	e.words.waiting = append(e.words.waiting, word{m, stored})
	if !e.words.writing {
		e.words.writing = true
		e.RT.Do("host's stream", e.writeWords)
	}
}

func (e *env) writeWords(ctx context.Context) {
	for {
		e.Turn(ctx, "host's stream")
		e.words.mu.Lock()
		if len(e.words.waiting) == 0 {
			e.words.writing = false
			e.words.mu.Unlock()
			return
		}
		next := e.words.waiting[0]
		e.words.waiting = e.words.waiting[1:]
		e.words.mu.Unlock()
		err := e.RT.Guarded("host's stream", func() error {
			return e.ask(ctx, func() error { return e.appendHost(ctx, next.event) })
		})
		switch {
		case ctx.Err() != nil: // It stays `writing`: nothing is written any more.
			return
		case errors.Is(err, shell.ErrTakenOver):
			e.owner.lost(err)
			return
		case err != nil:
			e.Log.Errorf("a word of the host's stream could not be recorded: %v", err)
		default:
			next.stored()
		}
	}
}
