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
	groups, counts, loose := map[string]Group{}, [Refused + 1]int{}, 0
	for priority := range s.count {
		p, _ := s.Piece(priority + 1)
		if held := p.Status == Aggregated || p.Status == Approved; held != (in[priority+1] == 1) {
			return fmt.Errorf("%w: piece %d is %s, and in %d aggregates", ErrInvariant, priority+1, p.Status,
				in[priority+1])
		}
		g := groups[s.Group(p)]
		*g.of(p.Status) += p.Size()
		groups[s.Group(p)] = g
		counts[p.Status]++
		if p.loose() {
			loose++
		}
	}
	for name, g := range s.Groups {
		if g != groups[name] {
			return fmt.Errorf("%w: group %q counts %+v, its pieces have %+v", ErrInvariant, name, g, groups[name])
		}
	}
	if loose != s.Loose || counts != s.Counts {
		return fmt.Errorf("%w: %v pieces, of them %d on no ferry; counted %v and %d", ErrInvariant, counts, loose,
			s.Counts, s.Loose)
	}
	return nil
}
