//go:build e2e

package demo

import (
	"context"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hostnode/hostnode/actors/health"
	"github.com/hostnode/hostnode/chain/nodetest"
)

// liar is an endpoint of the rig's chain that gives the answers that a test sets.
type liar struct {
	server *httptest.Server
	fault  atomic.Pointer[nodetest.Fault]
}

func newLiar(r *rig) *liar {
	l := &liar{}
	l.say(func(r nodetest.Request, node func(nodetest.Request) nodetest.Answer) nodetest.Answer { return node(r) })
	l.server = httptest.NewServer(nodetest.Node(r.eth.Client(),
		func(r nodetest.Request, node func(nodetest.Request) nodetest.Answer) nodetest.Answer {
			return (*l.fault.Load())(r, node)
		}))
	r.t.Cleanup(l.server.Close)
	return l
}

func (l *liar) say(f nodetest.Fault) { l.fault.Store(&f) }

// lied restarts the host while its first endpoint lies, and waits for a proof.
func lied(lie nodetest.Lie) chainFault {
	return chainFault{lie.Name, func(r *rig) {
		r.await("all slots are filled", func(ctx context.Context) bool { return r.logs(ctx, "SlotFilled", 0) >= 3 })
		r.must(r.box.kill())
		log := filepath.Join(r.box.dir.Root, "host.log")
		before, err := os.Stat(log)
		r.must(err)
		r.liar.say(lie.New())
		r.must(r.box.start())
		r.await("the alert", func(context.Context) bool {
			text, err := os.ReadFile(log)
			return err == nil && strings.Contains(string(text[before.Size():]), string(health.AlertNotBelieved))
		})
		r.nextProof()
	}}
}

func TestSaleIsPaidThoughTheFirstEndpointLiesAtEachStart(t *testing.T) {
	var faults []chainFault
	for _, lie := range nodetest.Lies() {
		if !lie.Rare() {
			faults = append(faults, lied(lie))
		}
	}
	newRig(t, 150*time.Millisecond, 90*time.Second, true).sell(t, 6+len(faults), faults...)
}
