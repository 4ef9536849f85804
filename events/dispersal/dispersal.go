// Package dispersal computes when a host may reserve a slot, so that the slots of a
// dataset are spread over many hosts instead of going to the fastest one. It is pure:
// from addresses, ids and points in chain time it computes a point in time.
//
// Every host has a distance to every slot, which nobody can choose: the XOR of the
// host's hashed address with the slot's id, as a fraction of the largest distance. A
// window opens at the request and widens:
//
//	distance(host, slot) = (sha256(host) XOR slot)[0:8] / 2^64      0 <= distance < 1
//	reach(t) = 1/8 + 7/8 * (t - from) / (until - from)              from <= t <= until
//	the host may reserve when distance <= reach(t)
//
// At first an eighth of all hosts may reserve a slot, a different eighth for each
// slot; at the end of the window everybody may. It only ever widens, so a permission
// is never taken back. Distances of one slot are spread evenly over hosts, and those
// of one host evenly over slots: no host is favoured.
//
// The contract does not enforce this (spec/marketplace.md §5.2): a host that follows
// it waits where others do not. So it is off by default. How many slots of one
// request a host takes is bounded elsewhere.
package dispersal

import (
	"crypto/sha256"
	"encoding/binary"
	"math/bits"
	"time"

	"github.com/hostnode/hostnode/events"
)

// Distance is how far a host is from a slot, in parts of 2^64.
type Distance uint64

// farthest is the largest distance there is.
const farthest Distance = 1<<64 - 1

// firstReach is how far the window reaches when it opens: an eighth. With a few
// dozen hosts on the market that leaves several for each slot at once.
const firstReach = farthest / 8

// Between is the distance between a host and a slot. Of two hosts one is nearer
// to a slot, unless the first 8 bytes of their hashes are the same.
func Between(host events.Address, slot events.SlotID) Distance {
	hash := sha256.Sum256(host[:])
	return Distance(binary.BigEndian.Uint64(hash[:8]) ^ binary.BigEndian.Uint64(slot[:8]))
}

// Window is the time in which the permission widens, in chain time, which
// has whole seconds.
type Window struct{ From, Until time.Time }

// Opens is the first whole second from which a host at this distance may
// reserve. It is never before From and never after Until, unless the window has
// no length.
func (w Window) Opens(d Distance) time.Time {
	total := w.seconds(w.Until)
	if d <= firstReach || total == 0 {
		return w.From
	}
	// The smallest number of seconds whose widening, rounded down, is enough.
	hi, lo := bits.Mul64(uint64(d-firstReach), total)
	after, rest := bits.Div64(hi, lo, uint64(farthest-firstReach))
	if rest > 0 {
		after++
	}
	return w.From.Add(time.Duration(min(after, total)) * time.Second)
}

// seconds from the opening to t; none when t is before it.
func (w Window) seconds(t time.Time) uint64 {
	return uint64(max(0, t.Unix()-w.From.Unix()))
}
