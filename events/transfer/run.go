package transfer

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/hostnode/hostnode/events"
)

// run is one run of Copy or Import.
type run struct {
	source  source
	to      events.Store
	options Options
	last    events.Position

	there  tally // what the target has
	seen   tally // what was read of the source so far
	report Report

	batch  batch
	passed uint64 // events in this step
}

// do takes the steps.
func (r *run) do(ctx context.Context) error {
	if err := r.readTarget(ctx); err != nil {
		return err
	}
	if r.source.rewinds() {
		if err := r.compare(ctx); err != nil {
			return err
		}
	}
	r.seen, r.passed = tally{}, 0
	r.batch = batch{to: r.to}
	if err := r.source.each(ctx, func(i item) error { return r.copy(ctx, i) }); err != nil {
		return err
	}
	if err := r.batch.flush(ctx); err != nil {
		return err
	}
	if err := r.refuse(r.judge()); err != nil {
		return err
	}
	return r.finish(ctx)
}

// readTarget reads what the target has.
func (r *run) readTarget(ctx context.Context) error {
	last, err := r.to.Head(ctx)
	if err != nil {
		return fmt.Errorf("target: %w", err)
	}
	r.there = tally{}
	target := &logSource{store: r.to, last: last}
	err = target.each(ctx, func(i item) error {
		r.tell(StepTarget, i.position, last)
		return r.there.add(i)
	})
	if err != nil {
		return fmt.Errorf("target: %w", err)
	}
	r.passed = 0
	return nil
}

