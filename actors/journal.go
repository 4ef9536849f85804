package actors

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/hostnode/hostnode/events"
)

// machine is a pure core as the journal needs it.
type machine[S, C any, E proto.Message] struct {
	// empty makes a state that shares no memory with any other.
	empty  func() S
	decide func(S, C) ([]E, error)
	// evolve may change the given state; only its result is used afterwards.
	evolve func(S, E) S
	// keeps names the commands that must not be lost when somebody else wrote to
	// the stream: they are decided again on what it holds then. Nil: none.
	keeps func(C) bool
	// about names what a command with a cause is part of, for the case that it makes the
	// machine panic. Nil: nothing is quarantined for it.
	about func(cause string) Subject
	// restore gives the newest state that was saved, as one from which replaying
	// goes on. Nil: replaying begins at the beginning.
	restore func(context.Context) (saved[S], error)
}

// saved is a state that was folded before: twice, because the two share no
// memory, with how many events of the stream are in it and the last one's id.
type saved[S any] struct {
	durable, ahead S
	events         uint64
	last           events.EventID
}

// Limits of a journal.
const (
	// maxWaiting is how many commands may wait for the stream to be loaded or
	// for an append in flight; more are refused. It bounds memory, and nobody
	// who asks so much at once is better served by a longer queue.
	maxWaiting = 100_000
	// maxWaitingAway is the same while the record is away, for all commands but
	// those that a machine keeps. Nothing begins then, so few are on their way.
	maxWaitingAway = 1_000
	// appendRetry and appendRetryMost are the pauses between two tries of a call
	// on the store that failed for a reason that may pass.
	appendRetry     = 100 * time.Millisecond
	appendRetryMost = 5 * time.Second
)

// Errors of a journal.
var (
	// errReloading: somebody else wrote to the stream, so what was decided
	// meanwhile is void and nothing of it happened. Ask again.
	errReloading = errors.New("the record moved under the decision; ask again")
	// ErrOverloaded: too many commands wait for one actor.
	ErrOverloaded = errors.New("too many commands are waiting")
)

// journal is the only way in which an actor changes its machine: decide on the
// state as it will be, append, and answer what is durable. While an append is
// in flight further commands are decided on the speculative state; what they
// bring goes out as one batch when the append is back (eventstore.md §8).
//
// It lives inside one actor and is not safe for concurrent use. The actor
// hands it the messages that it sends to itself.
type journal[S, C any, E proto.Message] struct {
	machine[S, C, E]
	stream string
	store  events.Store
	codec  *events.Codec
	record *record
	meta   func(S, E) events.Metadata
	self   ref
	// shown is how many events of the stream the store has shown to others: reading
	// fewer means that it is behind.
	shown uint64

	incarnation uint64 // counts loads; answers to an older one are dropped
	loaded      bool
	durable     S              // the fold of what is stored
	ahead       S              // the same, with what is in flight and waiting
	stored      uint64         // number of stored events
	last        events.EventID // of the last of them
	decided     uint64         // number of events with those in flight and waiting

	backlog  []command[S, C, E] // commands that came before the stream was loaded
	queries  []func(S)          // the same for those who only look
	inflight []entry[S, C, E]
	waiting  []entry[S, C, E]

	// each is called for each event that became durable, oldest first, when the durable
	// state is that after it and nothing later. Nil: nobody looks at one at a time.
	each func(E)
	// onDurable is called after events became durable, oldest first, and once
	// without events when the stream is loaded.
	onDurable func(a *turn, fresh []E)
	// onBroken is called when the record cannot be read or folded: the actor is
	// of no use.
	onBroken func(a *turn, err error)
}

// result answers a command: the events that it brought, all durable, and the
// durable state at that moment.
type result[S any, E proto.Message] struct {
	state  S
	events []E
	err    error
}

type command[S, C any, E proto.Message] struct {
	cmd   C
	cause string
	reply func(result[S, E])
}

// entry is a decided command on its way to the store.
type entry[S, C any, E proto.Message] struct {
	command[S, C, E]
	events []E
	err    error
	stored []events.NewEvent
}

type journalLoaded[S any, E proto.Message] struct {
	incarnation uint64
	from        saved[S]
	events      []E            // behind it
	last        events.EventID // of all
	err         error
}

type journalAppended struct {
	incarnation uint64
	err         error
}

// handle takes the journal's own messages; false for all others.
func (j *journal[S, C, E]) handle(a *turn, msg any) bool {
	switch m := msg.(type) {
	case journalLoaded[S, E]:
		if m.incarnation == j.incarnation {
			j.onLoaded(a, m)
		}
		return true
	case journalAppended:
		if m.incarnation == j.incarnation {
			j.onAppended(a, m.err)
		}
		return true
	}
	return false
}

func (j *journal[S, C, E]) onLoaded(a *turn, m journalLoaded[S, E]) {
	if m.err != nil {
		j.onBroken(a, m.err)
		return
	}
	if err := j.fold(m); err != nil {
		j.onBroken(a, err)
		return
	}
	j.stored, j.last = m.from.events+uint64(len(m.events)), m.last
	j.decided, j.loaded = j.stored, true
	j.onDurable(a, nil)
	for _, look := range j.queries {
		look(j.durable)
	}
	j.queries = nil
	backlog := j.backlog
	j.backlog = nil
	for _, c := range backlog {
		j.submit(a, c.cmd, c.cause, c.reply)
	}
}

// query shows the durable state, as soon as there is one. The function must
// not keep it.
func (j *journal[S, C, E]) query(look func(S)) {
	if !j.loaded {
		j.queries = append(j.queries, look)
		return
	}
	look(j.durable)
}

