package cargo

import (
	"maps"
	"math/bits"
	"slices"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/prover/commd"
)

// Status is where a piece is.
type Status uint8

// The statuses of a piece. The last three are also those of an aggregate.
const (
	Queued Status = iota
	Aggregated
	Approved
	Refused
)

func (s Status) String() string {
	return events.NameOf(s, "status %d", "queued", "aggregated", "approved", "refused")
}

// Piece is one piece.
type Piece struct {
	Root    commd.Node
	Content events.ContentLink
	Payload uint64
	At      int64 // when it was queued first, in seconds
	ferry   uint32
	group   uint16
	log     uint8
	// Status is where it is; Attempts counts the aggregates with it that were rejected without a list.
	Status   Status
	Attempts uint8
	// Kept says that a copy of its bytes is here.
	Kept    bool
	suspect bool
}

// Size is padded.
func (p Piece) Size() uint64 { return 1 << p.log }

// Suspected reports whether it waits to be tried alone, or with few others.
func (p Piece) Suspected() bool { return p.suspect }

// Pieces are many, so that they are kept in chunks, and found by their roots in shards. Two states that come from one
// (Share) share them: who changes one copies it first.
const (
	chunkSize = 1024
	shards    = 1024
)

type owner struct{ _ byte } // has a size, so that each is another one

type chunk struct {
	of     *owner
	pieces [chunkSize]Piece
}

type shard struct {
	of *owner
	by map[commd.Node]uint64
}

// Group is what pieces of one group have, in padded bytes.
type Group struct {
	Queued     uint64 `json:"queued"`
	Aggregated uint64 `json:"aggregated"`
	Approved   uint64 `json:"approved"`
	Refused    uint64 `json:"refused"`
}

func (g *Group) of(s Status) *uint64 {
	return []*uint64{&g.Queued, &g.Aggregated, &g.Approved, &g.Refused}[s]
}

// State is the ledger. A copy of it is the same ledger: Share makes another one.
type State struct{ *ledger }

type ledger struct {
	of     *owner
	chunks []*chunk
	index  [shards]*shard
	count  uint64

	Packing Packing  // in force; zero: none was set
	names   []string // of groups
	Groups  map[string]Group
	Counts  [Refused + 1]int  // of pieces, by where they are
	Refusal map[uint64]string // why pieces are refused

	ferries    map[uint32]*Ferry // the value is never changed, but replaced
	byID       map[string]uint32
	byLink     map[string]uint32
	last       uint32 // the newest ferry
	loading    *list
	rejecting  *list
	suspects   [][]uint64 // each is to be tried alone
	releasable map[uint64]struct{}

	// Loose are queued pieces that are on no ferry and not suspected.
	Loose      int
	LooseBytes uint64
	// first is the first loose piece, head the first queued one; while an event is folded, none of them is behind it.
	first, head uint64
	inflow      []hour
}

// list is a list of which not all parts are there.
type list struct {
	ID          string
	Pieces      []uint64
	Part, Parts uint32
}

// with is the list with its next part; the first one begins it.
func (l *list) with(id string, pieces []uint64, part, parts uint32) *list {
	if part > 1 && l != nil {
		pieces = slices.Concat(l.Pieces, pieces)
	}
	return &list{id, pieces, part, parts}
}

// ready reports whether a part is the next one, or the first.
func (l *list) ready(id string, part, parts uint32) bool {
	return part <= 1 || l != nil && l.ID == id && l.Part+1 == part && l.Parts == parts
}

// hour is how many bytes were queued in an hour since 1970.
type hour struct {
	Number int64
	Bytes  uint64
}

// Empty is a ledger without pieces.
func Empty() State {
	return State{&ledger{
		of: new(owner), Groups: map[string]Group{}, Refusal: map[uint64]string{}, ferries: map[uint32]*Ferry{},
		byID: map[string]uint32{}, byLink: map[string]uint32{}, releasable: map[uint64]struct{}{}, first: 1, head: 1,
	}}
}

