package sim

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
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
		s := f.repo[job.Slot]
		if s == nil {
			return events.ProofResult{}, events.ErrNoSuchSlot
		}
		if err := s.damage(uint64(job.Challenge[31]) % max(1, uint64(s.size/events.BlockSize))); err != nil {
			return events.ProofResult{}, err
		}
		return events.ProofResult{Proof: proofFor(job.Slot, job.Challenge), Challenge: job.Challenge, Took: time.Second}, nil
	}))
}

// Stored does not park, because the real repo keeps that in memory.
func (f fakeRepo) Stored(context.Context) ([]events.StoredSlot, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := []events.StoredSlot{}
	for id, s := range f.repo {
		slot := events.StoredSlot{Slot: id, Complete: s.bytes >= s.size, Data: s.bytes, Until: s.until}
		if s.lost {
			slot.Damage = s.damage(0).Error()
		}
		out = append(out, slot)
	}
	slices.SortFunc(out, func(a, b events.StoredSlot) int { return compareSlots(a.Slot, b.Slot) })
	return out, nil
}

// Room does not park: it is called all the time, and costs nothing.
func (f fakeRepo) Room() (events.Bytes, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.noRoom {
		return 0, errNoSpace
	}
	return 1 << 40, nil
}

// Scrub checks one slot at a time.
func (f fakeRepo) Scrub(ctx context.Context, now time.Time, _ events.Bytes) (events.Scrubbed, error) {
	return do(ctx, f.bus, "repo.scrub", locked(f.world, func() (events.Scrubbed, error) {
		p := &f.scrubbing
		if p.Began.IsZero() {
			*p = events.ScrubProgress{Began: now, LastBegan: p.LastBegan, LastEnded: p.LastEnded}
		}
		for _, id := range sortedSlots(f.repo) {
			if s := f.repo[id]; compareSlots(id, p.Slot) > 0 && s.bytes >= s.size {
				p.Slot = id
				piece := events.Scrubbed{Slot: id, Bytes: s.size, Progress: *p}
				piece.Damage, _ = errors.AsType[*events.DamageError](s.damage(blocksOf(s.size)...))
				return piece, nil
			}
		}
		*p = events.ScrubProgress{LastBegan: p.Began, LastEnded: now}
		return events.Scrubbed{Ended: true, Progress: *p}, nil
	}))
}

// Check checks a slot at once.
func (f fakeRepo) Check(ctx context.Context, id events.SlotID, _ uint64, _ events.Bytes) (events.Checked, error) {
	return do(ctx, f.bus, "repo.check", locked(f.world, func() (c events.Checked, err error) {
		s := f.repo[id]
		if s == nil || s.bytes < s.size {
			return c, events.ErrNoSuchSlot
		}
		blocks := blocksOf(s.size)
		c.Blocks = max(1, uint64(len(blocks)))
		c.Next = c.Blocks
		c.Damage, _ = errors.AsType[*events.DamageError](s.damage(blocks...))
		return c, nil
	}))
}

func (f fakeRepo) ScrubProgress() events.ScrubProgress {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.scrubbing
}

// blocksOf are the blocks of a slot.
func blocksOf(size events.Bytes) (blocks []uint64) {
	for b := range uint64(size / events.BlockSize) {
		blocks = append(blocks, b)
	}
	return blocks
}

func sortedSlots(repo map[events.SlotID]*stored) []events.SlotID {
	return slices.SortedFunc(maps.Keys(repo), compareSlots)
}

func (f fakeRepo) Delete(ctx context.Context, id events.SlotID) error {
	_, err := do(ctx, f.bus, "repo.delete "+id.Short(), locked(f.world, func() (struct{}, error) {
		if f.repo[id] != nil && f.hosted(id) {
			f.offend(HostedDataIsKept, "the data of slot %s was deleted while the contract counts it as ours", id.Short())
		}
		delete(f.repo, id)
		f.did(action{kind: "delete", slot: id})
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
		f.did(action{kind: "extend", slot: id})
		if s.until.Before(until) {
			s.until = until
		}
		return struct{}{}, nil
	}))
	return err
}

func (f fakeRepo) Limit(total events.Bytes) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.limit = total
}

// fits reports whether a slot may have so many bytes; the lock must be held.
func (w *world) fits(slot events.SlotID, total events.Bytes) bool {
	for id, s := range w.repo {
		if id != slot {
			total += s.bytes
		}
	}
	return w.limit == 0 || total <= w.limit
}

// The first byte of a request's nonce says how its client behaves.
const (
	liar   = 0xbd // its data is wrong
	silent = 0xde // it never serves its data
	forger = 0xf0 // its manifest describes something else
)

