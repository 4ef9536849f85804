// Package sectors runs the sectors of a host as actors. One for each sector owns the journal of
// its stream and performs the one step that events/sector names, asking before it acts. The
// actor Sectors begins them, passes on to them the orders of operators and what the chain has
// of them, and sends the proofs of possession of each window.
//
// Read sectors.go first: the actor Sectors, which all messages from outside come to. Then what it does: start.go,
// windows.go, scrub.go, check.go and withdraw.go. Then one sector: agent.go, its steps in steps.go and declare.go, and
// what their errors lead to in failures.go. calls.go limits what runs at once; room.go has the settings, and what all
// share.
//
// Not for: rules. Those are in events/sector.
package sectors

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/hostnode/hostnode/actors/chainview"
	"github.com/hostnode/hostnode/actors/health"
	"github.com/hostnode/hostnode/actors/quarantine"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/sector"
	"github.com/hostnode/hostnode/messages"
)

// Name is the name of the actor over all sectors.
const Name = "Sectors"

// ErrNoSector: there was never such a sector, or it is over.
var ErrNoSector = errors.New("no such sector")

// ErrOtherRequest: a sector began with that request, and it is another one than is asked for.
var ErrOtherRequest = errors.New("another sector began with that request")

// Messages to Sectors. Those with the name of an operator are orders. They are
// answered with the state of the sector when the resulting events are durable; with a
// *sector.Refused when the state does not allow the order; with ErrNoSector; or with
// shell.ErrPartDown, and then the order may have taken effect.
type (
	// Create begins a sector; the answer is its number. Without pieces it is empty.
	Create struct {
		Size   events.Bytes // padded
		Pieces []events.SectorPiece
		By     string
		// Request is chosen by the caller. The same one, with the same size and pieces, begins no other sector,
		// also after a restart; with others it is ErrOtherRequest. Empty: each Create begins another one.
		Request string
	}
	// AddPiece adds a piece to a sector that is not packed.
	AddPiece struct {
		Number uint64
		Piece  events.SectorPiece
		By     string
	}
	// DropPiece leaves out a piece that cannot be added, or packed.
	DropPiece struct {
		Number uint64
		CID    string
		By     string
	}
	// StartPacking says that no more pieces come.
	StartPacking struct {
		Number uint64
		By     string
	}
	// Restart cuts a pause short, lets a parked sector go on, or cancels the call that runs and makes it again.
	Restart struct {
		Number uint64
		By     string
	}
	// ForceState puts a sector into a state.
	ForceState struct {
		Number     uint64
		State      sector.State
		By, Reason string
	}
	// Terminate ends a sector on chain before its time.
	Terminate struct {
		Number     uint64
		By, Reason string
	}
	// Remove removes the files of a sector, and gives back what it holds.
	Remove struct {
		Number     uint64
		By, Reason string
	}
	// TryAgain runs a sector that is quarantined; it is not answered.
	TryAgain struct{ Number uint64 }
	// List asks for all sectors, by number; the answer is a []Standing.
	List struct{}
	// Show asks for one sector; the answer is a Standing.
	Show struct{ Number uint64 }
)

// Order is an operator's order to a sector that has begun: AddPiece, DropPiece, StartPacking, Restart,
// ForceState, Terminate or Remove. The answer is the state that the sector is in then.
type Order interface{ isOrder() }

func (AddPiece) isOrder()     {}
func (DropPiece) isOrder()    {}
func (StartPacking) isOrder() {}
func (Restart) isOrder()      {}
func (ForceState) isOrder()   {}
func (Terminate) isOrder()    {}
func (Remove) isOrder()       {}

// Standing is how a sector stands.
type Standing struct {
	Number uint64
	// Info is what is in the record. The receiver may keep and change it.
	Info sector.Info
	// Progress is how much of the running step is done, from 0 to 1; Call has more.
	Progress float64
	Call     Call
	// Quarantined is why it is left alone; empty: it is not.
	Quarantined string
}

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

