package alerting

import (
	"context"
	"sync"
	"time"

	"github.com/hostnode/hostnode/actors"
	room "github.com/hostnode/hostnode/actors/alerts"
	"github.com/hostnode/hostnode/actors/chainview"
	"github.com/hostnode/hostnode/actors/health"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/node"
	core "github.com/hostnode/hostnode/events/alert"
)

// MakeRoom makes the room in which alerts are recorded, and has the desk of this process record there what it raises.
func MakeRoom(w node.Wiring) (made actors.Room, answers any, err error) {
	if w.Alerts == nil {
		return made, nil, nil
	}
	o := &orders{w, shell.NewPart(room.Name)}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		w.Alerts.Record(ctx, func(ctx context.Context, order room.Order) error {
			_, err := o.Order(ctx, order)
			return err
		})
	})
	running.Go(func() {
		limited := func() bool {
			if w.Node.Market == nil { // A host without a chain, as in tests, sends nothing.
				return false
			}
			_, is := w.Node.Market.FeeLimit()
			return is
		}
		var unsigned func() bool
		if w.Signer != nil {
			unsigned = func() bool { _, is := w.Signer.Trouble(); return is }
		}
		clearSending(ctx, limited, unsigned, w.Alerts.Clear)
	})
	w.Node.OnClose(func() error {
		cancel()
		running.Wait()
		return nil
	})
	made = actors.Room{
		Part: o.part, Runs: actors.Owner, Lost: "alerts are delivered at once, and not again while it is down",
		Takes: actors.Taker[room.Answer, room.Order](o.part),
		Start: func(c *chainview.Chain, _ int, broken func(error)) shell.Behavior {
			return room.New(room.Deps{
				Base: c.Base, Channels: w.Alerts.Channels(), Decide: core.Decide, Broken: broken,
				Deliver: func(ctx context.Context, channel string, a core.Alert) error {
					_, err := w.Alerts.Deliver(ctx, channel, told(a, w.Account))
					return err
				},
			})
		},
	}
	return made, o, nil
}

// orders passes orders on to the room.
type orders struct {
	node.Wiring
	part *shell.Part
}

// Order implements Ordering.
func (o *orders) Order(ctx context.Context, order room.Order) (answer room.Answer, err error) {
	host := o.Running(ctx)
	if host == nil {
		return answer, ctx.Err()
	}
	return actors.OrderOwner[room.Answer](ctx, host, o.part, order)
}

// Try implements Ordering.
func (o *orders) Try(ctx context.Context, channel string) (string, error) {
	return o.Alerts.Deliver(ctx, channel, tested(o.Account, string(o.Config.Member()), time.Now()))
}

// lookEvery is how often it is looked whether transactions are signed and sent again.
const lookEvery = 15 * time.Second

// clearSending clears the alerts about what keeps transactions from being sent, once each is over, until ctx ends. They
// are raised by the parts that find it. limited says whether the limit on fees keeps them back, unsigned whether the
// signer does; nil: there is no signer.
func clearSending(ctx context.Context, limited, unsigned func() bool, raise func(health.Alert)) {
	var fees, signer health.Incident
	look := func(i *health.Incident, is bool, kind health.AlertKind, over string) {
		i.Lasts(is, !is, func() {}, func() { raise(health.Alert{Kind: kind, Cleared: time.Now(), Reason: over}) })
	}
	ticks := time.NewTicker(lookEvery)
	defer ticks.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
		}
		look(&fees, limited(), health.AlertFeeLimit, "transactions go through")
		if unsigned != nil {
			look(&signer, unsigned(), health.AlertSigner, "the signer signs")
		}
	}
}
