package sectors

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/sector"
)

// The proofs of possession of one partition in one window: made, verified, and sent.

// challengeMoment is how long a challenge that is cancelled may take to end. Its window ends soon.
const challengeGrace = 10 * time.Millisecond

// provePartition challenges the sectors of a partition, and sends the proofs in one message.
func (s *Sectors) provePartition(a *shell.Turn, key windowKey, w events.SectorWindow, infos map[uint64]sector.Info) {
	until, cut := context.WithCancel(s.ctx)
	s.windows.proving[key] = &proving{w.Closes, cut}
	call := events.PossessionCall{
		Key: fmt.Sprintf("Possession:%d:%d:%d:%d", key.period, key.deadline, key.partition,
			s.windows.attempts[key]+1),
		Period: key.period, Deadline: key.deadline, Partition: key.partition,
	}
	s.Later(a, call.Key, func(ctx context.Context) any {
		defer cut()
		m := partitionDone{key: key}
		m.err = s.RT.Guarded(call.Key, func() error {
			cfg, err := s.Chain.Config(ctx)
			if err != nil {
				return err
			}
			proofs, left := s.challengeAll(ctx, until, w, cfg.DailyLeaves, infos)
			if m.left = left; ctx.Err() != nil || len(proofs) == 0 {
				return ctx.Err()
			}
			for _, n := range slices.Sorted(maps.Keys(proofs)) {
				call.Numbers, call.Proofs = append(call.Numbers, n), append(call.Proofs, proofs[n])
			}
			return s.possession(ctx, w, call, &m)
		})
		return m
	})
}

// possession sends proofs of a partition. If they are refused, each half is sent on its own,
// until the sector with the wrong proof is found, so that it costs no other one its proof. A
// refused call costs no gas.
func (r *room) possession(ctx context.Context, w events.SectorWindow, call events.PossessionCall, m *partitionDone,
) error {
	_, err := shell.In(ctx, r.proofs, windowTime(w), func() (events.Receipt, error) {
		return r.Chain.ProvePossession(ctx, call)
	})
	m.ended = m.ended || !isAway(asked(err))
	if !blamesOne(err) {
		return err
	}
	if now, look := r.Chain.Window(ctx); look != nil || now != w {
		return errors.Join(err, look) // The proofs may answer another branch: no sector is to blame.
	}
	if len(call.Numbers) > 1 {
		some, others, half := call, call, len(call.Numbers)/2
		some.Key, some.Numbers, some.Proofs = call.Key+".1", call.Numbers[:half], call.Proofs[:half]
		others.Key, others.Numbers, others.Proofs = call.Key+".2", call.Numbers[half:], call.Proofs[half:]
		return errors.Join(r.possession(ctx, w, some, m), r.possession(ctx, w, others, m))
	}
	if errors.Is(err, events.ErrInvalidProof) {
		m.left[call.Numbers[0]] = clip(err.Error())
	}
	return err
}

// windowTime puts windows in the order of their ends, before everything that has none.
func windowTime(w events.SectorWindow) time.Time { return time.Unix(int64(w.Closes), 0) }

// challengeAll proves as many sectors as it can until a time, and returns why the others are
// not proven.
func (r *room) challengeAll(ctx, until context.Context, w events.SectorWindow, leaves int, infos map[uint64]sector.Info,
) (proofs map[uint64][]byte, left map[uint64]string) {
	proofs, left = map[uint64][]byte{}, map[uint64]string{}
	var mu sync.Mutex
	var all sync.WaitGroup
	for _, n := range slices.Sorted(maps.Keys(infos)) {
		all.Go(func() {
			proof, err := r.challenge(until, fmt.Sprintf("challenge of sector %d", n), w, leaves, infos[n])
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				proofs[n] = proof
			case ctx.Err() == nil: // Otherwise the host stops, and the reason is unknown.
				left[n] = clip(err.Error())
			}
		})
	}
	all.Wait()
	return proofs, left
}

// challenge asks a sealer for a proof that verifies, repeatedly until a time: what fails now
// may succeed before the window ends, and a fault costs money.
func (r *room) challenge(until context.Context, name string, w events.SectorWindow, leaves int, st sector.Info) (
	proof []byte, err error,
) {
	var last error
	err = r.Retry(until, name, func(err error) { last = err }, permanent, func(ctx context.Context) (err error) {
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		at := poolSlot{r.challenges, windowTime(w), challengeGrace, func() {}}
		proof, err = within(ctx, r, name, at, func() ([]byte, error) {
			defer r.Clock.After(r.ChallengeLimit, func() { cancel(errTooLong) })()
			made, err := r.Sealer.Challenge(ctx, refOf(st), w.Randomness, leaves)
			if err == nil {
				err = r.Sealer.VerifyChallenge(refOf(st), sealOf(st), w.Randomness, leaves, made)
			}
			if errors.Is(err, events.ErrNoVerifier) {
				err = nil
			}
			return made, err
		})
		return err
	})
	if err != nil && until.Err() != nil {
		err = fmt.Errorf("it was not proven before its window ended: %w", errors.Join(last, err))
	}
	return proof, err
}

// permanent reports whether the same challenge cannot be answered, however often it is tried.
func permanent(err error) bool {
	return shell.IsOneOf(err,
		events.ErrSectorDamaged, events.ErrNoSectorPart, events.ErrSectorStep, events.ErrMalformed)
}

func (s *Sectors) onPartitionDone(m partitionDone) {
	w := &s.windows
	delete(w.proving, m.key)
	if m.ended {
		w.attempts[m.key]++
	}
	if m.err != nil {
		s.Log.Warnf("the proofs of deadline %d, partition %d, period %d were not sent; that is tried again while the "+
			"window is open: %v", m.key.deadline, m.key.partition, m.key.period, m.err)
	}
	for _, n := range slices.Sorted(maps.Keys(m.left)) {
		if c := s.children[n]; c != nil {
			s.Log.WithField("sector", n).Errorf("the sector cannot be proven and is reported faulty: %s", m.left[n])
			c.Ref().Tell(unproven{m.left[n]})
		}
	}
}
