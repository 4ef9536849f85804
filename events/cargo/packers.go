package cargo

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/messages"
	"github.com/hostnode/hostnode/prover/commd"
	"github.com/hostnode/hostnode/prover/segment"
)

// Packing says how pieces are packed.
type Packing struct {
	// Packer is ferry or greedy.
	Packer string
	// Size is that of an aggregate, Smallest the smallest class of ferries and of isolated aggregates; powers of two.
	Size, Smallest uint64
	// MinFill is how many bytes of pieces an aggregate has at least, unless it is isolated.
	MinFill uint64
	// Batch is how many loose pieces make a batch, Window after how long fewer do, and Merge how many ferries of a
	// class are merged at once; after Window, two are.
	Batch, Merge int
	Window       time.Duration
	// Notice is since when, as the oldest piece waits, all that fits is packed if it passes MinFill.
	Notice time.Duration
}

// Documented is how the document packs.
func Documented() Packing {
	return Packing{
		Packer: "ferry", Size: 32 << 30, Smallest: 1 << 30, MinFill: 16 << 30, Batch: 10_000, Merge: 10,
		Window: 5 * time.Minute, Notice: 48 * time.Hour,
	}
}

func (p Packing) message() *messages.PackingSet {
	return &messages.PackingSet{
		Packer: p.Packer, Size: p.Size, Smallest: p.Smallest, MinFill: p.MinFill,
		Batch: uint64(p.Batch), Merge: uint64(p.Merge), //nolint:gosec // They are checked.
		WindowMilliseconds: uint64(p.Window / time.Millisecond), //nolint:gosec // Likewise.
		NoticeMilliseconds: uint64(p.Notice / time.Millisecond), //nolint:gosec // Likewise.
	}
}

func packingOf(m *messages.PackingSet) Packing {
	milliseconds := func(n uint64) time.Duration {
		return time.Duration(min(n, maxMilliseconds)) * time.Millisecond //nolint:gosec // It fits.
	}
	return Packing{
		Packer: m.GetPacker(), Size: m.GetSize(), Smallest: m.GetSmallest(), MinFill: m.GetMinFill(),
		Batch:  int(min(m.GetBatch(), math.MaxInt32)), //nolint:gosec // It fits.
		Merge:  int(min(m.GetMerge(), math.MaxInt32)), //nolint:gosec // Likewise.
		Window: milliseconds(m.GetWindowMilliseconds()), Notice: milliseconds(m.GetNoticeMilliseconds()),
	}
}

const maxMilliseconds = uint64(math.MaxInt64 / time.Millisecond)

// ErrPacking: pieces cannot be packed like this.
var ErrPacking = errors.New("pieces cannot be packed like this")

// Check returns ErrPacking when no aggregate could be made.
func (p Packing) Check() error {
	_, known := packers[p.Packer]
	ferries := p.Packer == "ferry"
	switch {
	case !known:
		return fmt.Errorf("%w: packer %q; there are ferry and greedy", ErrPacking, p.Packer)
	case segment.CheckSize(p.Size) != nil || segment.CheckSize(p.Smallest) != nil || p.Smallest > p.Size:
		return fmt.Errorf("%w: a size of %d with classes from %d; want powers of two from %d to %d, and the size not "+
			"the smaller one", ErrPacking, p.Size, p.Smallest, segment.MinSize, uint64(commd.MaxSectorSize))
	case p.MinFill == 0 || p.MinFill > segment.Room(p.Size):
		return fmt.Errorf("%w: at least %d bytes in %d; want 1 to %d", ErrPacking, p.MinFill, p.Size,
			segment.Room(p.Size))
	case ferries && p.MinFill > p.Size/2:
		return fmt.Errorf("%w: at least %d bytes in %d; ferries that are merged may have no more than half", ErrPacking,
			p.MinFill, p.Size)
	case p.Batch < 1 || p.Merge < 2 || p.Window <= 0 || p.Notice <= 0:
		return fmt.Errorf("%w: want a batch, two ferries to merge, a window and a notice", ErrPacking)
	}
	return nil
}

