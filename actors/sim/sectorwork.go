package sim

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hostnode/hostnode/actors"
	"github.com/hostnode/hostnode/actors/sectors"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/sector"
)

// This file plays the operator of sectors, and decides what goes wrong with the sealer, the pieces and
// the contract of sectors. It has random numbers of its own.

// Sectors says what a host does with sectors, and what goes wrong with them. The zero value: nothing.
type Sectors struct {
	Begin int // how many sectors are begun in the first part of the run
	// The following are chances in a thousand at each step.
	SealerAway   int // the sealer does not answer for a while
	SealerHangs  int // for a while its calls take up to 80 blocks
	SealerLies   int // for a while a third of its results are wrong
	ProviderDown int // the contract of sectors does not answer for a while
	Damage       int // stored data of a sector changes
	Orders       int // the operator terminates, removes or forces a sector, or ends a pause
	// Each of the following has random numbers of its own.
	Early        int // the operator terminates a sector of which the contract has only the precommit
	ProviderLies int // for a while a third of the answers of the contract of sectors are impossible
	BeyondFinal  int // the chain drops more blocks than the host takes back
	BadPieces    bool
	// Chance: a running host that can prove a sector for more than so many blocks of a window in a
	// row must not miss the window. 0: not checked.
	Chance uint64
}

// The troubles of sectors.
const (
	sealerAway   = "sealer away"
	sealerHangs  = "sealer hangs"
	sealerLies   = "sealer lies"
	providerDown = "provider down"
	sectorDamage = "sector damaged"
	sectorOrder  = "order"
)

const (
	// busySteps is after how many steps nothing goes wrong with sectors any more, so that the run can end.
	busySteps = 3_500
	// longestHang is about how many blocks a call to a hanging sealer takes at most.
	longestHang = 80
	// pieceName is the distance between the names of the pieces of two sectors.
	pieceName = 1000
)

// sectorPolicy has short pauses and few attempts, so that sectors fail, pause and park within a run.
var sectorPolicy = sector.Policy{FirstPause: 2e9, MostPause: 20e9, MaxFailures: 5}

func sectorSettings(p Plant) sectors.Settings {
	set := sectors.Settings{Lifetime: 100_000, Fetch: 2, PreCommit1: 2, PreCommit2: 2, Commit: 2}
	if p.Late {
		set.ProveMargin = 1000
	}
	return set
}

func isSealer(port string) bool { return strings.HasPrefix(port, "sealer.") || port == "pieces.open" }

// sectorTrouble returns what the troubles of sectors do to a call, and whether it stays parked.
func (s *simulator) sectorTrouble(c *call) (v verdict, parked bool) {
	port := c.port()
	switch {
	case isProvider(port) && (s.in(chainDown) || s.in(providerDown)):
		return fail, false
	case isProvider(port) && s.in(providerLies) && s.forger.IntN(3) == 0:
		c.lie = s.forger.Uint64()
		s.faults[Fault{faultLie, port}]++
		return lied, false
	case !isSealer(port) || s.calm():
	case s.in(sealerAway):
		return gone, false
	case s.in(sealerHangs) && c.until == 0:
		c.until = s.height() + 1 + uint64(s.sealers.IntN(longestHang))
		s.trouble(sealerHangs, port, "%s hangs until block %d", c.key, c.until)
		return proceed, true
	case s.in(sealerLies) && port != "pieces.open" && s.sealers.IntN(3) == 0:
		c.lie = s.sealers.Uint64()
		s.faults[Fault{faultLie, port}]++
		return lied, false
	}
	return proceed, false
}

