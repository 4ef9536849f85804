package embedded

import (
	"crypto/sha256"
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/hostnode/hostnode/events"
)

// saleLike are events as sales have them: most of their bytes are hashes, which only an
// encoder of single bytes makes smaller.
func saleLike(n int) []events.NewEvent {
	hash := func(of string) string { return fmt.Sprintf("0x%x", sha256.Sum256(fmt.Append(nil, of, n))) }
	return []events.NewEvent{{
		ID: events.NewEventID("sale", "event", n), Type: "ProofSubmitted",
		Data: fmt.Appendf(nil, `{"at":"2026-11-20T22:39:58.62%04dZ","blockHash":%q,"blockNumber":"%d","period":"%d",`+
			`"proof":{"a":%q,"b":%q},"transaction":%q}`, n, hash("block"), n, n/8, hash("a"), hash("b"), hash("tx")),
		Meta: events.Metadata{Version: 1, Epoch: 1, Node: "cellar", Correlation: hash("request")[:20]},
	}}
}

// Data that is written once and kept for ever takes little more space than the hashes in it.
func TestAStoreTakesLessDiskThanItsEventsHaveBytes(t *testing.T) {
	s, _ := mustOpen(t, "store", Config{FS: vfs.NewMem(), noSync: true})
	defer mustClose(t, s)
	const count = 10_000
	size := 0
	for n := range count {
		e := saleLike(n)
		size += e[0].Size()
		if _, err := s.Append(t.Context(), fmt.Sprintf("sale-%d", n/100), events.Any(), e); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.db.Compact(t.Context(), []byte{0}, []byte{0xff}, false); err != nil {
		t.Fatal(err)
	}
	takes := func(from, to byte) uint64 {
		bytes, err := s.db.EstimateDiskUsage([]byte{from}, []byte{to})
		if err != nil {
			t.Fatal(err)
		}
		return bytes / count
	}
	disk := takes(0, 0xff) * count
	t.Logf("of each event: %d bytes, %d on disk: record %d, index of its stream %d, of virtual streams %d", size/count,
		disk/count, takes(prefixEvent, prefixEvent+1), takes(prefixIndex, prefixIndex+1),
		takes(prefixVirtual, prefixVirtual+1))
	if disk > uint64(size)*4/5 {
		t.Errorf("events of %d bytes take %d on disk", size, disk)
	}
}
