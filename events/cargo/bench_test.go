package cargo_test

import (
	"crypto/sha256"
	"encoding/binary"
	"runtime"
	"testing"
	"time"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/cargo"
	"github.com/hostnode/hostnode/prover/commd"
)

// million queues a million pieces in two ledgers that share them, as a journal has them.
func million(b *testing.B) (durable, ahead cargo.State) {
	b.Helper()
	codec := events.NewCodec(cargo.Table())
	durable = cargo.Empty()
	ahead = durable.Share()
	at := time.Unix(1_700_000_000, 0)
	for n := range uint64(1_000_000) {
		root := commd.Node(sha256.Sum256(binary.BigEndian.AppendUint64(nil, n)))
		root[31] &= 0x3f
		es, err := cargo.Decide(ahead, cargo.Queue{
			At: at, Root: root, Size: 1 << 20, Payload: commd.PayloadRoom(1 << 20), Content: events.ContentLink(root),
		})
		if err != nil {
			b.Fatal(err)
		}
		if _, _, _, err := codec.Encode(es[0]); err != nil {
			b.Fatal(err)
		}
		ahead, durable = cargo.Evolve(ahead, es[0]), cargo.Evolve(durable, es[0])
	}
	return durable, ahead
}

// A million queued pieces: how long each takes to be decided, encoded and folded twice, and what they keep in memory.
func BenchmarkMillionPieces(b *testing.B) {
	for b.Loop() {
		began := time.Now()
		durable, ahead := million(b)
		b.ReportMetric(1_000_000/time.Since(began).Seconds(), "pieces/s")
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		b.ReportMetric(float64(m.HeapAlloc)/(1<<20), "MiB")
		pack := cargo.Documented()
		began = time.Now()
		pack.Expected(durable, 1_000_000, began)
		b.ReportMetric(time.Since(began).Seconds()*1000, "ms/outlook")
		began = time.Now()
		if len(pack.Plan(ahead, time.Unix(1_700_000_001, 0))) == 0 {
			b.Fatal("nothing is packed")
		}
		b.ReportMetric(time.Since(began).Seconds()*1000, "ms/plan")
		runtime.KeepAlive(durable)
	}
}