// Fits reports whether so many pieces of so many bytes fit into a class. The largest first, they do if their sum does.
func Fits(class, sum uint64, pieces int) bool {
	return segment.CheckSize(class) == nil && sum <= segment.Room(class) &&
		uint64(pieces) <= segment.Entries(class) //nolint:gosec // Not negative.
}

// classOf is the smallest class, up to the largest one, into which pieces fit; 0: none.
func classOf(sum uint64, pieces int, largest uint64) uint64 {
	for class := uint64(segment.MinSize); class <= min(largest, commd.MaxSectorSize); class *= 2 {
		if Fits(class, sum, pieces) {
			return class
		}
	}
	return 0
}

// packer chooses what travels together next; none: nothing does now.
type packer func(s State, p Packing, now time.Time) []Command

var packers = map[string]packer{"ferry": ferry, "greedy": greedy}

// Plan is what is to be done next with the queued pieces: commands that belong together, or none. With what follows
// from them it is asked again.
func (p Packing) Plan(s State, now time.Time) []Command {
	if len(s.suspects) > 0 {
		one := s.Place(s.suspects[0])
		class := max(p.Smallest, classOf(s.bytes(one), len(one), commd.MaxSectorSize)) // Size may have been larger.
		return s.carry(one, class, now, true, true)
	}
	if oldest, waits := s.Oldest(); waits && events.Waited(now, oldest, p.Notice) {
		all := slices.DeleteFunc(s.Waiting(math.MaxInt), func(n uint64) bool {
			one, _ := s.Piece(n)
			return one.suspect
		})
		if c := p.whole(s, all, now); c != nil { // Whatever fits with the oldest, also what is on ferries.
			return c
		}
	}
	return packers[p.Packer](s, p, now)
}

// whole makes an aggregate of what fits of some pieces, if that is enough: by its bytes, or because its index is full.
func (p Packing) whole(s State, candidates []uint64, now time.Time) []Command {
	chosen := s.fill(candidates, p.Size)
	if s.bytes(chosen) < p.MinFill && uint64(len(chosen)) < segment.Entries(p.Size) {
		return nil
	}
	return s.carry(chosen, p.Size, now, true, false)
}

// fill chooses pieces for a class: the first, so that nothing waits for ever, and then the largest, of one size in the
// order given.
func (s State) fill(pieces []uint64, class uint64) (chosen []uint64) {
	room, entries := segment.Room(class), int(segment.Entries(class)) //nolint:gosec // At most 2^19.
	sorted := slices.Clone(pieces)
	if len(sorted) > 0 {
		slices.SortStableFunc(sorted[1:], func(a, b uint64) int { return cmp.Compare(s.size(b), s.size(a)) })
	}
	for _, priority := range sorted {
		if size := s.size(priority); size <= room && len(chosen) < entries {
			chosen, room = append(chosen, priority), room-size
		}
	}
	return chosen
}

func (s State) size(priority uint64) uint64 {
	p, _ := s.Piece(priority)
	return p.Size()
}

func (s State) bytes(pieces []uint64) (sum uint64) {
	for _, priority := range pieces {
		sum += s.size(priority)
	}
	return sum
}

// carry loads pieces, in as many parts as they need. A list that was rejected before gets another order, and, if there
// is none, loses a piece.
func (s State) carry(pieces []uint64, class uint64, now time.Time, full, isolated bool) (all []Command) {
	list, id := s.unused(pieces)
	switch {
	case list == nil && len(pieces) == 1:
		return nil
	case list == nil:
		return s.carry(pieces[:len(pieces)-1], class, now, full, isolated)
	}
	parts := uint32((len(list) + MaxPart - 1) / MaxPart) //nolint:gosec // At most 44.
	for part := range slices.Chunk(list, MaxPart) {
		all = append(all, Load{
			At: now, Ferry: id, Class: class, Pieces: part, Parts: parts, Full: full, Isolated: isolated,
			Part: uint32(len(all) + 1), //nolint:gosec // Likewise.
		})
	}
	return all
}

