package sim

import (
	"context"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/duty"
)

// This file decides what goes wrong, with a single call or with the world for a while. Every
// fault is counted, so that a test can check that each kind occurred at each method of each
// port.

// The kinds of faults of a call.
const (
	faultError       = "error"
	faultLost        = "answer lost"
	faultDelay       = "delay"
	faultDuplicate   = "duplicate"
	faultReorder     = "reorder"
	faultCrashBefore = "crash before"
	faultCrashAfter  = "crash after"
	faultLie         = "lie"
)

// The troubles of the world, each for a while.
const (
	chainDown  = "chain down"
	nodeLags   = "node lags"
	diskFull   = "disk full"
	slowProofs = "slow proofs"
	storeDown  = "store fails"
	storeAway  = "store away"
	bitRot     = "bit rot"
	dataLost   = "data lost"
	lies       = "market lies"
)

// maxDelay is about how many blocks a call is delayed at most: half a period. Adapters give up
// calls that take longer.
const maxDelay = 10

// isChain and isWrite select the calls that fail when the chain is down or the disk is full.
func isChain(port string) bool { return strings.HasPrefix(port, "market.") || port == "feed" }

func isWrite(port string) bool {
	return slices.Contains([]string{"store.append", "content.piece", "content.repair", "repo.extend", "copies.keep"}, port)
}

func isStore(port string) bool { return strings.HasPrefix(port, "store.") }

// calm says that nothing goes wrong any more: the rest must come to an end by itself.
func (s *simulator) calm() bool { return s.hurried || s.steps > s.MaxSteps*2/3 }

// answer releases one of the parked calls.
func (s *simulator) answer(ctx context.Context, ready []*call) {
	c := ready[s.rng.IntN(len(ready))]
	port := c.port()
	v := s.troubled(port)
	if s.Sectors.Begin > 0 && v == proceed {
		var parked bool
		if v, parked = s.sectorTrouble(c); parked {
			return
		}
	}
	if v == proceed && s.Aggregation.Cars > 0 {
		v = s.aggregationTrouble(c)
	}
	if s.in(channelsAway) && port == "alert.deliver" {
		v = fail
	}
	if v == proceed && !s.calm() {
		if v = s.fault(c); v != proceed && c.until > s.height() {
			return // The call stays parked.
		}
	}
	if v == proceed && s.in(lies) && isChain(port) && s.liar.IntN(3) == 0 {
		v, c.lie = lied, s.liar.Uint64()
		s.faults[Fault{faultLie, port}]++
	}
	if oldest(ready) != c {
		s.faults[Fault{faultReorder, port}]++
	}
	s.note("%s %s", c.key, v)
	switch v {
	case dieBefore:
		s.crashes++
		s.crash()
		s.reorganizeAtRestart()
		s.start(ctx)
	case dieAfter:
		s.bus.release(c, v)
		s.settle()
		s.crashes++
		s.crash()
		s.reorganizeAtRestart()
		s.start(ctx)
	case proceed, fail, lostAnswer, twice, full, away, lied, gone:
		s.bus.release(c, v)
		if v == proceed && s.Sectors.Begin > 0 {
			s.settle()
			s.told = c.done
		}
	}
}

// height is the number of the newest block.
func (s *simulator) height() uint64 {
	s.world.mu.Lock()
	defer s.world.mu.Unlock()
	return s.world.tip().head.Number
}

// troubled is the verdict that the troubles of the world give a call.
func (s *simulator) troubled(port string) verdict {
	switch {
	case s.in(storeDown) && port == "store.append":
		return fail
	case s.in(storeAway) && isStore(port):
		return []verdict{away, lostAnswer}[s.rng.IntN(2)]
	case s.in(chainDown) && isChain(port):
		return fail
	case s.in(diskFull) && isWrite(port):
		return full
	}
	return proceed
}

// fault decides what goes wrong with a call. A delayed call is not released.
func (s *simulator) fault(c *call) verdict {
	port := c.port()
	slow := s.in(slowProofs) && strings.HasPrefix(port, "prover.")
	switch {
	case c.until == 0 && (slow || s.chance(s.Delay)):
		c.until = s.height() + 1 + uint64(s.rng.IntN(maxDelay))
		s.trouble(faultDelay, port, "%s waits until block %d", c.key, c.until)
		return fail
	case s.chance(s.Fail):
		s.faults[Fault{faultError, port}]++
		return fail
	case s.chance(s.Lose):
		s.faults[Fault{faultLost, port}]++
		return lostAnswer
	case s.chance(s.Twice):
		s.faults[Fault{faultDuplicate, port}]++
		return twice
	case !s.stopping && s.away == 0 && s.chance(s.Die):
		if s.chance(500) {
			s.faults[Fault{faultCrashBefore, port}]++
			return dieBefore
		}
		s.faults[Fault{faultCrashAfter, port}]++
		return dieAfter
	}
	return proceed
}

