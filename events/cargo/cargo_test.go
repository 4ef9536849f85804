package cargo_test

import (
	"slices"
	"testing"
	"time"

	"github.com/hostnode/hostnode/events/cargo"
	"github.com/hostnode/hostnode/prover/commd"
)

// A list that was rejected does not come back by merging: its pieces get another order.
func TestMergedFerriesAreNoListThatWasRejected(t *testing.T) {
	const size = 64 << 10
	at := time.Unix(1_700_000_000, 0)
	s := cargo.Empty()
	do := func(c cargo.Command) {
		t.Helper()
		all, err := cargo.Decide(s, c)
		if err != nil || len(all) != 1 {
			t.Fatalf("%+v: %v, %v", c, all, err)
		}
		s = cargo.Evolve(s, all[0])
	}
	load := func(full bool, pieces ...uint64) string {
		t.Helper()
		list := s.Place(pieces)
		id := s.ListID(list)
		do(cargo.Load{At: at, Ferry: id, Class: 1 << 20, Pieces: list, Part: 1, Parts: 1, Full: full})
		return id
	}
	for n := range byte(3) {
		do(cargo.Queue{At: at, Root: commd.Node{n + 1}, Size: size, Payload: commd.PayloadRoom(size)})
	}
	var rejected []string
	for i, pieces := range [][]uint64{{1, 2}, {1, 2, 3}} {
		id, cid := load(true, pieces...), commd.CID(commd.Node{byte(10 + i)})
		rejected = append(rejected, id)
		do(cargo.Make{At: at, Ferry: id, Aggregate: cid})
		do(cargo.Reject{At: at, Aggregate: cid, Attempts: 9})
	}
	do(cargo.Merge{At: at, From: []string{load(false, 1), load(false, 2)}, Full: 1 << 20})
	all := s.Ferries()
	f := all[len(all)-1]
	if slices.Contains(rejected, f.ID) || f.ID != s.ListID(f.Pieces) {
		t.Errorf("the list %s, of %v, was rejected before", f.ID, f.Pieces)
	}
}
