package cargo

import (
	"errors"
	"testing"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/messages"
)

// A ledger that is not in order is found, whatever is wrong with it.
func TestCheckFindsWhatIsWrong(t *testing.T) {
	begin := func() State {
		s := Empty()
		for n := range byte(4) {
			s.add(Piece{Root: [32]byte{n + 1}, log: 10}, "a")
		}
		s.board(&Ferry{ID: "list", Class: 1 << 20, Pieces: []uint64{1, 2}, Full: true})
		return s
	}
	if err := begin().Check(); err != nil {
		t.Fatal(err)
	}
	for what, spoil := range map[string]func(State){
		"in two aggregates":    func(s State) { s.ferries[9] = &Ferry{Number: 9, Pieces: []uint64{1}, Full: true, State: Made} },
		"an unknown piece":     func(s State) { s.ferries[9] = &Ferry{Number: 9, Pieces: []uint64{70}, Full: true, State: Made} },
		"in none":              func(s State) { s.change(3, func(p *Piece) { p.Status = Approved }) },
		"queued and in one":    func(s State) { s.change(1, func(p *Piece) { p.Status = Queued }) },
		"another group's sum":  func(s State) { s.Groups["a"] = Group{Queued: 7} },
		"another count":        func(s State) { s.Counts[Refused]++ },
		"another loose number": func(s State) { s.Loose-- },
		"other loose bytes":    func(s State) { s.LooseBytes-- },
	} {
		s := begin()
		if spoil(s); !errors.Is(s.Check(), ErrInvariant) {
			t.Errorf("%s: %v", what, s.Check())
		}
	}
	rejected := begin()
	rejected = Evolve(rejected, &messages.AggregateMade{At: events.TimeToMessage(events.Unix(1)), Ferry: "list", Aggregate: "x"})
	rejected = Evolve(rejected, &messages.AggregateRejected{At: events.TimeToMessage(events.Unix(2)), Aggregate: "x"})
	if err := rejected.Check(); err != nil || rejected.Counts[Queued] != 4 {
		t.Errorf("rejected: %v, %v", rejected.Counts, err)
	}
}
