//go:build e2e

package node

import (
	"context"
	"crypto/rand"
	"errors"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hostnode/hostnode/actors/port"
	"github.com/hostnode/hostnode/actors/sectors"
	"github.com/hostnode/hostnode/chain/devchain"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/config"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/events/sector"
	"github.com/hostnode/hostnode/prover/sealer"
	"github.com/hostnode/hostnode/prover/sealer/remotetest"
	files "github.com/hostnode/hostnode/storage/sectors"
)

// outside is a prover outside of the host, which can go away, wait in a step, and lie.
type outside struct {
	port.Sealer
	t       *testing.T
	prover  *remotetest.Server
	address string
	server  *http.Server
	sealed  atomic.Int64  // how often the first half of sealing was done
	held    chan struct{} // if not nil, it waits in there until this is closed
	lies    atomic.Bool   // it gives another CommR
}

func newOutside(t *testing.T) *outside {
	store, err := files.Open(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	o := &outside{
		Sealer: sealer.NewCommD(store, int(devchain.DefaultSectorConfig().Sealing.Leaves)), t: t, address: "127.0.0.1:0",
	}
	o.prover = remotetest.New(o, "hush")
	o.prover.Async = true
	t.Cleanup(o.prover.Close)
	o.come()
	t.Cleanup(o.goAway)
	return o
}

func (o *outside) come() {
	l, err := net.Listen("tcp", o.address)
	if err != nil {
		o.t.Fatal(err)
	}
	o.address, o.server = l.Addr().String(), &http.Server{Handler: o.prover, ReadHeaderTimeout: time.Minute}
	go func(s *http.Server) { _ = s.Serve(l) }(o.server)
}

func (o *outside) goAway() { _ = o.server.Close() }

func (o *outside) PreCommit1(
	ctx context.Context, ref events.SectorRef, ticket events.Hash, pieces []events.SectorPiece,
	told events.SectorProgress,
) ([]byte, error) {
	o.sealed.Add(1)
	if o.held != nil {
		select {
		case <-o.held:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return o.Sealer.PreCommit1(ctx, ref, ticket, pieces, told)
}

func (o *outside) PreCommit2(
	ctx context.Context, ref events.SectorRef, out []byte, told events.SectorProgress,
) (commD, commR events.Hash, err error) {
	commD, commR, err = o.Sealer.PreCommit2(ctx, ref, out, told)
	if o.lies.Load() {
		commR[7] ^= 1
	}
	return commD, commR, err
}

// sealing is a host that uses it.
func (o *outside) sealing() config.Config {
	c := sealing(o.t)
	c.Sectors.Sealer = "remote"
	c.Sectors.Remote.URL, c.Sectors.Remote.Proves = "http://"+o.address, sealer.Possession
	c.Sectors.Remote.TokenFile, c.Sectors.Remote.Poll = write(o.t, "hush", 0o600), 50*time.Millisecond
	c.Sectors.Retries.FirstPause, c.Sectors.Retries.MostPause = time.Second, 2*time.Second
	return c
}

// fill begins a sector with a piece.
func fill(t *testing.T, p *Process) {
	t.Helper()
	until(t, p, "it runs", func(all []sectors.Standing) bool { return len(all) == 0 })
	text := rand.Text() + strings.Repeat("data", 3000)
	piece, err := files.Identify(t.Context(), strings.NewReader(text))
	if err == nil {
		err = p.Host.Ledger(t.Context(), capacity.HoldPiece{
			At: time.Now(), Piece: capacity.Piece{CID: piece.CID, Bytes: piece.Payload},
		})
	}
	if err == nil {
		err = p.Pieces.Put(t.Context(), piece, strings.NewReader(text))
	}
	if err == nil {
		_, err = p.Host.BeginSector(t.Context(), sectors.Create{
			Size: 64 << 10, Pieces: []events.SectorPiece{piece}, By: "alice",
		})
	}
	if err != nil {
		t.Fatal(err)
	}
}

func in(want sector.State) func([]sectors.Standing) bool {
	return func(all []sectors.Standing) bool { return len(all) == 1 && all[0].Info.State == want }
}

// windows waits until so many more windows of the sector are over, for which nothing was lost.
func windows(t *testing.T, p *Process, more uint64) {
	t.Helper()
	first, err := p.Provider.Sector(t.Context(), 1)
	if err != nil || !first.Active {
		t.Fatalf("%+v, %v", first, err)
	}
	until(t, p, "its windows are over", func([]sectors.Standing) bool {
		on, err := p.Provider.Sector(t.Context(), 1)
		return err == nil && on.NextPeriod >= first.NextPeriod+more && on.Deposit == first.Deposit && !on.Faulty
	})
}

func TestAHostSealsAndProvesWithAnOutsideProver(t *testing.T) {
	o := newOutside(t)
	c := o.sealing()
	o.held = make(chan struct{})
	run(t, c, func(p *Process) {
		fill(t, p)
		until(t, p, "it is sealed", func([]sectors.Standing) bool { return o.sealed.Load() == 1 })
	})
	// The host is gone, and the prover goes on. What it has done is not done again.
	run(t, c, func(p *Process) {
		until(t, p, "it goes on", in(sector.PreCommit1))
		close(o.held)
		until(t, p, "it waits for its seed", in(sector.WaitSeed))
		if n := o.sealed.Load(); n != 1 {
			t.Errorf("it was sealed %d times", n)
		}
		o.goAway() // In a step: nothing has failed.
		until(t, p, "it waits for the prover", func(all []sectors.Standing) bool {
			return len(all) == 1 && all[0].Info.State == sector.Committing && all[0].Info.Outages > 0
		})
		o.come()
		until(t, p, "it is proven", in(sector.Proving))
		windows(t, p, 2)
		o.goAway() // For less than a window.
		before, err := p.Provider.Head(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		until(t, p, "blocks pass", func([]sectors.Standing) bool {
			now, err := p.Provider.Head(t.Context())
			return err == nil && now.Number > before.Number+3
		})
		o.come()
		windows(t, p, 2)
	})
	run(t, c, func(p *Process) {
		until(t, p, "it is proven after another start", in(sector.Proving))
		windows(t, p, 1)
	})
}

func TestAnOutsideProverThatLiesBringsNothingOnChain(t *testing.T) {
	o := newOutside(t)
	o.lies.Store(true)
	c := o.sealing()
	c.Sectors.Retries.MaxFailures = 2
	run(t, c, func(p *Process) {
		fill(t, p)
		until(t, p, "it is parked", func(all []sectors.Standing) bool { return len(all) == 1 && all[0].Info.Parked() })
		all, err := p.Host.Sectors(t.Context())
		if err != nil || !strings.Contains(all[0].Info.Reason, "wrong result") {
			t.Errorf("%+v, %v", all, err)
		}
		on, err := p.Provider.Sector(t.Context(), 1)
		if err != nil || on.PreCommitted || on.Active {
			t.Errorf("on chain: %+v, %v", on, err)
		}
		o.lies.Store(false)
		_, err = p.Host.OrderSector(t.Context(), sectors.Restart{Number: 1, By: "alice"})
		if err != nil && !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		until(t, p, "it is proven", in(sector.Proving))
	})
}
