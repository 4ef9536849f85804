package chain

import (
	"context"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum/rpc"
)

// alarm wakes a follower when there may be a new block. What it says is only a hint:
// subscriptions die silently, so it also wakes when nothing was heard for a while.
type alarm struct {
	f     *Follower
	heads chan struct {
		Number string `json:"number"`
	}
	client *rpc.Client
	sub    *rpc.ClientSubscription
}

func newAlarm(f *Follower) *alarm { return &alarm{f: f} }

// subscribes says whether an endpoint can push.
func subscribes(endpoint string) bool {
	return !strings.HasPrefix(endpoint, "http://") && !strings.HasPrefix(endpoint, "https://")
}

// sleep returns when there may be news, or when ctx ends.
func (a *alarm) sleep(ctx context.Context) {
	if a.f.polls {
		sleep(ctx, a.f.cfg.PollInterval)
		return
	}
	if !a.listen(ctx) {
		sleep(ctx, a.f.cfg.PollInterval)
		return
	}
	timer := time.NewTimer(watchdogInterval)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-a.heads:
		a.drain()
	case <-a.sub.Err():
		a.close()
	case <-timer.C:
		// Silence: a live subscription or a dead one? A new one is surely alive.
		a.close()
	}
}

// drain forgets further hints; one look at the chain answers them all.
func (a *alarm) drain() {
	for {
		select {
		case <-a.heads:
		default:
			return
		}
	}
}

// listen makes sure that there is a subscription. When it is new, blocks may have come
// before it, so it says no once, and the follower looks again.
func (a *alarm) listen(ctx context.Context) bool {
	client, err := a.f.conn.get(ctx)
	if err != nil {
		return false
	}
	if a.sub != nil && a.client == client {
		return true
	}
	a.close()
	heads := make(chan struct {
		Number string `json:"number"`
	}, 64)
	timed, cancel := context.WithTimeout(ctx, a.f.cfg.CallTimeout)
	defer cancel()
	sub, err := client.EthSubscribe(timed, heads, "newHeads")
	if err != nil {
		return false
	}
	a.client, a.sub, a.heads = client, sub, heads
	return false
}

func (a *alarm) close() {
	if a.sub != nil {
		a.sub.Unsubscribe()
		a.sub, a.client = nil, nil
	}
}

func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
