package actors

import (
	"testing"
	"time"

	"github.com/hostnode/hostnode/events"
)

// Behind a block that is looked at again, because its hashes had to be read, the pace
// would be unknown, and proofs would be owed, too late to be sent, that nobody demands.
func TestABlockThatIsLookedAtAgainLeavesThePaceAsItIs(t *testing.T) {
	const usual = 12 * time.Second
	var p pacer
	for n := range uint64(5) {
		head := events.Head{Number: n, Hash: events.Hash{byte(n)}, Time: events.Unix(12 * n)}
		p.see(head)
		p.see(head)
	}
	if got := p.shortest(usual); got != usual {
		t.Errorf("blocks are %s apart, want %s", got, usual)
	}
	p.see(events.Head{Number: 4, Hash: events.Hash{0xff}, Time: events.Unix(48)})
	if got := p.shortest(usual); got != time.Second {
		t.Errorf("behind a reorganisation blocks are %s apart, want %s, because that is not known", got, time.Second)
	}
}
