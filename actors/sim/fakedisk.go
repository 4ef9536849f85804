package sim

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hostnode/hostnode/events"
)

// fakeProver, fakeRepo and fakeContent are the other ports.
type (
	fakeProver  struct{ *world }
	fakeRepo    struct{ *world }
	fakeContent struct{ *world }
)

func (f fakeProver) KeyHash() string { return "simulated" }

func (f fakeProver) Prove(ctx context.Context, job events.ProofJob) (events.ProofResult, error) {
	return do(ctx, f.bus, "prover.prove "+job.Slot.Short(), locked(f.world, func() (events.ProofResult, error) {
		if f.repo[job.Slot] == nil {
			return events.ProofResult{}, events.ErrNoSuchSlot
		}
		return events.ProofResult{Proof: proofFor(job.Slot, job.Challenge), Challenge: job.Challenge, Took: time.Second}, nil
	}))
}

func (f fakeRepo) Stored(ctx context.Context) ([]events.StoredSlot, error) {
	return do(ctx, f.bus, "repo.stored", locked(f.world, func() ([]events.StoredSlot, error) {
		var out []events.StoredSlot
		for id, s := range f.repo {
			out = append(out, events.StoredSlot{Slot: id, Complete: true, Data: s.bytes, Until: s.until})
		}
		slices.SortFunc(out, func(a, b events.StoredSlot) int { return strings.Compare(a.Slot.String(), b.Slot.String()) })
		return out, nil
	}))
}

func (f fakeRepo) Delete(ctx context.Context, id events.SlotID) error {
	_, err := do(ctx, f.bus, "repo.delete "+id.Short(), locked(f.world, func() (struct{}, error) {
		delete(f.repo, id)
		f.did(deed{kind: "delete", slot: id})
		return struct{}{}, nil
	}))
	return err
}

func (f fakeRepo) Extend(ctx context.Context, id events.SlotID, until time.Time) error {
	_, err := do(ctx, f.bus, "repo.extend "+id.Short(), locked(f.world, func() (struct{}, error) {
		s := f.repo[id]
		if s == nil {
			return struct{}{}, events.ErrNoSuchSlot
		}
		f.did(deed{kind: "extend", slot: id})
		if s.until.Before(until) {
			s.until = until
		}
		return struct{}{}, nil
	}))
	return err
}

// The first byte of a request's nonce says what its client is like.
const (
	liar   = 0xbd // its data is not what it says
	silent = 0xde // it never serves its data
)

func (f fakeContent) Download(ctx context.Context, job events.DownloadJob) (events.SlotContent, error) {
	const pieces = 3
	for n := events.Bytes(1); n <= pieces; n++ {
		total := job.Request.Ask.SlotSize * n / pieces
		if err := job.Grant(ctx, total); err != nil {
			return events.SlotContent{}, err
		}
		_, err := do(ctx, f.bus, fmt.Sprintf("content.piece %s %d", job.Slot.Short(), n),
			locked(f.world, func() (struct{}, error) {
				switch job.Request.Nonce[0] {
				case liar:
					return struct{}{}, events.ErrContentMismatch
				case silent:
					return struct{}{}, events.ErrContentUnavailable
				}
				f.did(deed{kind: "piece", slot: job.Slot})
				f.repo[job.Slot] = &stored{bytes: total, until: job.Until}
				return struct{}{}, nil
			}))
		if err != nil {
			return events.SlotContent{}, err
		}
	}
	return events.SlotContent{Root: events.Root{1}, Bytes: job.Request.Ask.SlotSize}, nil
}

// busStore parks appends on the bus; reads go through.
type busStore struct {
	events.Store
	world *world
}

func (s busStore) Append(
	ctx context.Context, stream string, e events.Expected, b []events.NewEvent,
) (events.AppendResult, error) {
	r, err := do(ctx, s.world.bus, "store.append "+stream, func() (events.AppendResult, error) {
		s.hear(stream, false)
		return s.Store.Append(context.WithoutCancel(ctx), stream, e, b)
	})
	if err == nil || errors.Is(err, events.ErrWrongRevision) { // Then it reads the stream anew.
		s.hear(stream, true)
	}
	return r, err
}

func (s busStore) hear(stream string, heard bool) {
	s.world.mu.Lock()
	defer s.world.mu.Unlock()
	s.world.unheard[stream] = !heard
}