// workSectors decides what happens to sectors in a step.
func (s *simulator) workSectors(ctx context.Context) {
	s.world.seals.files.SetFull(s.in(diskFull))
	h := s.running()
	if h != nil && !s.stopping && s.offered {
		s.operateSectors(ctx, h)
	}
	if s.calm() || s.steps > busySteps {
		return
	}
	s.mayBegin(s.sealers, sealerAway, s.Sectors.SealerAway)
	s.mayBegin(s.sealers, sealerHangs, s.Sectors.SealerHangs)
	s.mayBegin(s.sealers, sealerLies, s.Sectors.SealerLies)
	s.mayBegin(s.sealers, providerDown, s.Sectors.ProviderDown)
	if s.sealers.IntN(1000) < s.Sectors.Damage {
		s.damageSome()
	}
	s.lieOfSectors()
	s.dropFinalBlocks()
}

// damageSome changes stored data of a sector that is active on chain.
func (s *simulator) damageSome() {
	s.world.mu.Lock()
	defer s.world.mu.Unlock()
	there := s.world.tip().state.provider.sectors
	numbers := slices.Sorted(maps.Keys(there))
	if len(numbers) == 0 {
		return
	}
	n, draw := numbers[s.sealers.IntN(len(numbers))], s.sealers.Uint64()
	if there[n].Active && s.world.damageSector(events.SectorRef{Provider: me, Number: n, Size: sectorSize}, draw) {
		s.trouble(sectorDamage, "world", "the data of sector %d is damaged", n)
		s.harmed[n] = true
	}
}

// operateSectors is the operator, who gives one order at a time.
func (s *simulator) operateSectors(ctx context.Context, h *actors.Host) {
	s.world.mu.Lock()
	busy := s.ordering
	s.world.mu.Unlock()
	if busy || s.terminateEarly(ctx, h) {
		return
	}
	numbers := slices.Sorted(maps.Keys(s.audit.sectors))
	switch {
	case len(numbers) < s.Sectors.Begin && (s.sealers.IntN(60) == 0 || s.calm()):
		s.begun++
		create := sectors.Create{Size: sectorSize, By: "operator"}
		if s.begun%3 != 0 { // Every third gets its pieces one by one.
			create.Pieces = s.somePieces(1 + s.sealers.IntN(2))
		}
		s.order(ctx, "begin a sector", func() error {
			_, err := h.BeginSector(ctx, create)
			return err
		})
	case len(numbers) > 0 && s.sealers.IntN(20) == 0:
		if o := s.draw(s.audit.sectors[numbers[s.sealers.IntN(len(numbers))]]); o != nil {
			s.trouble(sectorOrder, strings.TrimPrefix(orderName(o), "sectors."), "%s %v", orderName(o), o)
			s.order(ctx, "order", func() error {
				_, err := h.OrderSector(ctx, o)
				return err
			})
		}
	}
}

func (s *simulator) somePieces(n int) (pieces []events.SectorPiece) {
	for i := range n {
		bad := s.Sectors.BadPieces && s.sealers.IntN(8) == 0
		name := uint64(s.begun)*pieceName + uint64(s.steps)*10 + uint64(i)
		p := s.world.offerPiece(name, sectorSize>>(1+s.sealers.IntN(3)), bad)
		if bad {
			s.bad[p.CID] = true
		}
		pieces = append(pieces, p)
	}
	return pieces
}

// draw returns the operator's next order to a sector; nil: none.
func (s *simulator) draw(st sector.Info) sectors.Order {
	unruly := !s.calm() && s.sealers.IntN(1000) < s.Sectors.Orders
	switch {
	case st.Over():
	case unruly:
		return s.drawUnruly(st)
	case st.Parked() && s.unsealable(st):
		return sectors.Remove{Number: st.Number, By: "operator", Reason: "its pieces are bad"}
	case st.Parked():
		return sectors.Restart{Number: st.Number, By: "operator"}
	case s.calm() && st.State == sector.AddPiece && len(sector.Next(st)) == 0: // It was forced into this state.
		return sectors.Remove{Number: st.Number, By: "operator", Reason: "nothing leads on"}
	case st.State == sector.Empty && len(st.Pieces) > 0: // It was forced into this state.
		return sectors.StartPacking{Number: st.Number, By: "operator"}
	case st.State == sector.Empty, st.State == sector.WaitDeals && len(st.Pieces)+len(st.Pending) == 1:
		return sectors.AddPiece{Number: st.Number, Piece: s.somePieces(1)[0], By: "operator"}
	case st.State == sector.WaitDeals && len(st.Pending) == 0:
		return sectors.StartPacking{Number: st.Number, By: "operator"}
	case s.calm() && st.State == sector.Proving && st.Number%2 == 0: // So that its end is simulated, too.
		return sectors.Terminate{Number: st.Number, By: "operator", Reason: "enough"}
	}
	return nil
}