// compare reads the source once without writing, so that nothing is written
// when there is a conflict.
func (r *run) compare(ctx context.Context) error {
	r.seen = tally{}
	r.report.Conflicts = nil
	target, picky := r.to.(interface {
		Harmless(stream string, e events.NewEvent) error
	})
	err := r.source.each(ctx, func(i item) error {
		r.tell(StepCompare, i.position, r.last)
		if err := r.seen.add(i); err != nil {
			return err
		}
		r.meet(i)
		if picky && i.about == isEvent {
			return target.Harmless(i.stream, i.event)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return r.refuse(r.judge())
}

// meet compares a stream with the target's when as many of its events are read as the target
// has.
func (r *run) meet(i item) {
	s, t := r.seen[i.stream], r.there[i.stream]
	if i.about == isEvent && t != nil && s.events == t.events && s.chain != t.chain {
		r.conflict(i.stream, fmt.Sprintf("the first %d events differ", t.events))
	}
}

func (r *run) conflict(stream, what string) {
	r.report.Conflicts = append(r.report.Conflicts, Difference{Stream: stream, What: what})
}

// judge collects what is known only at the end of the source.
func (r *run) judge() (scavenged []string) {
	for _, name := range slices.Sorted(maps.Keys(r.seen)) {
		s, t := r.seen[name], r.there.of(name)
		if s.next > s.events {
			scavenged = append(scavenged, name)
		}
		switch {
		case t.next > t.events:
			r.conflict(name, "the target has removed a part of it")
		case t.events > s.events:
			r.conflict(name, fmt.Sprintf("%d events in the source, %d in the target", s.events, t.events))
		case t.ended && !s.ended:
			r.conflict(name, "it was deleted for good in the target")
		}
	}
	return scavenged
}

// refuse ends the run when there is a conflict.
func (r *run) refuse(scavenged []string) error {
	r.report.Scavenged = scavenged
	if len(scavenged) > 0 && !r.options.AcceptScavenged {
		all := make([]Difference, len(scavenged))
		for i, name := range scavenged {
			s := r.seen[name]
			all[i] = Difference{Stream: name, What: fmt.Sprintf("%d of %d events are left", s.events, s.next)}
		}
		return listed(ErrScavenged, all)
	}
	if len(r.report.Conflicts) > 0 {
		return listed(ErrConflict, r.report.Conflicts)
	}
	return nil
}

// copy handles the next item, and writes when the batch is full.
func (r *run) copy(ctx context.Context, i item) error {
	r.tell(StepCopy, i.position, r.last)
	s := r.seen.of(i.stream)
	number := s.events
	if err := r.seen.add(i); err != nil {
		return err
	}
	if i.about != isEvent {
		return nil
	}
	t := r.there.of(i.stream)
	switch {
	case s.next > s.events && !r.options.AcceptScavenged:
		return listed(ErrScavenged, []Difference{{
			Stream: i.stream, What: fmt.Sprintf("event %d follows event %d", i.revision, int64(number)-1),
		}})
	case number < t.events:
		r.report.Present++
		r.meet(i)
		return r.refuse(nil)
	}
	t.events++ // It counts already: the batch is written before anything else of the stream.
	r.report.Copied++
	r.report.Bytes += uint64(i.event.Size())
	return r.batch.add(ctx, i.stream, number, i.event)
}

// finish sets metadata and ends of streams, after all their events.
func (r *run) finish(ctx context.Context) error {
	for _, name := range slices.Sorted(maps.Keys(r.seen)) {
		s, t := r.seen[name], r.there.of(name)
		if s.events > 0 {
			r.report.Streams++
		}
		if s.ended {
			if !t.ended {
				if _, err := r.to.Delete(ctx, name, events.ExpectNext(max(s.events, t.events)), true); err != nil {
					return fmt.Errorf("delete %s for good: %w", name, err)
				}
				r.report.Ended++
			}
			continue
		}
		if err := r.setMetadata(ctx, name, s); err != nil {
			return err
		}
	}
	return nil
}

// setMetadata makes the metadata of the target's stream agree with the
// source's. When the source has none, nothing is hidden; but rights and the
// keys of other programs in the target stay. The target's metadata is read
// again, because an append to a deleted stream changes it.
func (r *run) setMetadata(ctx context.Context, name string, s *tallied) error {
	stream := events.MetadataStream(name)
	have, next := events.StreamMetadata{}, uint64(0)
	last, found, err := events.Last(ctx, r.to, stream)
	if err != nil {
		return fmt.Errorf("read the metadata of %s: %w", name, err)
	}
	if found {
		next = last.Revision + 1
		have, _ = events.ParseStreamMetadata(last.Data) // Nothing, if it cannot be parsed.
	}
	want := s.target(name)
	if !s.told {
		want.ACL, want.Custom = have.ACL, have.Custom
	}
	if slices.Equal(said(want), said(have)) {
		return nil
	}
	data := want.Marshal()
	e := events.NewEvent{ // The id contains the contents, because other contents must not pass for a repeat.
		ID:   events.NewEventID(stream, fmt.Sprintf("transfer/%s", data), int(next)),
		Type: events.TypeMetadata, Data: data,
	}
	if _, err := r.to.Append(ctx, stream, events.ExpectNext(next), []events.NewEvent{e}); err != nil {
		return fmt.Errorf("set the metadata of %s: %w", name, err)
	}
	if have.Deleted() { // The append undeleted the stream, and the store wrote metadata after ours.
		if err := r.until(ctx, stream, next+1); err != nil {
			return err
		}
		return r.setMetadata(ctx, name, s)
	}
	r.report.Metadata++
	return nil
}

// progressEvery is how many events there are between two reports of progress.
const progressEvery = 10_000

func (r *run) tell(step Step, position, last events.Position) {
	r.passed++
	if r.options.Progress != nil && (r.passed%progressEvery == 1 || last > 0 && position == last) {
		r.options.Progress(Progress{Step: step, Position: position, Last: last, Events: r.passed})
	}
}

// until waits for a revision of a metadata stream that the target writes itself,
// perhaps after its answer.
func (r *run) until(ctx context.Context, stream string, revision uint64) error {
	for {
		head, err := r.to.Head(ctx)
		if err != nil {
			return err
		}
		last, _, err := events.Last(ctx, r.to, stream)
		if err != nil || last.Revision >= revision {
			return err
		}
		if err := r.to.Wait(ctx, head); err != nil {
			return err
		}
	}
}
