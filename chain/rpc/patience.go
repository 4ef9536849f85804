package rpc

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/rpc"
)

const (
	// mostPatience is how many times the usual time a node gets that was seen to be slow.
	mostPatience = 8
	// calmAfter is how long no message may need more than the half of a longer time for that to be
	// halved.
	calmAfter = 10 * time.Minute
)

// errSlow: one message had no answer in time. That says nothing of others on the same connection.
var errSlow = errors.New("no answer")

// patience is how long one message to a node may take. A node that does not answer in time may be
// slow, because it or this machine has much to do: it gets twice the time for the next one. It is
// safe for concurrent use.
type patience struct {
	mu     sync.Mutex
	usual  time.Duration
	longer time.Duration // 0: the usual time is enough
	needed time.Time     // when more than the half of longer was needed, or longer was changed
}

func (p *patience) limit() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return max(p.usual, p.longer)
}

// note notes how long a message took that was given some time. Of messages that are late together,
// the first counts.
func (p *patience) note(given, took time.Duration, late bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch at := time.Now(); {
	case late && given >= p.longer:
		p.longer, p.needed = min(2*given, mostPatience*p.usual), at
	case took > p.longer/2:
		p.needed = at
	case at.Sub(p.needed) > calmAfter:
		p.longer, p.needed = p.longer/2, at
	}
}

// forget gives the usual time again, because the node was not slow but away.
func (p *patience) forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.longer = 0
}

// exchangeOne sends one message and waits for its answer for as long as the node may take. It fails
// with errSlow if there is none by then, or a gateway says so.
func (l *Session) exchangeOne(ctx context.Context, send func(context.Context) error) error {
	began, given := time.Now(), l.at.patience.limit()
	timed, cancel := context.WithTimeout(ctx, given)
	defer cancel()
	err := send(timed)
	late := err != nil && !IsAnswer(err) && timed.Err() != nil && ctx.Err() == nil
	l.at.patience.note(given, time.Since(began), late)
	if status, _ := errors.AsType[rpc.HTTPError](err); late || slices.Contains([]int{
		http.StatusRequestTimeout, http.StatusGatewayTimeout,
	}, status.StatusCode) {
		l.doubted.Store(true)
		err = fmt.Errorf("%w within %s: %w", errSlow, time.Since(began).Round(time.Millisecond), err)
	}
	return err
}
