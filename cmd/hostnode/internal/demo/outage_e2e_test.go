//go:build e2e

package demo

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/datadir"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/requester"
	"github.com/hostnode/hostnode/events"
)

// overAServer is a host with room on offer for a request, and with its record in a server.
func overAServer(t *testing.T) (r *rig, s *recordServer, req events.Request) {
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := free.Addr().String()
	if err := free.Close(); err != nil {
		t.Fatal(err)
	}
	const beat, period = 200 * time.Millisecond, 60 * time.Second
	r = newRig(t, beat, period, false, "--store", urlOf(address))
	s = r.serveRecord(address)
	req = r.client.request(period, 1)
	req.Expiry, req.Ask.Duration = 2*period, 11*period
	r.offers(1, req)
	return r, s, req
}

// hostsOverAServer is such a host with three slots.
func hostsOverAServer(t *testing.T) (r *rig, s *recordServer, req events.Request) {
	r, s, req = overAServer(t)
	r.must(r.client.enter(t.Context(), r.remote, requester.Price(req)))
	var err error
	req.ID, err = r.client.post(t.Context(), req)
	r.must(err)
	r.await("all slots are filled", func(ctx context.Context) bool { return r.logs(ctx, "SlotFilled", 0) >= 3 })
	r.nextProof()
	return r, s, req
}

// soonSelling is how long a host may take here. Five seconds are promised, and held to in
// fake time by the tests of the actors; this machine may have other work.
const soonSelling = 20 * time.Second

func TestAHostSellsAgainSoonAfterItsEventStoreIsBack(t *testing.T) {
	r, s, _ := overAServer(t)
	r.sells()
	for range 3 {
		r.must(s.kill())
		r.says("status", "NOT SELLING: the event store does not answer")
		r.must(s.start())
		back := time.Now()
		r.sells()
		took := time.Since(back)
		t.Logf("SELLING %s after the event store was back", took.Round(10*time.Millisecond))
		if took > soonSelling {
			t.Errorf("it took more than %s", soonSelling)
		}
	}
}

// wholePeriods waits for whole periods in which each of three slots is proven.
func (r *rig) wholePeriods(n int) {
	r.t.Helper()
	r.nextPeriod()
	for range n {
		from := r.head(r.t.Context()).Number.Uint64()
		r.nextPeriod()
		if got := r.logs(r.t.Context(), "ProofSubmitted", from); got < 3 {
			r.t.Errorf("%d proofs in a period, want 3", got)
		}
	}
}

// Host and server die, and the host is started first, as a supervisor does. It is killed
// once more before the server is there.
func TestAHostThatStartsWithoutItsEventStoreMissesNothing(t *testing.T) {
	r, s, req := hostsOverAServer(t)
	r.must(r.box.kill())
	r.must(s.kill())
	r.must(r.box.start())
	r.says("status", "NOT SELLING: the event store does not answer", "proven meanwhile: slots 3")
	r.wholePeriods(2)
	r.must(r.box.kill())
	r.must(r.box.start())
	r.wholePeriods(2)
	r.must(s.start())
	r.sells()
	r.box.settled(t, r.client, req)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	r.must(r.box.stop(ctx))
	r.must(s.kill())
	if missed := (&oneBox{dir: datadir.At(s.dir)}).account(t, 3); missed > 0 {
		t.Errorf("%d proofs were missed", missed)
	}
}

// The outbox does not know a wallet's transaction with the host's key, and without the record
// it could be another host's. The start finds out later.
func TestAHostWithoutItsEventStoreSendsNothingWhenItsAccountIsUsedElsewhere(t *testing.T) {
	r, s, _ := hostsOverAServer(t)
	r.must(r.box.kill())
	r.must(s.kill())
	r.must(r.box.start())
	r.says("status", "proven meanwhile: slots 3")
	r.nextPeriod()
	r.nextProof()
	r.byWallet()
	r.says("status", "NOT SELLING, NOT PROVING", "nothing is proven meanwhile: the account was used elsewhere")
	r.nextPeriod()
	from := r.head(t.Context()).Number.Uint64()
	r.nextPeriod()
	if got := r.logs(t.Context(), "ProofSubmitted", from); got > 0 {
		t.Errorf("%d proofs were handed in all the same", got)
	}
	r.must(s.start())
	r.sells()
	r.nextProof()
}