// Ended ends the calls of all agents, which end with it.
func (s *Sectors) Ended() { s.end() }

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
	c.bleeds.Lasts(m.info.Bleeds(), true, func() {
		s.trouble(health.SectorTrouble{Number: m.number, Reason: fmt.Sprintf("is not proven in state %s, and the "+
			"contract has it: it loses a part of its deposit with each window until it is terminated "+
			"(hostnode sectors terminate %d)",
			m.info.State, m.number)})
	}, func() { s.troubleOver(health.SectorTrouble{Number: m.number}) })
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
	s.noProver.Lasts(len(s.refused) > 0, true, func() {
		why := "and all others pause; correct sectors.remote, or the prover: " + st.LastErr
		s.trouble(health.SectorTrouble{Number: n, Reason: why, Prover: true})
	}, func() { s.troubleOver(health.SectorTrouble{Prover: true}) })
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

// The orders and questions of operators.

// maxWho limits the name of the operator who gives an order, in bytes.
const maxWho = 200

// onAsked takes orders and questions of operators.
func (s *Sectors) onAsked(a *shell.Turn, msg any) {
	answer := a.Asker()
	if !s.booted {
		s.early = append(s.early, func(a *shell.Turn) { s.ask(a, msg, answer) })
		return
	}
	s.ask(a, msg, answer)
}

func (s *Sectors) ask(a *shell.Turn, msg any, answer shell.Answer) {
	at := events.TimeToMessage(s.Clock.Now())
	switch m := msg.(type) {
	case Create:
		s.create(a, m, answer)
	case AddPiece:
		s.order(m.Number, &messages.SectorAddPiece{At: at, Piece: pieceMessage(m.Piece), By: m.By}, m.By, answer)
	case DropPiece:
		s.order(m.Number, s.dropped(m), m.By, answer)
	case StartPacking:
		s.order(m.Number, &messages.SectorStartPacking{At: at, By: m.By}, m.By, answer)
	case Restart:
		s.order(m.Number, &messages.SectorRestart{At: at, By: m.By}, m.By, answer)
	case ForceState:
		s.order(m.Number, &messages.SectorForceState{
			At: at, State: string(m.State), By: m.By, Reason: clip(m.Reason),
		}, m.By, answer)
	case Terminate:
		s.order(m.Number, &messages.SectorTerminate{At: at, By: m.By, Reason: clip(m.Reason)}, m.By, answer)
	case Remove:
		s.order(m.Number, &messages.SectorRemove{At: at, By: m.By, Reason: clip(m.Reason)}, m.By, answer)
	case List:
		all := make([]Standing, 0, len(s.children))
		for _, n := range slices.Sorted(maps.Keys(s.children)) {
			all = append(all, s.children[n].standing(n))
		}
		answer(all, nil)
	case Show:
		c := s.children[m.Number]
		if c == nil {
			answer(nil, noSector(m.Number))
			return
		}
		answer(c.standing(m.Number), nil)
	case Check:
		s.check(a, m, answer)
	}
}

// dropped is the event that leaves a piece out: when it could not be packed, or else could not be added.
func (s *Sectors) dropped(m DropPiece) sector.Event {
	at := events.TimeToMessage(s.Clock.Now())
	if c := s.children[m.Number]; c != nil && c.info.State == sector.PackingFailed {
		return &messages.SectorRetryPacking{At: at, By: m.By, Dropped: &m.CID}
	}
	return &messages.SectorRetryWaitDeals{At: at, By: &m.By, Dropped: &m.CID}
}

// sealOpen seals the sectors that have waited for pieces long enough.
func (s *Sectors) sealOpen() {
	if s.SealAfter == 0 {
		return
	}
	for _, n := range s.numbersOf(func(c *child) bool {
		st := c.info
		return st.State == sector.WaitDeals && len(st.Pieces) > 0 && !c.sealed && !c.Ref().Nobody() &&
			c.Left == "" && events.Waited(s.Clock.Now(), st.BeganAt, s.SealAfter)
	}) {
		c := s.children[n]
		c.sealed = true
		at := events.TimeToMessage(s.Clock.Now())
		s.order(n, &messages.SectorStartPacking{At: at, By: "host: sectors.sealAfter"}, by, func(_ any, err error) {
			c.sealed = err == nil
		})
	}
}

