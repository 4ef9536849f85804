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
	// calmAfter is for how long no message may have needed more than half of the longer time; then that time is halved.
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
	longer time.Duration // up to usual: the usual time is enough
	// calmSince is when a message last needed more than half of longer, or longer was changed.
	calmSince time.Time
}

func (p *patience) limit() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return max(p.usual, p.longer)
}

// note takes in how long a message took, of the time that it was given; late: no answer had come by then. Of messages
// that are late together the first counts: the others were given less than longer is by now.
func (p *patience) note(given, took time.Duration, late bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch at := time.Now(); {
	case late && given >= p.longer:
		p.longer, p.calmSince = min(2*given, mostPatience*p.usual), at
	case took > p.longer/2:
		p.calmSince = at
	case at.Sub(p.calmSince) > calmAfter:
		p.longer, p.calmSince = p.longer/2, at // Below usual it means nothing any more (limit).
	}
}

// forget gives the usual time again, because the node was not slow but away.
func (p *patience) forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.longer = 0
}

// exchangeOne sends one message and waits for its answer for as long as the node may take. It fails with errSlow if
// there is none by then, or a gateway says that it waited in vain. Then the next user of the session asks first whether
// the node still answers (doubted).
func (l *Session) exchangeOne(ctx context.Context, send func(context.Context) error) error {
	began, given := time.Now(), l.at.patience.limit()
	timed, cancel := context.WithTimeout(ctx, given)
	defer cancel()
	l.at.asked.Add(1)
	err := send(timed)
	if err != nil && ctx.Err() == nil && (!IsAnswer(err) || rateLimited(err)) {
		l.at.failed.Add(1)
	}
	// Late: our own time is over, and not the caller's.
	late := err != nil && !IsAnswer(err) && timed.Err() != nil && ctx.Err() == nil
	l.at.patience.note(given, time.Since(began), late)
	status, _ := errors.AsType[rpc.HTTPError](err)
	gateway := slices.Contains([]int{http.StatusRequestTimeout, http.StatusGatewayTimeout}, status.StatusCode)
	if late || gateway { // A gateway waits no longer if we do, so that is not noted as late.
		l.doubted.Store(true)
		err = fmt.Errorf("%w within %s: %w", errSlow, time.Since(began).Round(time.Millisecond), err)
	}
	return err
}