// in reports whether a trouble of the world lasts.
func (s *simulator) in(trouble string) bool { return s.until[trouble] > s.steps }

// begin starts or prolongs a trouble of the world for some steps.
func (s *simulator) begin(trouble string, least, most int) {
	s.until[trouble] = s.steps + least + s.rng.IntN(most-least)
	s.trouble(trouble, "world", "%s until step %d", trouble, s.until[trouble])
}

// mayBegin is begin with random numbers of its own, by a chance in a thousand.
func (s *simulator) mayBegin(rng *rand.Rand, trouble string, perMille int) {
	if rng.IntN(1000) < perMille && !s.in(trouble) {
		s.until[trouble] = s.steps + 50 + rng.IntN(550)
		s.trouble(trouble, "world", "%s until step %d", trouble, s.until[trouble])
	}
}

// lieSome may make the market lie for a while, drawn with random numbers of its own.
func (s *simulator) lieSome() {
	if !s.in(lies) && s.liar.IntN(1000) < s.Lies {
		s.until[lies] = s.steps + 50 + s.liar.IntN(550)
		s.trouble(lies, "world", "the market lies until step %d", s.until[lies])
	}
}

// follow applies the troubles to the world.
func (s *simulator) follow() {
	s.world.mu.Lock()
	defer s.world.mu.Unlock()
	if away := s.in(storeAway) && !s.calm(); away != s.world.storeAway {
		s.note("the store is away: %t", away)
		s.world.storeAway = away
	}
	if s.calm() {
		s.until = map[string]int{}
	}
	s.world.noRoom = s.in(diskFull)
	if !s.in(nodeLags) && s.world.behind > 0 {
		s.note("the node has caught up")
		s.world.behind = 0
	}
}

// loopCrashes is how many times in a row a host in a crash loop crashes.
const loopCrashes = 6

// crashAgain makes the next crash of a loop, even of a host that is still starting: between two
// calls, or after a call whose answer nobody receives.
func (s *simulator) crashAgain(ctx context.Context) {
	s.loop.left--
	s.loop.next = s.height() + 2 + uint64(s.rng.IntN(8))
	s.trouble("crash loop", "world", "crash, %d more times", s.loop.left)
	if ready := s.bus.ready(s.height()); len(ready) > 0 && s.chance(500) {
		c := ready[s.rng.IntN(len(ready))]
		s.note("%s %s", c.key, dieAfter)
		s.bus.release(c, dieAfter)
		s.settle()
	}
	s.crashes++
	s.crash()
	s.reorganizeAtRestart()
	s.start(ctx)
}

// disturb may let something go wrong with the world.
func (s *simulator) disturb(ctx context.Context) bool {
	up := s.running() != nil && !s.stopping
	switch {
	case s.loop.left > 0 && s.away == 0 && !s.stopping && s.height() >= s.loop.next:
		s.crashAgain(ctx)
	case up && s.CrashLoop > 0 && s.chance(s.CrashLoop):
		s.loop.left = loopCrashes
		s.crashAgain(ctx)
	case up && s.chance(s.Crash):
		s.trouble("crash", "world", "crash")
		s.crashes++
		s.crash()
		s.reorganizeAtRestart()
		s.start(ctx)
	case up && s.chance(s.Stop):
		s.stop(ctx)
	case up && !s.forgot && s.chance(s.Forget) && s.hosts():
		s.forget(ctx)
	case up && s.Older > 0 && s.older == nil && s.nodes.IntN(1000) < s.Older && s.hosts():
		s.goBack(ctx)
	case up && s.offered && s.chance(s.Pause):
		s.pause(ctx)
	case s.chance(s.Reorganize):
		s.reorganize()
	case s.chance(s.Rival):
		s.note("rival")
		s.world.rival(s.rng.IntN(16), true)
	case s.chance(s.Competitor):
		s.note("competitor")
		s.world.rival(s.rng.IntN(64), false)
	case s.chance(s.Withdraw):
		s.withdraw()
	case s.chance(s.Repeat):
		s.trouble("repeated update", "feed", "repeat")
		s.world.mu.Lock()
		s.world.again = true
		s.world.mu.Unlock()
	case s.chance(s.Clock):
		s.jump()
	default:
		return s.disturbForAWhile()
	}
	return true
}

