package audit

import (
	"context"
	"encoding/binary"
	"hash/maphash"
	"strings"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/messages"
)

const (
	// filterBits is the size of the filter of event ids: 32 MiB. With ten
	// million events it suspects one in two thousand for no reason.
	filterBits = 1 << 28
	// filterProbes is how many bits one id sets.
	filterProbes = 4
	// maxSuspects is the most ids that are looked at again.
	maxSuspects = 1 << 20
)

// idFilter is a Bloom filter over (stream, event id). It never misses a
// repeated id, and sometimes suspects one that is not; those that it suspects
// are looked at again, exactly.
type idFilter struct {
	seed     maphash.Seed
	bits     []uint64
	suspects map[suspect]bool // true once it was seen in the second pass
	most     int              // of suspects
	over     uint64
}

type suspect struct {
	stream string
	id     events.EventID
}

func newIDFilter(bits uint64, most int) *idFilter {
	return &idFilter{
		seed: maphash.MakeSeed(), bits: make([]uint64, bits/64), suspects: map[suspect]bool{}, most: most,
	}
}

func (f *idFilter) hashOf(stream string) uint64 { return maphash.String(f.seed, stream) }

// add sets the bits of an id, and suspects it when they were all set.
func (f *idFilter) add(stream uint64, r events.Recorded) {
	var key [24]byte
	binary.LittleEndian.PutUint64(key[:], stream)
	copy(key[8:], r.ID[:])
	h := maphash.Bytes(f.seed, key[:])
	step, seen := h>>32|1, true
	for range filterProbes {
		bit := h % (64 * uint64(len(f.bits)))
		if f.bits[bit/64]&(1<<(bit%64)) == 0 {
			seen = false
			f.bits[bit/64] |= 1 << (bit % 64)
		}
		h += step
	}
	switch {
	case !seen:
	case len(f.suspects) < f.most:
		f.suspects[suspect{r.Stream, r.ID}] = false
	default:
		f.over++
	}
}

// recheck reads the events once more when the first pass left a doubt: an id
// that may have been there before, or a receipt whose transaction may have been
// forgotten.
func (a *auditor) recheck(ctx context.Context, store events.Store) error {
	doubt := len(a.txs.awaited) > 0 && a.txs.forgotten > 0
	if len(a.ids.suspects) == 0 && !doubt {
		return nil
	}
	if a.ids.over > 0 {
		a.find(AuditIncomplete, place{position: a.report.AsOf},
			"%d event ids were not looked at again: more than %d were suspected", a.ids.over, a.ids.most)
	}
	return a.read(ctx, store, 0, func(r events.Recorded) {
		if r.Position > a.report.AsOf {
			return // It came meanwhile; the next audit looks at it.
		}
		k := suspect{r.Stream, r.ID}
		if seen, suspected := a.ids.suspects[k]; seen {
			a.find(EventIDRepeated, placeOf(r), "the stream had an event with the id %s before", r.ID)
		} else if suspected {
			a.ids.suspects[k] = true
		}
		if doubt && events.Category(r.Stream) == events.CategoryTx {
			a.seeMined(r)
		}
	})
}

func (a *auditor) seeMined(r events.Recorded) {
	m, err := a.codec.Decode(r)
	if err != nil {
		return // It was found before.
	}
	if e, ok := m.(*messages.TxMined); ok && e.GetSucceeded() && e.GetReceipt() != nil {
		_, account, _ := strings.Cut(r.Stream, "-")
		a.txs.seen(txKey{account, e.GetReceipt().GetTxHash()})
	}
}