// Inspect finds the forger; the others are found by their blocks.
func (f fakeContent) Inspect(ctx context.Context, job events.DownloadJob) error {
	_, err := do(ctx, f.bus, "content.inspect "+job.Slot.Short(), locked(f.world, func() (struct{}, error) {
		if job.Request.Nonce[0] == forger {
			return struct{}{}, events.ErrContentMismatch
		}
		return struct{}{}, nil
	}))
	return err
}

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
				if !f.fits(job.Slot, total) {
					return struct{}{}, events.ErrQuotaExceeded
				}
				f.did(action{kind: "piece", slot: job.Slot})
				f.repo[job.Slot] = &stored{bytes: total, size: job.Request.Ask.SlotSize, until: job.Until}
				return struct{}{}, nil
			}))
		if err != nil {
			return events.SlotContent{}, err
		}
	}
	return events.SlotContent{Root: events.Root{1}, Bytes: job.Request.Ask.SlotSize}, nil
}

// Repair fetches the whole slot from its client, or the named blocks.
func (f fakeContent) Repair(ctx context.Context, job events.DownloadJob, blocks []uint64) ([]uint64, error) {
	return do(ctx, f.bus, "content.repair "+job.Slot.Short(), locked(f.world, func() ([]uint64, error) {
		f.did(action{kind: "repair", slot: job.Slot})
		size := job.Request.Ask.SlotSize
		s := f.repo[job.Slot]
		switch {
		case f.lying:
			return blocks, nil
		case (s == nil || s.bytes < size) && !f.fits(job.Slot, size):
			return nil, events.ErrQuotaExceeded
		case s == nil || s.bytes < size, len(blocks) == 0:
			f.repo[job.Slot] = &stored{bytes: size, size: size, until: job.Until}
			if s != nil && s.until.After(job.Until) {
				f.repo[job.Slot].until = s.until
			}
			return blocks, nil
		}
		if s.lost { // Each block has to be fetched again from now on.
			s.lost, s.rotten = false, map[uint64]bool{}
			for _, b := range blocksOf(size) {
				s.rotten[b] = true
			}
		}
		for _, b := range blocks {
			delete(s.rotten, b)
		}
		return blocks, nil
	}))
}

// busStore parks appends on the bus; reads go through.
type busStore struct {
	events.Store
	world *world
}

func (s busStore) Append(
	ctx context.Context, stream string, e events.Expected, b []events.NewEvent,
) (events.AppendResult, error) {
	s.tries(stream, true)
	if s.world.altering {
		b = altered(b)
	}
	if s.world.dropping && len(b) > 1 && events.Category(stream) == events.CategorySector {
		b = b[:len(b)-1]
	}
	r, err := do(ctx, s.world.bus, "store.append "+stream, func() (events.AppendResult, error) {
		s.acknowledge(stream, false)
		return s.Store.Append(context.WithoutCancel(ctx), stream, e, b)
	})
	if err == nil || errors.Is(err, events.ErrWrongRevision) { // Then it reads the stream again.
		s.acknowledge(stream, true)
		s.tries(stream, false)
	}
	return r, err
}

// altered moves the deadline in each ProofDue by a nanosecond.
func altered(batch []events.NewEvent) []events.NewEvent {
	batch = slices.Clone(batch)
	for i, e := range batch {
		if at := bytes.Index(e.Data, []byte(`"deadline":"`)); e.Type == "ProofDue" && at >= 0 {
			end := at + bytes.IndexByte(e.Data[at:], 'Z')
			batch[i].Data = slices.Concat(e.Data[:end], []byte(".000000001"), e.Data[end:])
		}
	}
	return batch
}

func (s busStore) acknowledge(stream string, known bool) {
	s.world.mu.Lock()
	defer s.world.mu.Unlock()
	s.world.unanswered[stream] = !known
}

func (s busStore) tries(stream string, tries bool) {
	s.world.mu.Lock()
	defer s.world.mu.Unlock()
	s.world.trying[stream] = tries
}

// ReadStream spoils half of the snapshots while stored data rots.
func (s busStore) ReadStream(
	ctx context.Context, stream string, q events.ReadStream,
) iter.Seq2[events.Recorded, error] {
	if !s.world.rot || !events.IsSnapshot(stream) {
		return s.Store.ReadStream(ctx, stream, q)
	}
	return func(yield func(events.Recorded, error) bool) {
		for e, err := range s.Store.ReadStream(ctx, stream, q) {
			if e.ID[0]%2 == 0 {
				e.Data = spoil(e.Data)
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// spoil changes a byte of the payload of a snapshot's part; other data is left alone.
func spoil(data []byte) []byte {
	var part map[string]json.RawMessage
	var payload []byte
	if json.Unmarshal(data, &part) != nil || json.Unmarshal(part["payload"], &payload) != nil || len(payload) == 0 {
		return data
	}
	payload[len(payload)/2] ^= 1
	part["payload"], _ = json.Marshal(payload)
	spoilt, _ := json.Marshal(part)
	return spoilt
}
