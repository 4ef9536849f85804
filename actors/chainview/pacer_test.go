package chainview

import (
	"testing"
	"time"

	"github.com/hostnode/hostnode/actors/chainview/chainviewtest"
	"github.com/hostnode/hostnode/events"
)

// pacedEach is the configured block time in these tests.
const pacedEach = 12 * time.Second

// paced is a block of a chain with a block each pacedEach; a branch is a reorganisation.
func paced(n uint64, branch byte) events.Head {
	parent := branch
	if n == pacedFork+1 {
		parent = 0
	}
	return events.Head{
		Number: n, Hash: chainviewtest.BlockHash(n, branch), Parent: chainviewtest.BlockHash(n-1, parent), Time: events.Unix(12 * n),
	}
}

// pacedFork is the last block that all branches have in common.
const pacedFork = 20

func unknownHash(uint64) (events.Hash, bool) { return events.Hash{}, false }

// A block may be looked at again because hashes had to be read. If that reset the pace, proofs
// would be opened that nobody demands and that are too late to send.
func TestABlockThatIsLookedAtAgainLeavesThePaceAsItIs(t *testing.T) {
	var p Pacer
	for n := range uint64(5) {
		p.See(paced(n, 0), unknownHash)
		p.See(paced(n, 0), unknownHash)
	}
	if got := p.Shortest(pacedEach); got != pacedEach || len(p.heads) != 5 {
		t.Errorf("%d blocks are %s apart, want %s", len(p.heads), got, pacedEach)
	}
}

// A node may report any numbers and times.
func TestBlocksThatMakeNoSenseLeaveAPace(t *testing.T) {
	for name, next := range map[string]func(events.Head) events.Head{
		"the same number":          func(h events.Head) events.Head { h.Number--; return h },
		"the same number and time": func(h events.Head) events.Head { h.Number, h.Time = h.Number-1, paced(3, 0).Time; return h },
		"an earlier time":          func(h events.Head) events.Head { h.Time = events.Unix(1); return h },
		"no time":                  func(h events.Head) events.Head { h.Time = time.Time{}; return h },
		"a number below all":       func(h events.Head) events.Head { h.Number = 0; return h },
	} {
		t.Run(name, func(t *testing.T) {
			var p Pacer
			for n := range uint64(4) {
				p.See(paced(n, 0), unknownHash)
			}
			p.See(next(paced(4, 0)), unknownHash)
			if got := p.Shortest(pacedEach); got < time.Millisecond || got > pacedEach {
				t.Fatalf("blocks are %s apart", got)
			}
		})
	}
}

func TestAReorganisationLeavesThePaceOfTheBlocksThatAreStillThere(t *testing.T) {
	for name, next := range map[string]uint64{"below": pacedFork + 1, "above": pacedFork + 8} {
		t.Run(name, func(t *testing.T) {
			var p Pacer
			for n := uint64(10); n <= pacedFork; n++ {
				p.See(paced(n, 0), unknownHash)
			}
			for n := uint64(pacedFork + 1); n <= pacedFork+5; n++ { // Quick ones, of a branch that goes.
				h := paced(n, 1)
				h.Time = paced(pacedFork, 0).Time.Add(time.Duration(n-pacedFork) * time.Second)
				p.See(h, unknownHash)
			}
			if got := p.Shortest(pacedEach); got != time.Second {
				t.Fatalf("blocks are %s apart, want a second", got)
			}
			p.See(paced(next, 2), func(n uint64) (events.Hash, bool) {
				if n <= pacedFork {
					return chainviewtest.BlockHash(n, 0), true
				}
				return chainviewtest.BlockHash(n, 2), true
			})
			if got := p.Shortest(pacedEach); got != pacedEach || len(p.heads) != pacedFork-10+2 {
				t.Errorf("%d blocks are %s apart, want %s", len(p.heads), got, pacedEach)
			}
		})
	}
}
