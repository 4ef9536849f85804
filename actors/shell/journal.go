package shell

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/hostnode/hostnode/events"
)

// Machine is a pure core as the journal needs it.
type Machine[S, C any, E proto.Message] struct {
	// Empty makes a state that shares no memory with any other.
	Empty  func() S
	Decide func(S, C) ([]E, error)
	// Evolve may change the given state; only its result is used afterwards.
	Evolve func(S, E) S
	// Keeps selects the commands that must not be lost when another process wrote to the stream:
	// they are decided again on the reloaded state. Nil: none.
	Keeps func(C) bool
	// About names what to quarantine if the command with this cause makes the machine panic.
	// Nil: nothing.
	About func(cause string) Subject
	// Restore returns the newest saved state, from which the replay goes on. Nil: the replay
	// begins with the first event.
	Restore func(context.Context) (Saved[S], error)
}

// Saved is a saved state, in two copies that share no memory.
type Saved[S any] struct {
	Fold[S]
	Ahead S
}

// Unsaved is where a replay begins when nothing is saved.
func Unsaved[S any](empty func() S) Saved[S] { return Saved[S]{Fold[S]{State: empty()}, empty()} }

// Limits of a journal.
const (
	// maxWaiting is how many commands may wait for the stream to be loaded, or for an append in
	// flight; more are refused. It bounds memory, and a longer queue would help nobody.
	maxWaiting = 100_000
	// maxWaitingAway is the same while the event store is away, for all commands but those that
	// a machine keeps. Nothing begins then, so there are few.
	maxWaitingAway = 1_000
	// appendRetry and appendRetryMost are the first and the longest pause between two tries of
	// a call on the store with a temporary failure. Nothing is sold before the last such call
	// is answered, so a host sells again within 5 s after its store is back.
	appendRetry     = 100 * time.Millisecond
	appendRetryMost = 3 * time.Second
)

// Errors of a journal.
var (
	// ErrReloading: another process wrote to the stream, so what was decided meanwhile is void
	// and nothing of it happened. Ask again.
	ErrReloading = errors.New("somebody else wrote to the record meanwhile; ask again")
	// ErrOverloaded: too many commands wait for one actor.
	ErrOverloaded = errors.New("too many commands are waiting")
)

// Journal is the only way in which an actor changes its machine: it decides on the speculative
// state, appends, and answers what is durable. While an append is in flight, further commands
// are decided on the speculative state; their events go out as one batch after that append
// (spec/eventstore.md §8).
//
// It lives inside one actor, which passes it the messages that it sends to itself. Not safe for
// concurrent use.
type Journal[S, C any, E proto.Message] struct {
	Machine[S, C, E]
	Stream     string
	Store      events.Store
	Codec      *events.Codec
	StoreWatch *StoreWatch
	Meta       func(S, E) events.Metadata
	self       Ref
	// Confirm asks whether this process may still write the stream, after each reading: what was read may be by a
	// process that replaced it. ErrDeposed, ErrTakenOver: it may not, is stopped soon, and writes nothing before. Nil:
	// it always may.
	Confirm func(context.Context) error
	// MinEvents is how many events the stream has at least, because they were read before: a store that has fewer is
	// behind.
	MinEvents uint64

	incarnation uint64 // counts loads; answers to older ones are dropped
	Loaded      bool
	Durable     S              // the fold of what is stored
	Ahead       S              // the speculative state: the same, with events in flight and waiting
	Stored      uint64         // number of stored events
	Last        events.EventID // of the last of them
	decided     uint64         // number of events, including those in flight and waiting

	backlog  []command[S, C, E] // commands that came before the stream was loaded
	queries  []func(S)          // queries that came before the stream was loaded
	inflight []entry[S, C, E]
	Waiting  []entry[S, C, E]

	// Each is called for each event that became durable, oldest first, while the durable state
	// is that right after the event. May be nil.
	Each func(E)
	// OnDurable is called with events that became durable, oldest first, and once without
	// events when the stream is loaded.
	OnDurable func(a *Turn, fresh []E)
	// OnBroken is called when the record cannot be read or folded: the actor cannot go on.
	OnBroken func(a *Turn, err error)
}

// Result answers a command: its events, all durable, and the durable state at that time.
type Result[S any, E proto.Message] struct {
	State  S
	Events []E
	Last   events.EventID // of the last of them; zero: there are none
	Err    error
}

type command[S, C any, E proto.Message] struct {
	cmd   C
	cause string
	by    events.EventID
	reply func(Result[S, E])
}

// entry is a decided command on its way to the store.
type entry[S, C any, E proto.Message] struct {
	command[S, C, E]
	events []E
	err    error
	stored []events.NewEvent
}

