package sectors

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hostnode/hostnode/actors/chainview"
	"github.com/hostnode/hostnode/actors/health"
	"github.com/hostnode/hostnode/actors/ledger"
	"github.com/hostnode/hostnode/actors/quarantine"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/events/sector"
)

// Sectors is the supervisor of all sectors of a host. It is told each new block by
// chainview.HeadMoved.
type Sectors struct {
	*room
	booted   bool
	early    []func(*shell.Turn) // orders from before the record was read
	family   *shell.Family[*child]
	children map[uint64]*child
	next     uint64 // the number of the next sector
	requests map[string]uint64
	asked    uint64 // orders so far
	waiting  []uint64
	loading  int

	head     events.Head
	watched  uint64 // the block of the last look at the chain
	watching bool
	windows  windows

	withdrawals withdrawals
	// refused are the sectors for which the outside prover does no work; noProver is told once until it does for all.
	refused  map[uint64]bool
	noProver health.Incident
}

// child is a sector that is not over.
type child struct {
	shell.Child[*child]
	number  uint64
	info    sector.Info
	seen    *onChainState
	done    gauge
	locks   locks
	orders  map[uint64]shell.Answer
	begins  bool // nothing of it is in the record yet
	loading bool // its agent reads the record
	// scanned is what the scan read of its stream, until its first agent has it.
	scanned shell.Fold[sector.Info]
	bleeds  health.Incident
	sealed  bool // because it has waited for pieces long enough
}

// past is a sector as the scan found it.
type past struct {
	// Of no events, if one of them could not be folded.
	shell.Fold[sector.Info]
	bad bool
}

// add folds one more event of the stream.
func (p *past) add(codec *events.Codec, rec events.Recorded) {
	next := p.Events
	err := shell.Caught(func() error { return shell.Add(&p.Fold, codec, rec, sector.Evolve) })
	if p.bad = p.bad || err != nil || rec.Revision != next; p.bad {
		p.Events = 0
	}
}

// hand returns what the scan has folded, once; nil: nothing, or not all of it.
func (c *child) hand() *shell.Saved[sector.Info] {
	was := c.scanned
	c.scanned = shell.Fold[sector.Info]{}
	if was.Events == 0 {
		return nil
	}
	return &shell.Saved[sector.Info]{Fold: was, Ahead: was.State}
}

func newChild(n uint64) *child {
	c := &child{number: n, locks: newLocks(), orders: map[uint64]shell.Answer{}}
	c.Child = shell.Child[*child]{Of: c, Name: fmt.Sprintf("Sector %d", n)}
	return c
}

// Messages to Sectors from itself and its agents.
type (
	found struct {
		sectors map[uint64]*past
		next    uint64
	}
	changed struct {
		number uint64
		agent  shell.Address
		info   sector.Info
		fresh  bool
	}
	ordered struct {
		number, id uint64
		state      sector.State
		err        error
	}
	sighted struct {
		numbers []uint64
		got     []onChainState
	}
	watchEnded struct{ err error }
)

// New is the actor over the sectors of a host.
func New(d Deps) *Sectors {
	s := &Sectors{
		room: newRoom(d), children: map[uint64]*child{}, requests: map[string]uint64{}, windows: newWindows(),
		refused: map[uint64]bool{},
	}
	s.family = &shell.Family[*child]{
		Base: s.Base, Most: quarantine.MostPanics - 1,
		Slow:  func(int) time.Duration { return s.QuarantineRetry },
		Start: s.begin,
		Ended: s.onFailed,
	}
	return s
}

// Panicked ends the calls of all agents, which end with it.
func (s *Sectors) Panicked() { s.end() }

// Receive implements shell.Behavior.
func (s *Sectors) Receive(a *shell.Turn, msg any) {
	if s.family.Handle(a, msg) {
		s.spawnNext(a)
		return
	}
	switch m := msg.(type) {
	case shell.Started:
		s.boot(a)
	case found:
		s.onFound(a, m)
	case changed:
		s.onChanged(a, m)
	case ordered:
		s.onOrdered(m)
	case TryAgain:
		if c := s.children[m.Number]; c != nil && c.Left != "" {
			s.family.Run(a, &c.Child)
		}
	case chainview.HeadMoved:
		s.head = m.Head
		s.height.Store(m.Head.Number)
		s.onHead(a)
	case sighted:
		s.onSighted(m)
	case watchEnded:
		s.onWatchEnded(m)
	case planned:
		s.onPlanned(a, m)
	case partitionDone:
		s.onPartitionDone(m)
	case atRest:
		s.onAtRest(m, a.Asker())
	case scrubFound:
		s.onScrubFound(m)
	case withdrawn:
		s.onWithdrawn(m)
	default:
		s.onAsked(a, msg)
	}
}

// boot reads which sectors there are. Until then orders wait.
func (s *Sectors) boot(a *shell.Turn) {
	s.Later(a, "sectors", func(ctx context.Context) any {
		m := found{next: 1}
		call := s.StoreWatch.Call(ctx, "")
		err := call.Repeat(func() (err error) {
			m.sectors, m.next, err = scan(ctx, s.room)
			return err
		})
		call.End()
		if err == nil {
			err = s.mounted(m.sectors)
		}
		if err == nil {
			m.next = max(m.next, s.afterFiles(m.sectors))
			var book capacity.Snapshot // A number that the ledger knows is used, whatever the streams say.
			book, err = shell.WhenUp(ctx, s.Base, "sectors", func() shell.Question[capacity.Snapshot] {
				return shell.Ask[capacity.Snapshot](s.Ledger, ledger.Show{})
			})
			for _, one := range book.Sectors {
				m.next = max(m.next, one.Number+1)
			}
			for _, n := range book.Ended {
				m.next = max(m.next, n+1)
			}
			if err == nil {
				s.comparePieces(ctx, book.Pieces, m.sectors)
			}
		}
		if err != nil && ctx.Err() == nil {
			panic(fmt.Errorf("read which sectors there are: %w", err)) // The supervisor tries again, and alerts.
		}
		return m
	})
}

