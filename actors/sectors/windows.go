package sectors

import (
	"context"
	"fmt"
	"maps"
	"slices"
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

// Messages to Sectors about windows.
type (
	planned struct {
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

// cares reports whether the chain can change the state of a sector, or the sector waits for the chain.
func cares(st sector.Info) bool {
	return slices.Contains([]sector.State{
		sector.WaitSeed, sector.Committing, sector.CommitWait, sector.FinalizeSector, sector.Proving, sector.Faulty,
		sector.FaultReported, sector.FaultedFinal, sector.Recovering, sector.RecoveryReported, sector.Terminating,
		sector.TerminateWait, sector.TerminateFinality, sector.Removed,
	}, st.State)
}

func (s *Sectors) onHead(a *shell.Turn) {
	if s.watched == 0 || s.head.Number >= s.watched+s.WatchEvery || s.head.Number < s.watched {
		s.watch(a)
	}
	for _, p := range s.windows.proving {
		if s.head.Number+1+s.ProveMargin >= p.closes {
			p.cut()
		}
	}
	s.sealOpen()
	s.plan(a)
	s.withdraw(a)
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