// submit decides a command. The reply is called exactly once, inside a turn of
// this actor, when everything that the answer rests on is durable.
func (j *journal[S, C, E]) submit(a *turn, cmd C, cause string, reply func(result[S, E])) {
	asked := command[S, C, E]{cmd, cause, reply}
	if err := j.room(cmd); err != nil {
		reply(result[S, E]{err: err})
		return
	}
	if !j.loaded {
		j.backlog = append(j.backlog, asked)
		return
	}
	var en entry[S, C, E]
	about := Subject{}
	if j.about != nil {
		about = j.about(cause)
	}
	during(about, func() { en = j.decideOn(asked) })
	if len(en.events) == 0 && j.inflight == nil { // Rests on nothing that is not durable.
		reply(result[S, E]{state: j.durable, err: en.err})
		return
	}
	j.waiting = append(j.waiting, en)
	j.flush(a)
}

// decideOn decides a command on the state ahead.
func (j *journal[S, C, E]) decideOn(asked command[S, C, E]) entry[S, C, E] {
	decided, err := j.decide(j.ahead, asked.cmd)
	en := entry[S, C, E]{command: asked, events: decided, err: err}
	if err == nil {
		en.stored, en.err = j.encode(decided, asked.cause)
	}
	if en.err != nil {
		en.events, en.stored = nil, nil
	}
	for _, e := range en.events {
		j.ahead = j.evolve(j.ahead, e)
		j.decided++
	}
	return en
}

// room is an error when too many commands wait for another one.
func (j *journal[S, C, E]) room(cmd C) error {
	waiting := len(j.backlog) + len(j.waiting)
	if waiting >= maxWaiting {
		return ErrOverloaded
	}
	if waiting >= maxWaitingAway && !j.kept(cmd) && j.record.away() {
		return fmt.Errorf("%w, and %d commands wait for it", ErrRecordAway, waiting)
	}
	return nil
}

func (j *journal[S, C, E]) kept(cmd C) bool { return j.keeps != nil && j.keeps(cmd) }

// encode makes the stored form. The id of an event follows from the stream,
// its revision and what caused it, so that a repeated append is recognised.
func (j *journal[S, C, E]) encode(decided []E, cause string) ([]events.NewEvent, error) {
	stored := make([]events.NewEvent, 0, len(decided))
	for i, e := range decided {
		name, version, data, err := j.codec.Encode(e)
		if err != nil {
			return nil, err
		}
		meta := j.meta(j.ahead, e)
		meta.Causation, meta.Version = cause, version
		// The epoch is part of it: what two processes decide alike at the same
		// revision must not pass for one append that was repeated.
		unique := fmt.Sprintf("%s@%d/%d", cause, j.decided, meta.Epoch)
		stored = append(stored, events.NewEvent{
			ID: events.NewEventID(j.stream, unique, i), Type: name, Data: data, Meta: meta,
		})
	}
	return stored, nil
}

// flush sends what waits as one append, unless one is in flight.
func (j *journal[S, C, E]) flush(a *turn) {
	if j.inflight != nil || len(j.waiting) == 0 {
		return
	}
	var batch []events.NewEvent
	n, bytes := 0, 0
	for n < len(j.waiting) {
		next := j.waiting[n].stored
		for _, e := range next {
			bytes += e.Size()
		}
		// One command's events are never parted, however many they are.
		if n > 0 && (len(batch)+len(next) > events.PreferredAppendEvents || bytes > events.PreferredAppendBytes) {
			break
		}
		batch = append(batch, next...)
		n++
	}
	j.inflight, j.waiting = j.waiting[:n:n], j.waiting[n:]
	if len(batch) == 0 { // Only answers that waited for the append before.
		j.onAppended(a, nil)
		return
	}
	incarnation, expected := j.incarnation, events.ExpectNext(j.stored)
	a.do(func(ctx context.Context) {
		call := j.record.call(ctx, j.stream)
		defer call.end()
		j.self.tell(journalAppended{incarnation, call.append(j.store, expected, batch)})
	})
}

func (j *journal[S, C, E]) onAppended(a *turn, err error) {
	batch := j.inflight
	j.inflight = nil
	if err != nil {
		j.rejectAll(a, batch, err)
		return
	}
	var fresh []E
	for _, en := range batch {
		for _, e := range en.events {
			j.durable = j.evolve(j.durable, e)
			fresh = append(fresh, e)
			if j.each != nil {
				j.each(e)
			}
		}
		if n := len(en.stored); n > 0 {
			j.last = en.stored[n-1].ID
		}
	}
	j.stored += uint64(len(fresh))
	for _, en := range batch {
		en.reply(result[S, E]{state: j.durable, events: en.events, err: en.err})
	}
	if len(fresh) > 0 {
		j.onDurable(a, fresh)
	}
	j.flush(a)
}

// rejectAll refuses everything that is not durable and starts from the record.
// Commands that the machine keeps are decided again when it is read.
func (j *journal[S, C, E]) rejectAll(a *turn, batch []entry[S, C, E], err error) {
	moved := errors.Is(err, events.ErrWrongRevision)
	reason := fmt.Errorf("append to %s: %w", j.stream, err)
	if moved {
		reason = fmt.Errorf("%w: %w", errReloading, err)
	}
	rejected := append(batch, j.waiting...)
	j.waiting = nil
	j.load(a)
	for _, en := range rejected {
		if moved && j.kept(en.cmd) {
			j.backlog = append(j.backlog, en.command)
			continue
		}
		en.reply(result[S, E]{err: reason})
	}
}
