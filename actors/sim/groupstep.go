package sim

import (
	"context"
	"time"
)

// This file decides what happens to a host of several members.

// The troubles of members.
const (
	memberKilled  = "member killed"
	memberStopped = "member stopped"
	allKilled     = "all members killed"
	memberCut     = "member cut off"
	leaseExpired  = "lease expired"
	linkCut       = "link cut"
	memberBehind  = "member behind the record"
	questionAgain = "question heard twice"
)

// parked is a call of a member that may be released.
type parked struct {
	member *process
	call   *call
}

func (p parked) String() string { return string(p.member.name) + ": " + p.call.key }

// ready returns the calls that may be released, in a fixed order; all: the others, too.
func (g *group) ready(all bool) (list []parked) {
	height := g.height()
	for _, m := range g.members {
		for _, c := range m.bus.ready(height) {
			if all || m.behind == 0 || c.key != readsOn {
				list = append(list, parked{m, c})
			}
		}
	}
	return list
}

// step lets one thing happen.
func (g *group) step(ctx context.Context) {
	if !g.calm() && g.disturbMembers(ctx) {
		g.settle()
	}
	g.recover(ctx)
	if !g.calm() && g.disturbForAWhile() {
		return
	}
	g.follow()
	if g.Aggregation.Cars > 0 {
		m := g.one()
		g.workAggregation(ctx, m.world, m.running())
		g.settle()
	}
	ready := g.ready(false)
	switch {
	case len(g.posted) < g.Requests && g.chance(20):
		g.post()
	case len(ready) == 0 || g.chance(g.Block*crowd/max(crowd, len(ready))):
		g.note("block")
		g.world.mine()
		time.Sleep(time.Second)
	case g.chance(50):
		time.Sleep(time.Second)
	default:
		g.answer(ready)
	}
}

// follow applies the troubles of the world to all members.
func (g *group) follow() {
	g.simulator.follow()
	g.world.mu.Lock()
	defer g.world.mu.Unlock()
	for _, m := range g.members[1:] {
		m.world.storeAway, m.world.noRoom, m.world.behind = g.world.storeAway, g.world.noRoom, g.world.behind
	}
}

func (g *group) answer(ready []parked) {
	p := ready[g.rng.IntN(len(ready))]
	port := p.call.port()
	v := g.troubled(port)
	if v == proceed && g.Aggregation.Cars > 0 {
		v = g.aggregationTrouble(p.call)
	}
	if v == proceed && !g.calm() {
		if v = g.fault(p.call); v != proceed && p.call.until > g.height() {
			return // The call stays parked.
		}
	}
	g.note("%v %s", p, v)
	switch v {
	case dieBefore:
		g.fall(p.member)
	case dieAfter:
		p.member.bus.release(p.call, v)
		g.settle()
		g.fall(p.member)
	case proceed, fail, lostAnswer, twice, full, away, lied, gone:
		p.member.bus.release(p.call, v)
	}
}

// fall kills a member and leaves it down for a while.
func (g *group) fall(m *process) {
	g.kill(m)
	m.down = g.steps + 1 + g.fates.IntN(1500)
}

// stop stops a member in good order, and leaves it stopped for a while. What it has not recorded by then is lost.
func (g *group) stop(ctx context.Context, m *process) {
	m.down = g.steps + 50 + g.fates.IntN(1500)
	g.trouble(memberStopped, "world", "%s is stopped until step %d", m.name, m.down)
	h := m.running()
	m.setHost(nil)
	m.stopped = h
	go func() { _ = h.Stop(ctx) }()
}

func (g *group) draw(perMille int) bool { return perMille > 0 && g.fates.IntN(1000) < perMille }

func (g *group) one() *process { return g.members[g.fates.IntN(len(g.members))] }

// disturbMembers may let something go wrong with members.
func (g *group) disturbMembers(ctx context.Context) bool {
	sc, m := g.Members, g.one()
	switch {
	case g.draw(sc.Kill):
		if m.down == 0 {
			g.fall(m)
			g.trouble(memberKilled, "world", "%s is killed until step %d", m.name, m.down)
		}
	case g.draw(sc.Stop):
		if m.down == 0 && m.running() != nil {
			g.stop(ctx, m)
		}
	case g.draw(sc.KillAll):
		g.trouble(allKilled, "world", "all are killed")
		for _, m := range g.members {
			if m.down == 0 {
				g.fall(m)
			}
		}
	case g.draw(sc.Cut):
		if m.down == 0 && m.apart == 0 {
			m.apart = g.steps + 50 + g.fates.IntN(1500)
			g.trouble(memberCut, "world", "%s is cut off until step %d", m.name, m.apart)
			g.joined.Cut(m.name)
		}
	case g.draw(sc.Expire):
		late := time.Duration(g.fates.IntN(3)*10) * time.Second
		if holder := g.joined.Holder(); holder != "" && g.fates.IntN(3) > 0 {
			m = g.named(holder)
		}
		g.trouble(leaseExpired, "world", "the lease of %s expires, which it notices after %s", m.name, late)
		g.joined.Late(late)
		g.joined.Expire(m.name)
		m.well = g.height()
	case g.draw(sc.Part):
		if other := g.one(); other != m {
			link := [2]*process{m, other}
			g.cut[link] = g.steps + 50 + g.fates.IntN(1000)
			g.trouble(linkCut, "world", "what %s sends to %s is lost until step %d", m.name, other.name, g.cut[link])
			g.joined.CutLink(m.name, other.name)
		}
	case g.draw(sc.Behind):
		if m.down == 0 && m.behind == 0 {
			m.setBehind(g.steps + 20 + g.fates.IntN(500))
			g.trouble(memberBehind, "world", "%s reads no news from the record until step %d", m.name, m.behind)
		}
	case g.draw(g.Reorganize):
		g.reorganize()
	case g.draw(g.Rival):
		g.note("rival")
		g.world.rival(g.fates.IntN(16), true)
	default:
		return false
	}
	return true
}

// recover ends what is over, and everything when all is calm.
func (g *group) recover(ctx context.Context) {
	over := func(step int) bool { return step != 0 && (step <= g.steps || g.calm()) }
	for _, m := range g.members {
		if m.down != 0 || m.apart != 0 || m.behind != 0 {
			m.well = g.height()
		}
		if over(m.down) {
			if m.stopped != nil {
				g.kill(m)
			}
			g.note("start %s", m.name)
			g.start(ctx, m)
		}
		if over(m.apart) {
			g.note("%s is joined again", m.name)
			m.apart = 0
			g.joined.Heal(m.name)
		}
		if over(m.behind) {
			m.setBehind(0)
		}
		for _, other := range g.members {
			if link := [2]*process{m, other}; g.cut[link] != 0 {
				known := g.height() + uint64(callPatience/time.Second) // Until then a caller may wait for an answer.
				m.linked, other.linked = known, known
				if over(g.cut[link]) {
					delete(g.cut, link)
					g.joined.HealLink(m.name, other.name)
				}
			}
		}
	}
	g.settle()
}
