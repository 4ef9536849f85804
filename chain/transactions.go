package chain

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/core/types"

	"github.com/hostnode/hostnode/chain/account"
	"github.com/hostnode/hostnode/chain/tx"
	"github.com/hostnode/hostnode/events"
)

// Transactions are the account's transactions. Of the processes of a host one at a time owns them: it
// alone has a transaction manager, from Market.Own until Market.Disown. All methods are safe for
// concurrent use.
type Transactions struct {
	lock chan struct{} // one Own, Disown, Close, or change of shared at a time

	mu      sync.Mutex
	shared  *ownership              // what calls without an ownership share; nil: there are none
	now     *ownership              // nil: there is none
	noOwner error                   // what calls get when there is none
	opening context.CancelCauseFunc // ends the newest Own, if it is under way; nil: there was none
	failed  chan struct{}           // see Market.Failed
	due     map[string]time.Time    // see DutiesDue, by kind
}

// ownership is the time from an Own to a Disown.
type ownership struct {
	manager *tx.Manager
	ctx     context.Context // ends with it; the cause is what calls under way get
	end     context.CancelCauseFunc

	users int // of one that is shared
}

func newOwnership(manager *tx.Manager) *ownership {
	own := &ownership{manager: manager}
	own.ctx, own.end = context.WithCancelCause(context.Background())
	return own
}

// withManager runs call, as Transactions.WithManager describes.
func (own *ownership) withManager(ctx context.Context, call func(context.Context, *tx.Manager) error) error {
	inOwnership, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(own.ctx, cancel)()
	err := call(inOwnership, own.manager)
	ended := context.Cause(own.ctx)
	switch {
	case err == nil, ended == nil, ctx.Err() != nil:
		return err
	case errors.Is(err, context.Canceled), errors.Is(err, tx.ErrStopped):
		return ended
	}
	return fmt.Errorf("%w: %w", ended, err)
}

func newTransactions() *Transactions {
	return &Transactions{
		lock: make(chan struct{}, 1), noOwner: events.ErrNotOwner,
		failed: make(chan struct{}), due: map[string]time.Time{},
	}
}

// WithManager runs call with the transaction manager, and returns its error. The context of call ends with
// the ownership. If the ownership has ended before call did, or there is none, the error is ErrNotOwner; an
// outcome that call found all the same is wrapped with it. After Market.Close it is tx.ErrStopped.
func (t *Transactions) WithManager(ctx context.Context, call func(context.Context, *tx.Manager) error) error {
	t.mu.Lock()
	own, noOwner := t.now, t.noOwner
	t.mu.Unlock()
	if own == nil {
		return noOwner
	}
	return own.withManager(ctx, call)
}

// acquire takes the lock of changes of the ownership.
func (t *Transactions) acquire(ctx context.Context) error {
	select {
	case t.lock <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (t *Transactions) release() { <-t.lock }

// sending is a market during one ownership of the account's transactions: what it asks and sends in one
// call belongs together, and must not go on in the next ownership.
type sending struct {
	*Market
	tx *tx.Manager
}

// do makes a call with a result. Its errors say what was being done.
func do[T any](
	ctx context.Context, m *Market, with account.WithManager, doing string,
	call func(context.Context, sending) (T, error),
) (T, error) {
	return account.Do(ctx, with, doing, func(ctx context.Context, manager *tx.Manager) (T, error) {
		return call(ctx, sending{m, manager})
	})
}

// mined is the receipt of our newest success whose key begins with a prefix; nil: there is none.
func (m sending) mined(ctx context.Context, prefix string) (*types.Receipt, error) {
	return account.Mined(ctx, m.conn, m.tx, beginsWith(prefix))
}

func beginsWith(prefix string) func(key string) bool {
	return func(key string) bool { return strings.HasPrefix(key, prefix) }
}

// DutiesDue tells by when, in chain time, the earliest unsubmitted duty of a kind must be mined; zero:
// there is none. The last call counts, until its time has passed, also for ownerships that begin after
// it. It does not block.
func (t *Transactions) DutiesDue(kind string, next time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.due[kind] = next
	if t.now != nil {
		t.now.manager.DutiesDue(kind, next)
	}
}

// manager is the transaction manager; nil: there is none.
func (t *Transactions) manager() *tx.Manager {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.now == nil {
		return nil
	}
	return t.now.manager
}

// own begins an ownership with the manager that open returns.
func (t *Transactions) own(ctx context.Context, open func(context.Context) (*tx.Manager, error)) error {
	if err := t.acquire(ctx); err != nil {
		return err
	}
	defer t.release()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	t.mu.Lock()
	now, noOwner := t.now, t.noOwner
	t.opening = cancel
	t.mu.Unlock()
	switch {
	case now != nil:
		return now.manager.Failure()
	case !errors.Is(noOwner, events.ErrNotOwner):
		return noOwner
	}
	if err := t.endShared(noOwner); err != nil { // The outbox can be open once.
		return err
	}
	manager, err := open(ctx)
	if err == nil && !t.begin(ctx, manager) {
		err = errors.Join(context.Cause(ctx), manager.Close())
	}
	if ended := context.Cause(ctx); err != nil && ended != nil && !errors.Is(err, ended) {
		err = fmt.Errorf("%w: %w", ended, err)
	}
	return err
}

// begin notes an ownership, unless ctx has ended.
func (t *Transactions) begin(ctx context.Context, manager *tx.Manager) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if ctx.Err() != nil {
		return false
	}
	for kind, next := range t.due {
		manager.DutiesDue(kind, next)
	}
	own := newOwnership(manager)
	t.now = own
	go t.watch(own)
	return true
}

// watch tells when an ownership fails.
func (t *Transactions) watch(own *ownership) {
	select {
	case <-own.manager.Failed():
	case <-own.ctx.Done():
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.now == own {
		close(t.failed)
	}
}

// disown ends the ownership, and an Own under way.
func (t *Transactions) disown() error {
	t.mu.Lock()
	if t.opening != nil {
		t.opening(t.noOwner)
	}
	if t.now != nil {
		t.now.end(t.noOwner)
	}
	t.mu.Unlock()

	t.lock <- struct{}{}
	defer t.release()
	t.mu.Lock()
	own, noOwner := t.now, t.noOwner
	t.now = nil
	select {
	case <-t.failed:
		t.failed = make(chan struct{})
	default:
	}
	t.mu.Unlock()
	if own == nil {
		return nil
	}
	own.end(noOwner) // Another Own may have had the lock first.
	return own.manager.Close()
}

// close is disown for good.
func (t *Transactions) close() error {
	t.mu.Lock()
	t.noOwner = tx.ErrStopped
	t.mu.Unlock()
	err := t.disown()
	t.lock <- struct{}{}
	defer t.release()
	return errors.Join(err, t.endShared(tx.ErrStopped))
}