func noSector(n uint64) error {
	return fmt.Errorf("%w: %d has not begun, or is over; its stream tells", ErrNoSector, n)
}

func (c *child) standing(n uint64) Standing {
	call := c.done.get()
	return Standing{Number: n, Info: c.info, Progress: call.Progress, Call: call, Quarantined: c.Left}
}

// create begins a sector under a number that was never used. The number counts as used when the
// sector's first event is durable.
func (s *Sectors) create(a *shell.Turn, m Create, answer shell.Answer) {
	n, asked := s.requests[m.Request]
	if asked {
		c := s.children[n]
		switch {
		case c != nil && !c.begins && !c.is(m):
			answer(nil, fmt.Errorf("%w: sector %d, request %q", ErrOtherRequest, n, m.Request))
		case c == nil || !c.begins:
			answer(n, nil)
		default:
			s.start(n, m, answer)
		}
		return
	}
	n = s.next
	s.next++
	if m.Request != "" {
		s.requests[m.Request] = n
	}
	c := newChild(n)
	c.begins = true
	s.children[n] = c
	s.family.Run(a, &c.Child)
	s.start(n, m, answer)
}

// start orders the beginning of a sector; once more is harmless, if it has a request.
func (s *Sectors) start(n uint64, m Create, answer shell.Answer) {
	at, request := events.TimeToMessage(s.Clock.Now()), (*string)(nil)
	if m.Request != "" {
		request = &m.Request
	}
	var e sector.Event = &messages.SectorStartEmpty{
		At: at, Sector: n, Provider: s.Me.String(), Size: uint64(m.Size), By: m.By, Request: request,
	}
	if len(m.Pieces) > 0 {
		with := &messages.SectorStart{
			At: at, Sector: n, Provider: s.Me.String(), Size: uint64(m.Size), By: m.By, Request: request,
		}
		for _, p := range m.Pieces {
			with.Pieces = append(with.Pieces, pieceMessage(p))
		}
		e = with
	}
	s.order(n, e, m.By, func(_ any, err error) { answer(n, err) })
}

// is reports whether the sector may have begun with that order: pieces may have come later.
func (c *child) is(m Create) bool {
	missing := func(p events.SectorPiece) bool {
		return !slices.Contains(c.info.Pieces, p) && !slices.Contains(c.info.Pending, p)
	}
	return c.info.Size == m.Size && !slices.ContainsFunc(m.Pieces, missing)
}

// forget lets a sector go that did not begin.
func (s *Sectors) forget(n uint64) {
	delete(s.children, n)
	maps.DeleteFunc(s.requests, func(_ string, of uint64) bool { return of == n })
}

func (s *Sectors) order(n uint64, e sector.Event, who string, answer shell.Answer) {
	c := s.children[n]
	switch {
	case c == nil:
		answer(nil, noSector(n))
	case who == "" || len(who) > maxWho:
		answer(nil, fmt.Errorf("%s: say who wants it, in at most %d bytes", sector.NameOf(e), maxWho))
	case c.Left != "":
		answer(nil, fmt.Errorf("%w: sector %d: %s; try it again first", quarantine.ErrQuarantined, n, c.Left))
	case c.Ref().Nobody():
		answer(nil, fmt.Errorf("%w: sector %d is about to be run again", shell.ErrPartDown, n))
	default:
		s.asked++
		c.orders[s.asked] = answer
		c.Ref().Tell(order{s.asked, e, who})
	}
}

func (s *Sectors) onOrdered(m ordered) {
	c := s.children[m.number]
	if c == nil || c.orders[m.id] == nil {
		return
	}
	answer := c.orders[m.id]
	delete(c.orders, m.id)
	if m.err != nil {
		answer(nil, m.err)
	} else {
		answer(m.state, nil)
	}
	if m.err != nil && c.begins {
		s.family.Stop(&c.Child)
		s.loaded(c)
		s.forget(m.number)
	}
}
