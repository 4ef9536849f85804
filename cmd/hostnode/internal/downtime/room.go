package downtime

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"time"

	"github.com/hostnode/hostnode/actors"
	"github.com/hostnode/hostnode/actors/chainview"
	nodes "github.com/hostnode/hostnode/actors/downtime"
	"github.com/hostnode/hostnode/actors/health"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/config"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/downtime/probe"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/keys"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/node"
	"github.com/hostnode/hostnode/events"
	core "github.com/hostnode/hostnode/events/downtime"
	"github.com/hostnode/hostnode/events/slotqueue"
)

// MakeRoom makes the room in which nodes are watched, if the settings say so, and has this host answer probes.
func MakeRoom(w node.Wiring) (room actors.Room, answers any, err error) {
	set := w.Config.Nodes
	if err := answer(w, set.Probe); err != nil || !set.Watch {
		return room, nil, err
	}
	prober, err := proberOf(w, set.Probe)
	if err != nil {
		return room, nil, err
	}
	hooks, err := newWebhooks(w, set.Webhooks)
	if err != nil {
		return room, nil, err
	}
	w.Node.OnClose(hooks.close)
	part, standing := shell.NewPart(nodes.Name), new(nodes.Standing)
	room = actors.Room{
		Part: part, Runs: actors.Owner, Heads: true, Lost: "no node is judged while it is down",
		Takes:  actors.Taker[core.Status, nodes.Order](part),
		Barred: func(m events.Member) bool { return standing.Barred(events.Node(m)) },
		Start: func(c *chainview.Chain, _ int, broken func(error)) shell.Behavior {
			alerts := w.Alerting(c.Base)
			pause := &pause{Base: c.Base, wanted: set.PauseSelling, standing: standing, host: w.Running}
			d := nodes.Deps{
				Base: c.Base, Decide: core.Decide, Standing: standing, Judged: pause.judged, Broken: broken,
				Rules: set.Rules.Service(), Every: set.Every, Gap: set.LongestGap(),
				Tell: func(n nodes.Notice) {
					kind := health.AlertNode
					if n.Warning {
						kind = health.AlertNodeNear
					}
					alerts.RaiseAbout(kind, string(n.Node), n.Text, n.Hint)
					hooks.tell(n)
				},
				NotNear: func(node events.Node) {
					alerts.ClearAbout(health.AlertNodeNear, string(node), "it is not near a suspension")
				},
			}
			if prober != nil {
				d.Prober = prober
			}
			if w.Cluster != nil {
				d.Seen = w.Cluster.Seen
			}
			if set.Market {
				d.Market = marketOf(w, c)
			}
			return nodes.New(d)
		},
	}
	return room, orders{w, part}, nil
}

// marketOf audits the hosts of slots and, if this host knows the contract of sectors, those who prove to it.
func marketOf(w node.Wiring, c *chainview.Chain) nodes.Market {
	slots := &nodes.ChainMarket{
		Chain: c, Contract: w.Node.Market, FinalBlocks: w.Host.FinalBlocks,
		Stream: events.MarketStream(w.Node.Market.Identity().ChainID, w.Chain.Marketplace),
	}
	if w.Node.Provider == nil {
		return slots
	}
	return nodes.Markets{slots, nodes.Providers{Chain: c, Contract: w.Node.Provider, FinalBlocks: w.Host.FinalBlocks}}
}

// orders passes orders on to the room.
type orders struct {
	node.Wiring
	part *shell.Part
}

// Order implements Ordering.
func (o orders) Order(ctx context.Context, order nodes.Order) error {
	host := o.Running(ctx)
	if host == nil {
		return ctx.Err()
	}
	_, err := actors.OrderOwner[core.Status](ctx, host, o.part, order)
	return err
}

// proberOf is who probes the configured nodes; nil: there are none. The members of a host have its account.
func proberOf(w node.Wiring, set config.NodeProbes) (*probe.Prober, error) {
	urls, err := config.OfNodes(set.URLs)
	if err != nil || len(urls) == 0 {
		return nil, err
	}
	cfg := probe.Config{
		ChainID: w.Node.Market.Identity().ChainID, Parallel: set.Parallel, Timeout: set.Timeout, Jitter: set.Jitter,
		AllowPrivate: set.Private, Now: time.Now,
	}
	for name, url := range urls {
		account, err := events.ParseAddress(string(name))
		if err != nil {
			account = w.Account
		}
		cfg.Targets = append(cfg.Targets, probe.Target{Node: name, URL: url, Account: account})
	}
	return probe.NewProber(cfg)
}

// answer has this host answer probes until the node ends, if the settings say so.
func answer(w node.Wiring, set config.NodeProbes) error {
	if set.Listen == "" {
		return nil
	}
	l, err := net.Listen("tcp", set.Listen)
	if err != nil {
		return fmt.Errorf("nodes.probe.listen: %w", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	w.Node.OnClose(func() error {
		cancel()
		<-done
		return nil
	})
	responder := probe.NewResponder(w.Node.Market.Identity().ChainID, w.Account, set.PerSecond, signer(w))
	go func() {
		defer close(done)
		if err := probe.Serve(ctx, l, responder); ctx.Err() == nil {
			w.Log.Errorf("probes are answered no more: %v", err)
		}
	}()
	w.Log.Infof("answers probes at http://%s/v1/probe", l.Addr())
	return nil
}

// errNoKey: an outside signer signs transactions only.
var errNoKey = errors.New("this process has no key")

// signer signs texts with the account's key, if this process has it.
func signer(w node.Wiring) keys.Sign {
	if w.Key == nil {
		return func(context.Context, []byte) ([]byte, error) { return nil, errNoKey }
	}
	return keys.SignWith(w.Key)
}

// pause pauses selling while this host's own address is suspended, and goes on when it is reinstated. What an operator
// decides in between stands.
type pause struct {
	*shell.Base
	wanted   bool
	standing *nodes.Standing
	host     func(context.Context) *actors.Host
	done     atomic.Pointer[bool] // what was done about it; nil: nothing, in this life
}

// seller is a host whose queue can be paused.
type seller interface {
	ViewQueue(ctx context.Context) (slotqueue.Snapshot, error)
	Queue(ctx context.Context, cmd slotqueue.Command) error
}

// pausedFor is why the queue is paused.
const pausedFor = "this host's address is suspended or disqualified (nodes.pauseSelling)"

// judged compares what is done with what became of the host. It does not wait.
func (p *pause) judged() {
	barred := p.standing.Barred(events.Node(p.Me.String()))
	if done := p.done.Swap(&barred); !p.wanted || done != nil && *done == barred {
		return
	}
	p.RT.Do("pause selling", func(ctx context.Context) {
		p.Yield(ctx, "pause selling")
		host := p.host(ctx)
		if host == nil { // It ends.
			return
		}
		if err := settle(ctx, host, barred, p.Clock.Now()); err != nil && ctx.Err() == nil {
			p.Log.Warnf("pause or resume selling as this host is judged, will try again: %v", err)
			p.done.Store(nil)
		}
	})
}

// settle pauses or resumes selling, unless that is so, or it is paused for another reason.
func settle(ctx context.Context, host seller, barred bool, now time.Time) error {
	queue, err := host.ViewQueue(ctx)
	switch {
	case err != nil:
		return err
	case barred && !queue.Stopped:
		return host.Queue(ctx, slotqueue.Pause{At: now, Reason: pausedFor})
	case !barred && queue.Stopped && queue.StoppedFor == pausedFor:
		return host.Queue(ctx, slotqueue.Resume{At: now, Reason: "this host's address is reinstated"})
	}
	return nil
}