// last is the id of the last event that the command brought.
func (en *entry[S, C, E]) last() (id events.EventID) {
	if n := len(en.stored); n > 0 {
		id = en.stored[n-1].ID
	}
	return id
}

// Loaded is what was read of a stream: a saved state, if there is one, and the events behind it.
type Loaded[S any, E proto.Message] struct {
	of     life
	From   Saved[S]
	Events []E            // after the saved state
	Last   events.EventID // of the last event
	err    error
}

// life is one load of one journal.
type life struct {
	stream string
	number uint64
}

type journalAppended struct {
	of  life
	err error
}

func (m Loaded[S, E]) ofStream() string    { return m.of.stream }
func (m journalAppended) ofStream() string { return m.of.stream }

// StreamOf is the stream of the journal that a message is for; empty: it is for none.
func StreamOf(msg any) string {
	if m, ok := msg.(interface{ ofStream() string }); ok {
		return m.ofStream()
	}
	return ""
}

// Handle handles the journal's own messages. It returns false for all others, also those of another stream's journal.
func (j *Journal[S, C, E]) Handle(a *Turn, msg any) bool {
	switch m := msg.(type) {
	case Loaded[S, E]:
		if m.of == j.life() {
			j.onLoaded(a, m)
		}
		return m.of.stream == j.Stream
	case journalAppended:
		if m.of == j.life() {
			j.onAppended(a, m.err)
		}
		return m.of.stream == j.Stream
	}
	return false
}

func (j *Journal[S, C, E]) life() life { return life{j.Stream, j.incarnation} }

func (j *Journal[S, C, E]) onLoaded(a *Turn, m Loaded[S, E]) {
	if m.err != nil {
		j.OnBroken(a, m.err)
		return
	}
	if err := j.fold(m); err != nil {
		j.OnBroken(a, err)
		return
	}
	j.Stored, j.Last = m.From.Events+uint64(len(m.Events)), m.Last
	j.decided, j.Loaded = j.Stored, true
	j.OnDurable(a, nil)
	for _, look := range j.queries {
		look(j.Durable)
	}
	j.queries = nil
	backlog := j.backlog
	j.backlog = nil
	for _, c := range backlog {
		j.SubmitBy(a, c.cmd, c.cause, c.by, c.reply)
	}
}

// Query shows the durable state, once it is loaded. The function must not keep it.
func (j *Journal[S, C, E]) Query(look func(S)) {
	if !j.Loaded {
		j.queries = append(j.queries, look)
		return
	}
	look(j.Durable)
}

// Submit decides a command. reply is called exactly once, in a turn of this actor, when
// everything that the answer rests on is durable.
func (j *Journal[S, C, E]) Submit(a *Turn, cmd C, cause string, reply func(Result[S, E])) {
	j.SubmitBy(a, cmd, cause, events.EventID{}, reply)
}

// SubmitBy is Submit for a command that an event led to: one that is in the record, of
// any stream, so that a reader of the record, in its order, has met it. A zero id is none.
func (j *Journal[S, C, E]) SubmitBy(
	a *Turn, cmd C, cause string, by events.EventID, reply func(Result[S, E]),
) {
	asked := command[S, C, E]{cmd, cause, by, reply}
	if err := j.room(cmd); err != nil {
		reply(Result[S, E]{Err: err})
		return
	}
	if !j.Loaded {
		j.backlog = append(j.backlog, asked)
		return
	}
	var en entry[S, C, E]
	about := Subject{}
	if j.About != nil {
		about = j.About(cause)
	}
	During(about, func() { en = j.decideOn(asked) })
	if len(en.events) == 0 && j.inflight == nil { // The answer rests on durable events alone.
		reply(Result[S, E]{State: j.Durable, Err: en.err})
		return
	}
	j.Waiting = append(j.Waiting, en)
	j.flush(a)
}

// decideOn decides a command on the speculative state.
func (j *Journal[S, C, E]) decideOn(asked command[S, C, E]) entry[S, C, E] {
	decided, err := j.Decide(j.Ahead, asked.cmd)
	en := entry[S, C, E]{command: asked, events: decided, err: err}
	if err == nil {
		en.stored, en.err = j.encode(decided, asked.cause, asked.by)
	}
	if en.err != nil {
		en.events, en.stored = nil, nil
	}
	for _, e := range en.events {
		j.Ahead = j.Evolve(j.Ahead, e)
		j.decided++
	}
	return en
}

// room returns an error when too many commands are waiting already.
func (j *Journal[S, C, E]) room(cmd C) error {
	waiting := len(j.backlog) + len(j.Waiting)
	if waiting >= maxWaiting {
		return ErrOverloaded
	}
	if waiting >= maxWaitingAway && !j.kept(cmd) && j.StoreWatch.Away() {
		return fmt.Errorf("%w, and %d commands wait for it", ErrStoreAway, waiting)
	}
	return nil
}

