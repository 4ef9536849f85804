package sim

import (
	"context"
	"maps"
	"path/filepath"
	"slices"

	"github.com/hostnode/hostnode/actors"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/sale"
	"github.com/hostnode/hostnode/events/slotqueue"
	"github.com/hostnode/hostnode/events/storetest"
	"github.com/hostnode/hostnode/events/witness"
	"github.com/hostnode/hostnode/messages"
)

// This file restores the event store from an older backup: the record loses its newest events,
// and the host is started on it with its disk and outbox unchanged.

const olderRecord = "older record"

// holdFor is about how many steps it takes until the operator lets the host sell again after a
// loss.
const holdFor = 300

// older is what is known of a record that lost events.
type older struct {
	// lacks are the streams that lack acknowledged events.
	lacks map[string]bool
	named bool
	// held: the host has not begun to sell again; asked: the operator wants it to.
	held, asked bool
	// leftovers are the slots that were on disk then.
	leftovers map[events.SlotID]bool
}

// watch puts a witness before the store, as in a real host.
func (s *simulator) watch(ctx context.Context, ports *actors.Ports) error {
	if s.Older == 0 {
		return nil
	}
	watched, _, err := witness.New(ctx, ports.Store, filepath.Join(s.dir, "acknowledged"))
	if err != nil {
		return err
	}
	s.world.mu.Lock()
	defer s.world.mu.Unlock()
	s.unwatch = watched.Close
	ports.Store, ports.Witness = watched, oneWitness{watched, s.Plant}
	return nil
}

// oneWitness may have an error planted.
type oneWitness struct {
	*witness.Store
	plant Plant
}

func (w oneWitness) Lost() events.WentBack {
	lost := w.Store.Lost()
	switch {
	case w.plant.Eager:
		return events.WentBack{}
	case w.plant.Vague && len(lost.Streams) > 1:
		lost.Streams = lost.Streams[1:]
	}
	return lost
}

// Close leaves the store to the next process of the host.
func (hostStore) Close() error { return nil }

// goBack restores an older copy of the record and starts the host again.
func (s *simulator) goBack(ctx context.Context) {
	s.crashes++
	s.crash()
	head, _ := s.store.Head(ctx) // It returns no errors.
	n := 1 + s.nodes.IntN(int(head))
	s.trouble(olderRecord, "world", "the record goes back to %d of %d events", n, head)
	restored, has, offered := storetest.NewMemory(), map[string]uint64{}, false
	for e, err := range s.store.ReadAll(ctx, 0, n) {
		if err == nil {
			_, err = restored.Append(ctx, e.Stream, events.Any(), []events.NewEvent{{
				ID: e.ID, Type: e.Type, Data: e.Data, Meta: e.Meta,
			}})
		}
		if err != nil {
			panic(err) // A mistake of the simulation.
		}
		has[e.Stream] = e.Revision + 1
		offered = offered || e.Type == "AvailabilityCreated"
	}
	o := &older{lacks: map[string]bool{}, leftovers: map[events.SlotID]bool{}}
	s.world.mu.Lock()
	for stream, told := range s.world.told {
		if told > has[stream] {
			o.lacks[stream] = true
		}
	}
	for id := range s.world.repo {
		o.leftovers[id] = true
	}
	s.world.mu.Unlock()
	s.older = o
	s.newRecord(restored, s.tokens)
	s.offered = offered
	if err := s.audit.readOn(ctx, s.view); err != nil {
		panic(err) // It was read before.
	}
	o.held = len(o.lacks) > 0
	s.start(ctx)
}

// goOn lets the host sell again when the operator has looked at what is lost.
func (s *simulator) goOn(ctx context.Context) {
	if o := s.older; o != nil && o.held && o.named && !o.asked && (s.calm() || s.nodes.IntN(holdFor) == 0) {
		o.asked, s.paused = true, true
		s.pause(ctx)
	}
}

// holds: nothing is sold on an older record before the operator wants it.
func (s *simulator) holds(e slotqueue.Event) error {
	if s.older == nil || !s.older.held {
		return nil
	}
	switch e := e.(type) {
	case *messages.QueueResumed:
		s.older.held = !s.older.asked
	case *messages.SlotTaken:
		return broken(PausedAfterLoss, "a slot was taken: %v", e)
	}
	return nil
}

// isLeftover: data without a sale in an older record may be deleted.
func (s *simulator) isLeftover(d action, st sale.State) bool {
	return d.kind == "delete" && st.Phase == sale.Unknown && s.older != nil && s.older.leftovers[d.slot]
}

// onWentBack: the host names as lost exactly the acknowledged events that the record lacks.
func (s *simulator) onWentBack(m *messages.RecordWentBack) error {
	named := map[string]bool{}
	for _, short := range m.GetStreams() {
		named[short.GetStream()] = true
	}
	if s.older == nil || !maps.Equal(named, s.older.lacks) {
		return broken(LossIsNamed, "the host says that events are missing in %v", slices.Sorted(maps.Keys(named)))
	}
	s.older.named = true
	return nil
}
