package sim

import (
	"context"
	"fmt"

	"github.com/hostnode/hostnode/events"
)

// Account implements port.Account for one process of a member: the right to send the account's
// transactions. The market of its world sends only while it owns the account. It is lost when
// another member owns it. Safe for concurrent use.
type Account struct {
	world *world
	owns  bool
	lost  chan struct{}
	owned int
}

// ownership is who owns an account, among worlds beside each other.
type ownership struct {
	by *Account
	// shared is a planted error: who owned it before is not told, and goes on sending.
	shared bool
	// repeats is another: a call that is made again passes for a new one.
	repeats bool
	// gullible is a third: what the account holds is believed of a chain without what was paid.
	gullible bool
}

// Account returns the account of a new process in this world; that of an older one sends nothing
// more.
func (w *World) Account() *Account { return w.w.newAccount() }

func (w *world) newAccount() *Account {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.account = &Account{world: w, lost: make(chan struct{})}
	return w.account
}

// Own implements port.Account.
func (a *Account) Own(ctx context.Context) error {
	_, err := do(ctx, a.world.bus, "account.own", locked(a.world, func() (struct{}, error) {
		owning := a.world.owning
		if before := owning.by; before != nil && before != a && before.owns && !owning.shared {
			before.owns = false
			close(before.lost)
		}
		if !a.owns {
			a.lost = make(chan struct{})
		}
		owning.by, a.owns = a, true
		a.owned++
		return struct{}{}, nil
	}))
	return err
}

// Disown implements port.Account.
func (a *Account) Disown() error {
	a.world.mu.Lock()
	defer a.world.mu.Unlock()
	a.owns = false
	return nil
}

// Lost implements port.Account.
func (a *Account) Lost() <-chan struct{} {
	a.world.mu.Lock()
	defer a.world.mu.Unlock()
	return a.lost
}

// SubmitProof implements port.Account.
func (a *Account) SubmitProof(
	ctx context.Context, call events.SlotCall, period uint64, p events.Proof,
) (events.Receipt, error) {
	key := fmt.Sprintf("account.proof %s %d", call.Slot.Short(), period)
	name, effect := fakeMarket{a.world}.proving(ctx, call, period, p)
	return do(ctx, a.world.bus, key, locked(a.world, func() (events.Receipt, error) {
		return settling(ctx, a.world, name, effect)
	}))
}

// TakenProofs implements port.Account.
func (a *Account) TakenProofs(ctx context.Context, slot events.SlotID, from uint64) ([]events.TakenProof, error) {
	key := fmt.Sprintf("account.takenProofs %s %d", slot.Short(), from)
	name, effect := fakeMarket{a.world}.taken(slot, from)
	return do(ctx, a.world.bus, key, locked(a.world, func() ([]events.TakenProof, error) {
		return settling(ctx, a.world, name, effect)
	}))
}

// Owned is how often this process has owned the account.
func (a *Account) Owned() int {
	a.world.mu.Lock()
	defer a.world.mu.Unlock()
	return a.owned
}

// Owns reports whether this process owns the account now.
func (a *Account) Owns() bool {
	a.world.mu.Lock()
	defer a.world.mu.Unlock()
	return a.owns
}

// maySend reports whether this process sends the account's transactions now. The lock must be held.
func (w *world) maySend() error {
	if w.account != nil && !w.account.owns {
		return events.ErrNotOwner
	}
	return nil
}
