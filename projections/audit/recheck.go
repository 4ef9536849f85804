package audit

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"math/bits"
	"strings"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/messages"
)

const (
	// defaultFilterBits is the size of the filter of event ids: 32 MiB. With ten
	// million events it suspects one in two thousand without reason.
	defaultFilterBits = 1 << 28
	// leastFilterBits is its size for a record that has next to no events.
	leastFilterBits = 1 << 12
	// filterProbes is how many bits one id sets.
	filterProbes = 4
	// maxSuspects is the most ids that are checked again.
	maxSuspects = 1 << 20
)

// idFilter is a Bloom filter over (stream, event id). It never misses a
// repeated id, but sometimes suspects one that is not repeated; suspects are
// checked again, exactly.
type idFilter struct {
	// key is random for each audit, so that nobody can choose ids that all set
	// the same bits.
	Key      [2]uint64
	Bits     []uint64
	Suspects map[suspect]bool // true once it was seen in the second pass
	most     int              // of suspects
	Over     uint64
}

type suspect struct {
	Stream string
	ID     events.EventID
}

func newIDFilter(size uint64, most int) *idFilter {
	f := &idFilter{Bits: make([]uint64, size/64), Suspects: map[suspect]bool{}, most: most}
	_ = binary.Read(rand.Reader, binary.LittleEndian, &f.Key) // It never fails.
	return f
}

// filterFor is the size of a filter that suspects as few of so many events as the default one does of
// ten million, and needs no more memory than that.
func filterFor(head events.Position) uint64 {
	const each = 64 // bits; also what the size is a multiple of
	return each * min(max(uint64(head), leastFilterBits/each), defaultFilterBits/each)
}

// hashOf hashes a name to a number.
func (f *idFilter) hashOf(name string) uint64 {
	keyed := make([]byte, 16, 16+len(name))
	binary.LittleEndian.PutUint64(keyed, f.Key[0])
	binary.LittleEndian.PutUint64(keyed[8:], f.Key[1])
	sum := sha256.Sum256(append(keyed, name...))
	return binary.LittleEndian.Uint64(sum[:])
}

// probes are the bits of an id.
func (f *idFilter) probes(stream uint64, id events.EventID) (bits [filterProbes]uint64) {
	first, second := binary.LittleEndian.Uint64(id[:8]), binary.LittleEndian.Uint64(id[8:])
	h := mixed(mixed(first^f.Key[0], stream^f.Key[1])^f.Key[1], second^f.Key[0])
	step := h>>32 | 1
	for i := range bits {
		bits[i] = h % (64 * uint64(len(f.Bits)))
		h += step
	}
	return bits
}

// has says whether an id was added; of one that was not, it is as seldom wrong as a
// suspicion is.
func (f *idFilter) has(stream uint64, id events.EventID) bool {
	for _, bit := range f.probes(stream, id) {
		if f.Bits[bit/64]&(1<<(bit%64)) == 0 {
			return false
		}
	}
	return true
}

// add sets the bits of an id, and suspects it when they were all set.
func (f *idFilter) add(stream uint64, r events.Recorded) {
	seen := f.has(stream, r.ID)
	for _, bit := range f.probes(stream, r.ID) {
		f.Bits[bit/64] |= 1 << (bit % 64)
	}
	switch {
	case !seen:
	case len(f.Suspects) < f.most:
		f.Suspects[suspect{r.Stream, r.ID}] = false
	default:
		f.Over++
	}
}

// mixed folds the product of two numbers, so that each of its bits depends on
// all bits of both.
func mixed(a, b uint64) uint64 {
	high, low := bits.Mul64(a|1<<63, b|1<<62)
	return high ^ low
}

// recheck reads the events once more if the first pass left a doubt: an id that
// may be repeated, or a receipt whose transaction may have been forgotten.
func (a *auditor) recheck(ctx context.Context, store events.Store) error {
	doubt := len(a.txs.Awaited) > 0 && a.txs.Forgotten > 0
	if len(a.ids.Suspects) == 0 && !doubt {
		return nil
	}
	if a.ids.Over > 0 {
		a.find(AuditIncomplete, place{Position: a.report.AsOf},
			"%d event ids were not looked at again: more than %d were suspected", a.ids.Over, a.ids.most)
	}
	return a.read(ctx, store, 0, func(r events.Recorded) error {
		if r.Position > a.report.AsOf || events.IsSystem(r.Stream) {
			return nil // It was written meanwhile; the next audit checks it, if there is one.
		}
		k := suspect{r.Stream, r.ID}
		if seen, suspected := a.ids.Suspects[k]; seen {
			a.find(EventIDRepeated, placeOf(r), "the stream had an event with the id %s before", r.ID)
		} else if suspected {
			a.ids.Suspects[k] = true
		}
		if doubt && events.Category(r.Stream) == events.CategoryTx {
			a.seeMined(r)
		}
		return nil
	})
}

func (a *auditor) seeMined(r events.Recorded) {
	m, err := a.codec.Decode(r)
	if err != nil {
		return // It was found before.
	}
	if e, ok := m.(*messages.TxMined); ok && e.GetSucceeded() && e.GetReceipt() != nil {
		_, account, _ := strings.Cut(r.Stream, "-")
		a.arrived(txKey{account, e.GetReceipt().GetTxHash()}, r.Meta.Correlation)
	}
}

// readUntil yields the events after a position, and says how far it came.
func readUntil(
	ctx context.Context, store events.Store, after *events.Position, take func(events.Recorded) error,
) error {
	for r, err := range store.ReadAll(ctx, *after, 0) {
		if err == nil {
			err = take(r)
		}
		if err != nil {
			return err
		}
		*after = r.Position
	}
	return nil
}
