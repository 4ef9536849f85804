package cargo

import (
	"errors"
	"fmt"
)

// ErrInvariant: the ledger is not in order.
var ErrInvariant = errors.New("the ledger of pieces is not in order")

// Check demands that each piece is in exactly one place, and that what is counted adds up. It takes as long as there
// are pieces. ErrInvariant.
func (s State) Check() error {
	in := make([]uint8, s.count+1)
	for _, f := range s.Ferries() {
		if !f.Full || f.State == Rejected {
			continue
		}
		for _, priority := range f.Pieces {
			if priority > s.count || in[priority] > 0 {
				return fmt.Errorf("%w: piece %d of %s is unknown, or in another aggregate", ErrInvariant, priority,
					f.ID)
			}
			in[priority]++
		}
	}
	again := Empty()
	again.names = s.names
	for priority := range s.count {
		p, _ := s.Piece(priority + 1)
		if held := p.Status == Aggregated || p.Status == Approved; held != (in[priority+1] == 1) {
			return fmt.Errorf("%w: piece %d is %s, and in %d aggregates", ErrInvariant, priority+1, p.Status,
				in[priority+1])
		}
		again.tally(p, 1)
	}
	for name, g := range s.Groups {
		if g != again.Groups[name] {
			return fmt.Errorf("%w: group %q counts %+v, its pieces have %+v", ErrInvariant, name, g, again.Groups[name])
		}
	}
	if again.Loose != s.Loose || again.LooseBytes != s.LooseBytes || again.Counts != s.Counts {
		return fmt.Errorf("%w: %v pieces, of them %d on no ferry; counted %v and %d", ErrInvariant, again.Counts,
			again.Loose, s.Counts, s.Loose)
	}
	return nil
}
