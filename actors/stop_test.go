package actors_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/hostnode/hostnode/actors"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/actors/sim"
	"github.com/hostnode/hostnode/events"
)

// goneStore takes nothing while it is away.
type goneStore struct {
	events.Store
	away atomic.Bool
}

func (s *goneStore) Append(
	ctx context.Context, stream string, e events.Expected, batch []events.NewEvent,
) (events.AppendResult, error) {
	if s.away.Load() {
		return events.AppendResult{}, events.ErrAway
	}
	return s.Store.Append(ctx, stream, e, batch)
}

func TestAStopWithoutTheStoreSaysWhatIsNotInTheRecord(t *testing.T) {
	inWorld(t, func(r *rig) {
		store := &goneStore{Store: r.store}
		r.ports.Store = store
		var said bytes.Buffer
		log := logrus.New()
		log.SetOutput(&said)
		host, err := actors.Start(context.Background(), r.cfg, r.ports, logrus.NewEntry(log))
		if err != nil {
			r.Fatal(err)
		}
		r.host = host
		synctest.Wait()
		store.away.Store(true)
		r.world.Post(sim.Offer(1, 1))
		r.world.Mine(1)
		time.Sleep(time.Minute)
		synctest.Wait()
		err = host.Stop(r.Context())
		if !errors.Is(err, shell.ErrStoreAway) || !strings.Contains(err.Error(), "market-1-") {
			r.Fatalf("stop: %v", err)
		}
		if text := said.String(); strings.Contains(text, "answers again") || !strings.Contains(text, "does not answer") {
			r.Fatalf("it said:\n%s", text)
		}
	})
}
