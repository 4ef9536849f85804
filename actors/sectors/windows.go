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

// What Sectors asks the chain at new blocks: its data about the sectors, a batch at a time, and
// which proofs of possession the open window demands. None of this is recorded: the chain says
// what is proven, also to a host that starts again. Proofs do not wait for the event store.

// windowKey is one message: the proofs of a partition in the window of a period.
type windowKey struct{ period, deadline, partition uint64 }

// windows is the running work for the open window.
type windows struct {
	planning bool
	proving  map[windowKey]*proving
	// attempts counts the messages of a partition: sectors that the first one left out need
	// another.
	attempts map[windowKey]int
	// first is the first block that was seen: the time between blocks is measured from it.
	first events.Head
}

type proving struct {
	closes uint64
	cut    context.CancelFunc // ends what is not proven yet
}

func newWindows() windows {
	return windows{proving: map[windowKey]*proving{}, attempts: map[windowKey]int{}}
}

// Messages to Sectors about what the chain has, and about windows.
type (
	sighted struct {
		numbers []uint64
		got     []onChainState
	}
	watchEnded struct{ err error }
	planned    struct {
		window events.SectorWindow
		parts  map[uint64][]uint64 // numbers by partition
		err    error
	}
	partitionDone struct {
		key   windowKey
		left  map[uint64]string // why a sector was left out
		ended bool              // the message was mined, or never will be
		err   error
	}
)

// planWindow returns the sectors that must be proven in a window, by partition, from what the
// chain has of them.
func planWindow(w events.SectorWindow, all []events.SectorOnChain, numbers []uint64) map[uint64][]uint64 {
	parts := map[uint64][]uint64{}
	for i, on := range all {
		faulty := on.Faulty && w.Period >= on.FaultyFrom && on.RecoverAt != w.Period
		if !on.Active || on.Terminated || on.Deadline != w.Deadline || on.NextPeriod > w.Period || faulty {
			continue
		}
		parts[on.Partition] = append(parts[on.Partition], numbers[i])
	}
	return parts
}

// numbersOf returns the running sectors of a kind, in order.
func (s *Sectors) numbersOf(kind func(*child) bool) (numbers []uint64) {
	for _, n := range slices.Sorted(maps.Keys(s.children)) {
		if kind(s.children[n]) {
			numbers = append(numbers, n)
		}
	}
	return numbers
}

// inBatches asks the chain about sectors, in batches, before sectors ask for themselves.
func (r *room) inBatches(ctx context.Context, numbers []uint64, take func([]uint64, []events.SectorOnChain)) error {
	for batch := range slices.Chunk(numbers, r.Batch) {
		got, err := shell.In(ctx, r.reads, first, func() ([]events.SectorOnChain, error) {
			return r.Chain.Sectors(ctx, batch)
		})
		if err == nil && len(got) != len(batch) {
			err = fmt.Errorf("the chain was asked for %d sectors and answered %d", len(batch), len(got))
		}
		if err != nil {
			return err
		}
		take(batch, got)
	}
	return nil
}

// watch asks what the chain has of all sectors that depend on it.
func (s *Sectors) watch(a *shell.Turn) {
	if s.watching || !s.booted || len(s.waiting) > 0 {
		return
	}
	numbers := s.numbersOf(func(c *child) bool { return !c.loading && !c.Ref().Nobody() && cares(c.info) })
	if len(numbers) == 0 {
		return
	}
	s.watching, s.watched = true, s.head.Number
	s.Later(a, "look at the sectors on chain", func(ctx context.Context) any {
		err := s.RT.Guarded("look at the sectors on chain", func() error {
			w, err := s.Chain.Window(ctx)
			if err != nil {
				return err
			}
			return s.inBatches(ctx, numbers, func(batch []uint64, got []events.SectorOnChain) {
				all := make([]onChainState, len(got))
				for i, on := range got {
					all[i] = onChainState{on, w.Period}
				}
				a.Self.Tell(sighted{batch, all})
			})
		})
		return watchEnded{err}
	})
}