// scan folds the streams of all sectors of the host, in one pass over the record. A sector that cannot be folded is on
// the list all the same: its agent reads the stream itself, and reports the error.
func scan(ctx context.Context, r *room) (map[uint64]*past, uint64, error) {
	sectors, next := map[uint64]*past{}, uint64(1)
	streams := events.CategorySector + "-" + r.Me.String() + "-"
	for rec, err := range events.ReadPrefixed(ctx, r.Store, 0, []string{streams}) {
		if err != nil {
			return nil, 0, err
		}
		_, n, err := events.ParseSectorStream(rec.Stream)
		if err != nil {
			continue // Another host's stream.
		}
		if sectors[n] == nil {
			sectors[n], next = &past{Fold: shell.Fold[sector.Info]{State: sector.New(r.Policy)}}, max(next, n+1)
		}
		sectors[n].add(r.Codec, rec)
	}
	return sectors, next, nil
}

func (s *Sectors) onFound(a *shell.Turn, m found) {
	s.booted, s.next = true, m.next
	for n, was := range m.sectors {
		st := was.State
		if st.Request != "" {
			s.requests[st.Request] = n
		}
		if st.Over() {
			continue
		}
		c := newChild(n)
		c.info, c.scanned = st, was.Fold
		if q, ok := s.Quarantined.Has(aboutSector(n)); ok {
			s.family.LeaveAlone(&c.Child, q.Reason)
		}
		s.children[n] = c
		s.waiting = append(s.waiting, n)
	}
	slices.Sort(s.waiting)
	s.spawnNext(a)
	if s.ScrubEvery > 0 {
		a.Do(func(context.Context) { s.scrub(s.ctx, a.Self) })
	}
	for _, order := range s.early {
		order(a)
	}
	s.early = nil
}

// spawnNext begins the sectors of the record, not all at once.
func (s *Sectors) spawnNext(a *shell.Turn) {
	for s.loading < s.Batch && len(s.waiting) > 0 {
		n := s.waiting[0]
		s.waiting = s.waiting[1:]
		if c := s.children[n]; c != nil {
			s.family.Run(a, &c.Child)
		}
	}
	if len(s.waiting) == 0 && s.loading == 0 && s.watched == 0 && s.head.Number > 0 {
		s.watch(a)
	}
}

// begin makes the agent of a sector, which first reads the record.
func (s *Sectors) begin(a *shell.Turn, c *child, _ int, broken func(error)) shell.Behavior {
	c.loading = true
	s.loading++
	return newAgent(s.room, a.Self, c, broken)
}

func (s *Sectors) loaded(c *child) {
	if c.loading {
		c.loading = false
		s.loading--
	}
}

func (s *Sectors) onChanged(a *shell.Turn, m changed) {
	c := s.children[m.number]
	if c == nil || c.Ref().Address() != m.agent {
		return
	}
	c.info = m.info
	c.begins = c.begins && !m.fresh
	if s.family.Works(&c.Child, m.fresh) {
		s.Quarantined.End(aboutSector(m.number), "it can be run again", func() {})
	}
	s.onProver(m.number, m.info)
	c.bleeds.Is(m.info.Bleeds(), func() {
		s.trouble(m.number, fmt.Sprintf("is not proven in state %s, and the contract has it: it loses a part of its "+
			"deposit with each window until it is terminated (hostnode sectors terminate %d)", m.info.State, m.number))
	})
	s.loaded(c)
	s.spawnNext(a)
	if m.info.Over() {
		s.withdrawals.next = 0 // Its deposit is settled.
		s.family.Stop(&c.Child)
		s.answerAll(c, fmt.Errorf("%w: %d is over", ErrNoSector, m.number))
		delete(s.children, m.number)
	}
}

// onProver tells that the outside prover does no work: the sectors pause, and only an operator can correct that.
func (s *Sectors) onProver(n uint64, st sector.Info) {
	delete(s.refused, n)
	if st.Outages > 0 && !st.Over() && strings.Contains(st.LastErr, events.ErrNoProver.Error()) {
		s.refused[n] = true
	}
	s.noProver.Is(len(s.refused) > 0, func() {
		s.trouble(n, "and all others pause; correct sectors.remote, or the prover: "+st.LastErr)
	})
}

// onFailed: an agent panicked, or cannot read its record. A sector of which nothing is in the record is forgotten.
func (s *Sectors) onFailed(c *child, f shell.Failure) bool {
	n := c.number
	s.answerAll(c, fmt.Errorf("%w: sector %d: %w", shell.ErrPartDown, n, f.Err))
	s.loaded(c)
	if c.begins {
		s.forget(n) // Its number is not used again.
		return false
	}
	if f.Lefts > 0 {
		s.Quarantined.Begin(aboutSector(n), f.Err.Error())
		s.Log.WithField("sector", n).Errorf("the sector is quarantined and nothing is done for it until it is tried "+
			"again in %s: %v", f.Pause, f.Err)
	}
	return true
}

func (s *Sectors) answerAll(c *child, err error) {
	for _, answer := range c.orders {
		answer(nil, err)
	}
	clear(c.orders)
}