// Share makes another ledger that is equal now. Both may be changed from then on, and read at once.
func (s State) Share() State {
	l := *s.ledger
	s.of, l.of = new(owner), new(owner)
	l.chunks, l.names = slices.Clone(s.chunks), slices.Clone(s.names)
	l.Groups, l.Refusal = maps.Clone(s.Groups), maps.Clone(s.Refusal)
	l.ferries, l.byID, l.byLink = maps.Clone(s.ferries), maps.Clone(s.byID), maps.Clone(s.byLink)
	l.suspects, l.releasable = slices.Clone(s.suspects), maps.Clone(s.releasable)
	l.inflow = slices.Clone(s.inflow)
	return State{&l}
}

// Pieces is how many there are: their priorities are 1 to that.
func (s State) Pieces() uint64 { return s.count }

// Piece is the piece of a priority.
func (s State) Piece(priority uint64) (p Piece, known bool) {
	if priority == 0 || priority > s.count {
		return p, false
	}
	return s.chunks[(priority-1)/chunkSize].pieces[(priority-1)%chunkSize], true
}

// Group is the group of a piece.
func (s State) Group(p Piece) string { return s.names[p.group] }

// Waiting are the first queued pieces in their order, at most so many.
func (s State) Waiting(most int) (queue []uint64) {
	for priority := s.head; len(queue) < min(most, s.Counts[Queued]); priority++ {
		if s.chunks[(priority-1)/chunkSize].pieces[(priority-1)%chunkSize].Status == Queued {
			queue = append(queue, priority)
		}
	}
	return queue
}

// Find is the priority of a piece.
func (s State) Find(root commd.Node) (priority uint64, known bool) {
	if one := s.index[shardOf(root)]; one != nil {
		priority, known = one.by[root]
	}
	return priority, known
}

func shardOf(root commd.Node) int { return (int(root[0])<<8 | int(root[1])) % shards }

// own is a piece that only this ledger has, and may change.
func (s State) own(priority uint64) *Piece {
	i := (priority - 1) / chunkSize
	if s.chunks[i].of != s.of {
		own := *s.chunks[i]
		own.of = s.of
		s.chunks[i] = &own
	}
	return &s.chunks[i].pieces[(priority-1)%chunkSize]
}

// change changes a piece, and what is counted; a piece that is not known stays so, whatever a record says.
func (s State) change(priority uint64, do func(p *Piece)) {
	if priority == 0 || priority > s.count {
		return
	}
	p := s.own(priority)
	s.tally(*p, -1)
	do(p)
	s.tally(*p, 1)
	if p.Status == Queued {
		s.head = min(s.head, priority)
	}
	if p.loose() {
		s.first = min(s.first, priority)
	}
}

// tally counts a piece; -1: it does not count any more.
func (s State) tally(p Piece, pieces int) {
	bytes := p.Size() * uint64(pieces) //nolint:gosec // Of -1 too, because it wraps.
	g := s.Groups[s.Group(p)]
	*g.of(p.Status) += bytes
	s.Groups[s.Group(p)] = g
	s.Counts[p.Status] += pieces
	if p.loose() {
		s.Loose += pieces
		s.LooseBytes += bytes
	}
}

// loose reports whether a piece may be loaded.
func (p Piece) loose() bool { return p.Status == Queued && p.ferry == 0 && !p.suspect }

// add adds the next piece.
func (s State) add(p Piece, group string) {
	g := slices.Index(s.names, group)
	if g < 0 {
		g = len(s.names)
		s.names = append(s.names, group)
	}
	p.group = uint16(g) //nolint:gosec // There are fewer groups.
	if s.count%chunkSize == 0 {
		s.chunks = append(s.chunks, &chunk{of: s.of})
	}
	s.count++
	*s.own(s.count) = p
	s.tally(p, 1)
	i := shardOf(p.Root)
	if one := s.index[i]; one == nil || one.of != s.of {
		own := &shard{s.of, map[commd.Node]uint64{}}
		if one != nil {
			own.by = maps.Clone(one.by)
		}
		s.index[i] = own
	}
	s.index[i].by[p.Root] = s.count
}

func powerOfTwo(n uint64) bool { return bits.OnesCount64(n) == 1 }

// logOf is the logarithm of a power of two.
func logOf(size uint64) uint8 { return uint8(bits.TrailingZeros64(size)) } //nolint:gosec // At most 64.
