package sim

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"iter"
	"time"

	"github.com/hostnode/hostnode/actors/port"
	"github.com/hostnode/hostnode/events"
)

// This file joins a simulated member with the others, and lets it read what they record.

// wire is the cluster port of a member. A question parks where it is asked, and again where it is
// heard, so that either may be late, lost, or come twice.
type wire struct {
	port.Cluster
	group  *group
	member *process
}

// callPatience is less than what the fake cluster waits for an answer, so that it is known why
// there is none.
const callPatience = 50 * time.Second

func (w wire) Campaign(ctx context.Context) (context.Context, error) {
	held, err := w.Cluster.Campaign(ctx)
	if err == nil {
		w.member.bus.yield(ctx, "lease")
	}
	return held, err
}

func (w wire) Call(ctx context.Context, to events.Member, question []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, callPatience)
	defer cancel()
	w.noteAsked(question)
	key := fmt.Sprintf("cluster.ask %s %s", to, named(question))
	reached := false
	answer, err := do(ctx, w.member.bus, key, func() ([]byte, error) {
		reached = true
		return w.Cluster.Call(ctx, to, question)
	})
	switch {
	case ctx.Err() != nil: // Whatever came at the same moment.
		return nil, fmt.Errorf("ask %s: %w: %w", to, events.ErrMemberAway, ctx.Err())
	case err != nil && !reached, err == errWorld: //nolint:errorlint // It is what do returns.
		return nil, fmt.Errorf("ask %s: %w: %w", to, events.ErrMemberAway, err)
	}
	return answer, err
}

func (w wire) Serve(answer func(context.Context, events.Member, []byte) ([]byte, error)) {
	life := w.member.life
	w.Cluster.Serve(func(ctx context.Context, from events.Member, question []byte) ([]byte, error) {
		hear := func(how string) error { // However late.
			key := fmt.Sprintf("cluster.%s %s %s", how, from, named(question))
			_, err := do(life, w.member.bus, key, func() (struct{}, error) { return struct{}{}, nil })
			return err
		}
		if err := hear("hear"); err != nil {
			return nil, err
		}
		if w.group.again() {
			go func() {
				if hear("hearAgain") == nil {
					_, _ = answer(life, from, question)
				}
			}()
		}
		if w.group.Plant.Headlong {
			question = headlong(question)
		}
		return answer(ctx, from, question)
	})
}

// noteAsked notes a proof that the member asks another one to send while its own append to the sale's stream has
// no answer: that duty is an exception (see permitted), and outlives the member.
func (w wire) noteAsked(question []byte) {
	var q struct {
		Kind string
		Body struct {
			Call   events.SlotCall
			Period uint64
			Proof  events.Proof
		}
	}
	if json.Unmarshal(question, &q) != nil || q.Kind != "submit-proof" && q.Kind != "pass-on-proof" {
		return
	}
	slot := q.Body.Call.Slot
	if w.group.writes(w.member, events.SaleStream(me, slot)) {
		w.group.world.mu.Lock()
		defer w.group.world.mu.Unlock()
		w.group.asked[duePast{slot, q.Body.Period, q.Body.Proof}] = true
	}
}

// again draws whether a question is heard twice.
func (g *group) again() bool {
	if g.calm() || !g.draw(g.Members.Again) {
		return false
	}
	g.faults[Fault{questionAgain, "cluster"}]++
	return true
}

// named is the name of a question in the trace.
func named(question []byte) string {
	var q struct{ Kind string }
	_ = json.Unmarshal(question, &q)
	sum := sha256.Sum256(question)
	return fmt.Sprintf("%s %x", q.Kind, sum[:4])
}

// headlong makes a member begin a sale when it is only asked whether it would.
func headlong(question []byte) []byte {
	var q struct {
		Kind string
		Body map[string]any
	}
	if json.Unmarshal(question, &q) != nil || q.Kind != "sell" {
		return question
	}
	q.Body["Try"] = false
	changed, err := json.Marshal(q)
	if err != nil {
		return question
	}
	return changed
}

// readsOn is the call of a member that reads the next event of the record.
const readsOn = "store.event"

// memberStore is the store as a member sees it. Each event that it follows is a task of its own.
type memberStore struct {
	hostStore
	member *process
	plant  Plant
}

// Append loses proofs for the owner if that is planted.
func (s memberStore) Append(
	ctx context.Context, stream string, expected events.Expected, batch []events.NewEvent,
) (events.AppendResult, error) {
	if s.plant.Unheard && events.Category(stream) == events.CategoryProofs {
		return events.AppendResult{}, nil
	}
	return s.hostStore.Append(ctx, stream, expected, batch)
}

func (m *process) setBehind(until int) {
	m.world.mu.Lock()
	defer m.world.mu.Unlock()
	m.behind = until
}

func (m *process) isBehind() bool {
	m.world.mu.Lock()
	defer m.world.mu.Unlock()
	return m.behind != 0
}

func (s memberStore) Subscribe(ctx context.Context, after events.Position) iter.Seq2[events.Recorded, error] {
	return s.heard(func(yield func(events.Recorded, error) bool) {
		for e, err := range s.hostStore.Subscribe(ctx, after) {
			if err == nil {
				s.world.bus.yield(ctx, "record")
				if s.member.isBehind() {
					_, _ = s.world.bus.park(ctx, &s.world.bus.pending, &call{key: readsOn, gate: make(chan verdict, 1)})
				}
			}
			if !yield(e, err) {
				return
			}
		}
	})
}

func (s memberStore) ReadStream(ctx context.Context, stream string, q events.ReadStream) iter.Seq2[events.Recorded, error] {
	return s.heard(s.hostStore.ReadStream(ctx, stream, q))
}

// heard leaves out the terms of others if the member is deaf to them.
func (s memberStore) heard(all iter.Seq2[events.Recorded, error]) iter.Seq2[events.Recorded, error] {
	if !s.plant.Deaf {
		return all
	}
	return func(yield func(events.Recorded, error) bool) {
		for e, err := range all {
			if err == nil && e.Type == "TermTaken" && e.Meta.Node != "sim-"+string(s.member.name) {
				continue
			}
			if !yield(e, err) {
				return
			}
		}
	}
}