func (s *Sectors) onSighted(m sighted) {
	for i, n := range m.numbers {
		if c := s.children[n]; c != nil {
			c.seen = &m.got[i]
			c.Ref().Tell(m.got[i])
		}
	}
}

func (s *Sectors) onWatchEnded(m watchEnded) {
	s.watching = false
	if m.err != nil {
		s.watched = 0 // At the next block.
		s.Log.Warnf("the sectors on chain could not be looked at; it is tried again at the next block: %v", m.err)
	}
}

// plan asks which window is open and what it wants.
func (s *Sectors) plan(a *shell.Turn) {
	if s.windows.planning || !s.booted {
		return
	}
	deadlines := map[uint64]uint64{}
	numbers := s.numbersOf(func(c *child) bool { return c.seen != nil && c.seen.Active && c.info.State.Proves() })
	for _, n := range numbers {
		deadlines[n] = s.children[n].seen.Deadline
	}
	if len(numbers) == 0 {
		return
	}
	s.windows.planning = true
	s.Later(a, "plan a window", func(ctx context.Context) any {
		m := planned{parts: map[uint64][]uint64{}}
		m.err = s.RT.Guarded("plan a window", func() (err error) {
			if m.window, err = s.Chain.Window(ctx); err != nil {
				return err
			}
			numbers = slices.DeleteFunc(numbers, func(n uint64) bool { return deadlines[n] != m.window.Deadline })
			return s.inBatches(ctx, numbers, func(batch []uint64, got []events.SectorOnChain) {
				for partition, of := range planWindow(m.window, got, batch) {
					m.parts[partition] = append(m.parts[partition], of...)
				}
			})
		})
		return m
	})
}

func (s *Sectors) onPlanned(a *shell.Turn, m planned) {
	w := &s.windows
	w.planning = false
	if m.err != nil {
		s.Log.Warnf("what the open window wants is not known; it is asked again at the next block: %v", m.err)
		return
	}
	maps.DeleteFunc(w.attempts, func(k windowKey, _ int) bool {
		return k.period != m.window.Period || k.deadline != m.window.Deadline
	})
	var wanted bool
	defer func() { s.tellDuties(m.window, wanted) }()
	for _, partition := range slices.Sorted(maps.Keys(m.parts)) {
		key := windowKey{m.window.Period, m.window.Deadline, partition}
		early, late := s.head.Number < m.window.Opens, s.head.Number+1+s.ProveMargin >= m.window.Closes
		wanted = wanted || w.proving[key] != nil
		if w.proving[key] != nil || early || late { // Before its first block no node accepts a proof.
			continue
		}
		infos := map[uint64]sector.Info{}
		for _, n := range m.parts[partition] {
			if c := s.children[n]; c != nil && c.info.State.Proves() {
				infos[n] = c.info
			}
		}
		if len(infos) > 0 {
			wanted = true
			s.provePartition(a, key, m.window, infos)
		}
	}
}

// tellDuties tells the sender of messages by when the proofs that are being made must be mined, so that
// messages that can wait are not sent before them.
func (s *Sectors) tellDuties(w events.SectorWindow, wanted bool) {
	d, ok := s.Chain.(interface{ DutiesDue(next time.Time) })
	if !ok {
		return
	}
	first, head, due := &s.windows.first, s.head, time.Time{}
	if first.Number == 0 || head.Number < first.Number {
		*first = head
	}
	// In the first half of a short window the messages that can wait, such as recoveries, have their turn: otherwise
	// they had none where one window follows on another.
	late := head.Number >= w.Opens+(w.Closes-w.Opens)/2
	if passed := head.Number - first.Number; wanted && late && passed > 0 && w.Closes > head.Number {
		pace := head.Time.Sub(first.Time) / time.Duration(passed)         //nolint:gosec // Blocks since the start.
		due = head.Time.Add(pace * time.Duration(w.Closes-1-head.Number)) //nolint:gosec // Blocks of a window.
	}
	d.DutiesDue(due)
}

// The proofs of possession of one partition in one window: made, verified, and sent.

// challengeGrace is how long a challenge that is cancelled may take to end. Its window ends soon.
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