func (s *simulator) disturbForAWhile() bool {
	for _, t := range []struct {
		name        string
		chance      int
		least, most int
	}{
		{storeDown, s.StoreDown, 50, 250},
		{storeAway, s.StoreAway, 50, 1050},
		{chainDown, s.ChainDown, 50, 600},
		{diskFull, s.DiskFull, 50, 600},
		{slowProofs, s.SlowProofs, 200, 1000},
		{nodeLags, s.Lag, 100, 800},
	} {
		if s.in(t.name) || !s.chance(t.chance) {
			continue
		}
		s.begin(t.name, t.least, t.most)
		if t.name == nodeLags {
			s.world.mu.Lock()
			s.world.behind = uint64(1 + s.rng.IntN(8))
			s.world.mu.Unlock()
		}
		return true
	}
	return false
}

// reorganize drops blocks: any number up to the scenario's depth, or just enough to drop the
// newest block with a transaction.
func (s *simulator) reorganize() {
	n := 1 + s.rng.IntN(s.Depth)
	if s.chance(300) {
		if over := s.world.depthOf(s.Depth); over > 0 {
			n = over
		}
	}
	again := s.chance(500)
	s.trouble("reorganisation", "world", "reorganize %d, again: %t", n, again)
	s.world.reorganize(n, again)
	s.unsettle(uint64(n))
}

// unsettle forgets the duties that may have been marked or proven in blocks that are gone; what
// was closed before the fork stays. n blocks were dropped, and n+1 grew.
func (s *simulator) unsettle(n uint64) {
	s.world.mu.Lock()
	defer s.world.mu.Unlock()
	tip := s.world.tip()
	parted := tip.head.Number - n - 1
	for number := range s.world.hashes {
		if number > parted {
			delete(s.world.hashes, number)
		}
	}
	proofs := tip.state.cfg.Proofs
	since := s.world.blocks[parted].head.Time
	s.unsettled = max(s.unsettled, duty.Period(proofs, tip.head.Time))
	maps.DeleteFunc(s.owed, func(p period, _ bool) bool {
		return duty.End(proofs, p.number).Add(proofs.Timeout).After(since)
	})
}

// reorganizeAtRestart sometimes reorganises the chain while the host is down.
func (s *simulator) reorganizeAtRestart() {
	if s.Reorganize > 0 && s.chance(300) {
		s.reorganize()
	}
}

// jump sets the machine's clock to another time.
func (s *simulator) jump() {
	s.world.mu.Lock()
	defer s.world.mu.Unlock()
	s.world.skew = time.Duration(s.rng.IntN(48*3600)-24*3600) * time.Second
	s.trouble("clock jumps", "world", "the clock is off by %s", s.world.skew)
}

// rot damages stored data: a block changes, or the file of all blocks or the whole slot is
// gone.
func (s *simulator) rot() {
	s.world.mu.Lock()
	defer s.world.mu.Unlock()
	slots := slices.DeleteFunc(sortedSlots(s.world.repo), func(id events.SlotID) bool {
		return s.world.repo[id].bytes < s.world.repo[id].size
	})
	if len(slots) == 0 {
		return
	}
	id := slots[s.decay.IntN(len(slots))]
	switch slot := s.world.repo[id]; s.decay.IntN(6) {
	case 0:
		s.trouble(dataLost, "world", "slot %s is gone", id.Short())
		delete(s.world.repo, id)
	case 1:
		s.trouble(dataLost, "world", "the blocks of slot %s are gone", id.Short())
		slot.lost = true
	default:
		block := uint64(s.decay.IntN(int(slot.size / events.BlockSize)))
		s.trouble(bitRot, "world", "block %d of slot %s rots", block, id.Short())
		if slot.rotten == nil {
			slot.rotten = map[uint64]bool{}
		}
		slot.rotten[block] = true
	}
}

// withdraw makes the client of some request collect what is left of it; the contract refuses
// while the request runs.
func (s *simulator) withdraw() {
	if len(s.posted) == 0 {
		return
	}
	r := s.posted[s.rng.IntN(len(s.posted))]
	if err := s.world.withdraw(r); err == nil {
		s.note("withdraw %s", r.ID.Short())
	}
}