func (j *Journal[S, C, E]) kept(cmd C) bool { return j.Keeps != nil && j.Keeps(cmd) }

// encode makes the stored form. The id of an event follows from the stream,
// its revision, the key of what caused it, and what it says, so that a repeated append is recognised;
// not from the event that caused it, which a repetition may know better.
func (j *Journal[S, C, E]) encode(decided []E, cause string, by events.EventID) ([]events.NewEvent, error) {
	stored := make([]events.NewEvent, 0, len(decided))
	for i, e := range decided {
		name, version, data, err := j.Codec.Encode(e)
		if err != nil {
			return nil, err
		}
		meta := j.Meta(j.Ahead, e)
		meta.Cause, meta.Version = cause, version
		if by != (events.EventID{}) {
			meta.Causation = by.String()
		}
		// The epoch and the content are part of it: what two processes decide alike at the same
		// revision, or an actor that is run again otherwise than the one that panicked, must not pass
		// for one append that was repeated.
		unique := cause + "@" + strconv.FormatUint(j.decided, 10) + "/" + strconv.FormatUint(meta.Epoch, 10) + "/" +
			events.ContentOf(name, data)
		stored = append(stored, events.NewEvent{
			ID: events.NewEventID(j.Stream, unique, i), Type: name, Data: data, Meta: meta,
		})
	}
	return stored, nil
}

// flush sends what waits as one append, unless one is in flight.
func (j *Journal[S, C, E]) flush(a *Turn) {
	if j.inflight != nil || len(j.Waiting) == 0 {
		return
	}
	var batch []events.NewEvent
	n, bytes := 0, 0
	for n < len(j.Waiting) {
		next := j.Waiting[n].stored
		for _, e := range next {
			bytes += e.Size()
		}
		// The events of one command are never split.
		if n > 0 && (len(batch)+len(next) > events.PreferredAppendEvents || bytes > events.PreferredAppendBytes) {
			break
		}
		if n == 0 {
			batch = next[:len(next):len(next)] // Mostly it is the only one.
		} else {
			batch = append(batch, next...)
		}
		n++
	}
	j.inflight, j.Waiting = j.Waiting[:n:n], j.Waiting[n:]
	if len(batch) == 0 { // Only answers that waited for the last append.
		j.onAppended(a, nil)
		return
	}
	of, expected := j.life(), events.ExpectNext(j.Stored)
	a.Do(func(ctx context.Context) {
		call := j.StoreWatch.Call(ctx, j.Stream)
		defer call.End()
		j.self.Tell(journalAppended{of, call.Append(j.Store, expected, batch)})
	})
}

func (j *Journal[S, C, E]) onAppended(a *Turn, err error) {
	batch := j.inflight
	j.inflight = nil
	if err != nil {
		j.rejectAll(a, batch, err)
		return
	}
	var fresh []E
	for _, en := range batch {
		for _, e := range en.events {
			j.Durable = j.Evolve(j.Durable, e)
			fresh = append(fresh, e)
			if j.Each != nil {
				j.Each(e)
			}
		}
		if last := en.last(); last != (events.EventID{}) {
			j.Last = last
		}
	}
	j.Stored += uint64(len(fresh))
	for _, en := range batch {
		en.reply(Result[S, E]{State: j.Durable, Events: en.events, Last: en.last(), Err: en.err})
	}
	if len(fresh) > 0 {
		j.OnDurable(a, fresh)
	}
	j.flush(a)
}

// rejectAll refuses everything that is not durable, and reloads the stream. Commands that the
// machine keeps are decided again then.
func (j *Journal[S, C, E]) rejectAll(a *Turn, batch []entry[S, C, E], err error) {
	moved := errors.Is(err, events.ErrWrongRevision)
	reason := fmt.Errorf("append to %s: %w", j.Stream, err)
	if moved {
		reason = fmt.Errorf("%w: %w", ErrReloading, err)
	}
	rejected := append(batch, j.Waiting...)
	j.Waiting = nil
	j.Load(a)
	for _, en := range rejected {
		if moved && j.kept(en.cmd) {
			j.backlog = append(j.backlog, en.command)
			continue
		}
		en.reply(Result[S, E]{Err: reason})
	}
}

// DurableState returns the durable state; false while it is not loaded. It belongs to the
// journal: keep nothing of it.
func (j *Journal[S, C, E]) DurableState() (Fold[S], bool) {
	return Fold[S]{j.Durable, j.Stored, j.Last}, j.Loaded
}