func (s *simulator) drawUnruly(st sector.Info) sectors.Order {
	switch s.sealers.IntN(8) {
	case 0:
		return sectors.Terminate{Number: st.Number, By: "operator", Reason: "no reason"}
	case 1:
		return sectors.Remove{Number: st.Number, By: "operator", Reason: "no reason"}
	case 2:
		states := sector.States()
		return sectors.ForceState{
			Number: st.Number, State: states[s.sealers.IntN(len(states))], By: "operator", Reason: "no reason",
		}
	}
	return sectors.Restart{Number: st.Number, By: "operator"}
}

// unsealable reports whether a sector cannot be sealed any more: it has a bad piece, or was forced.
func (s *simulator) unsealable(st sector.Info) bool {
	for _, p := range slices.Concat(st.Pieces, st.Pending) {
		if s.bad[p.CID] {
			return true
		}
	}
	return s.calm() && s.audit.forced[st.Number] // Perhaps into a state that leads nowhere.
}

func orderName(o sectors.Order) string {
	switch o.(type) {
	case sectors.AddPiece:
		return "add a piece"
	case sectors.StartPacking:
		return "pack"
	case sectors.Restart:
		return "restart"
	case sectors.ForceState:
		return "force"
	case sectors.Terminate:
		return "terminate"
	case sectors.Remove:
		return "remove"
	}
	return "?"
}

// order gives an order in the background, because its answer waits for the simulator. If an order has
// no effect, the operator sees that in the list of sectors and gives it again.
func (s *simulator) order(ctx context.Context, what string, give func() error) {
	s.world.mu.Lock()
	s.ordering = true
	s.world.mu.Unlock()
	go func() {
		err := give()
		if errors.Is(err, shell.ErrStoreAway) {
			s.bus.yield(ctx, "operator: "+what)
		}
		s.world.mu.Lock()
		defer s.world.mu.Unlock()
		s.ordering = false
	}()
	s.settle() // It is given before anything else happens.
}

// sectorsOver reports whether the sectors need nothing more but to be proven; if not, waits says why.
func (s *simulator) sectorsOver(tip block) bool {
	wait := func(format string, args ...any) bool {
		s.waits = fmt.Sprintf(format, args...)
		s.hurried = s.hurried || s.steps > busySteps
		return false
	}
	if n := len(s.audit.sectors); n < s.Sectors.Begin {
		return wait("%d of %d sectors are begun", n, s.Sectors.Begin)
	}
	if s.Sectors.Begin > 0 && !s.hurried {
		return wait("the sectors have time left")
	}
	for _, n := range slices.Sorted(maps.Keys(s.audit.sectors)) {
		st, on := s.audit.sectors[n], tip.state.provider.sectors[n]
		proves := st.State == sector.Proving && len(sector.Next(st)) == 0 && on != nil && on.Active && !on.Faulty &&
			on.NextPeriod > tip.state.provider.nextOpening(on.Deadline, on.Activation) && n%2 == 1
		if !st.Over() && !proves {
			return wait("sector %d is %s, parked: %q, its step %q until %s, on chain %+v", n, st.State, st.Reason, st.Step.Key, st.Until, on)
		}
	}
	return true
}