// unused is the order in which pieces are placed as a list that did not travel before, and its CID; nil: there is none.
func (s State) unused(pieces []uint64) (list []uint64, id string) {
	list = s.Place(pieces)
	for attempt := range uint8(maxOrders) {
		if id = s.ListID(list); s.ferryOf(id) == nil {
			return list, id
		}
		list = s.placed(pieces, attempt+1)
	}
	return nil, ""
}

// maxOrders is how many orders of a list are tried.
const maxOrders = 16

// greedy makes an aggregate as soon as there is enough for one.
func greedy(s State, p Packing, now time.Time) []Command {
	if s.LooseBytes < p.MinFill && uint64(s.Loose) < segment.Entries(p.Size) { //nolint:gosec // Not negative.
		return nil
	}
	// Twice of what fits, so that the largest can be chosen; what comes first is not left behind for long.
	return p.whole(s, s.next(2*p.Size, 2*int(segment.Entries(p.Size))), now) //nolint:gosec // At most 2^20.
}

// ferry is the document's packer: batches of loose pieces are loaded on ferries, which are merged by their classes.
func ferry(s State, p Packing, now time.Time) []Command {
	for class := p.Size; class >= p.Smallest; class /= 2 {
		if c := s.mergeable(class, p, now); c != nil {
			return []Command{c}
		}
	}
	oldest, waits := s.queuedAt(s.first)
	if !waits || s.Loose < p.Batch && !events.Waited(now, oldest, p.Window) {
		return nil
	}
	batch := s.next(p.Smallest, 0) // A batch that fills no ferry would be no use.
	if len(batch) < p.Batch {
		batch = s.next(0, p.Batch)
	}
	if c := p.whole(s, batch, now); c != nil {
		return c
	}
	sum := s.bytes(batch)
	for class := p.Size; class >= p.Smallest; class /= 2 {
		// Down to the class that is filled; what does not fit stays in the queue.
		if chosen := s.fill(batch, class); sum >= segment.Room(class) || uint64(len(chosen)) == segment.Entries(class) {
			chosen = s.Place(chosen)
			return s.carry(chosen, max(p.Smallest, classOf(s.bytes(chosen), len(chosen), p.Size)), now, false, false)
		}
	}
	return nil
}

// mergeable merges two ferries of a class, if enough of them are there, or two have waited long enough.
func (s State) mergeable(class uint64, p Packing, now time.Time) Command {
	var same []*Ferry
	for _, f := range s.Ferries() {
		if f.State == Loaded && !f.Full && f.Class == class {
			same = append(same, f)
		}
	}
	if len(same) < 2 || len(same) < p.Merge && !events.Waited(now, time.Unix(same[1].Since, 0), p.Window) {
		return nil
	}
	a, b := same[0], same[1]
	if classOf(a.Bytes+b.Bytes, len(a.Pieces)+len(b.Pieces), p.Size) == 0 {
		return nil
	}
	return Merge{At: now, From: []string{a.ID, b.ID}, Full: p.Size}
}

// next are the first loose pieces, until they have so many bytes or are so many (0: no matter). Each group gets its
// share: the next is of the group that has the fewest bytes so far.
func (s State) next(bytes uint64, most int) (all []uint64) {
	var groups [][]uint64 // of loose pieces, by group
	taken, sum, gathered := []uint64{}, uint64(0), uint64(0)
	for priority := s.first; priority <= s.count; priority++ {
		p, _ := s.Piece(priority)
		if !p.loose() {
			continue
		}
		for int(p.group) >= len(groups) {
			groups, taken = append(groups, nil), append(taken, 0)
		}
		groups[p.group] = append(groups[p.group], priority)
		gathered += p.Size()
		if len(s.names) == 1 && (bytes > 0 && gathered >= bytes || most > 0 && len(groups[0]) >= most) {
			break // With one group, further ones change nothing.
		}
	}
	for (bytes == 0 || sum < bytes) && (most == 0 || len(all) < most) {
		least := -1
		for g, waiting := range groups {
			if len(waiting) > 0 && (least < 0 || taken[g] < taken[least]) {
				least = g
			}
		}
		if least < 0 {
			break
		}
		priority := groups[least][0]
		groups[least] = groups[least][1:]
		taken[least] += s.size(priority)
		sum += s.size(priority)
		all = append(all, priority)
	}
	return all
}
