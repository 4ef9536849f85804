package chainview

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hostnode/hostnode/actors/shell"
)

// This file bounds how long a call on the chain may take. Adapters have timeouts of their own,
// but a port promises none, and a call that is never answered would hold up all later ones
// while proofs fall due.

// callPatience is how long a call on the chain may take, by the machine's clock, or two thirds
// of a period if that is shorter: the next try must still be in time for proofs that fall due
// in that period.
const callPatience = time.Minute

// LookPatience is how long a sale waits at its start, by the machine's clock, for the market's
// answer about its proofs, or a third of a period if that is shorter. No effect of the sale
// begins before it is over.
const LookPatience = 10 * time.Second

// errImpatient: a call took too long.
var errImpatient = errors.New("no answer")

// Patience is how long a call on the chain may take.
func (c *Chain) Patience() time.Duration {
	if period := c.Terms.Proofs.Period; period > 0 {
		return min(callPatience, period*2/3)
	}
	return callPatience
}

// Patiently makes a call and abandons it after a while, with errImpatient.
func Patiently[T any](
	ctx context.Context, b *shell.Base, most time.Duration, call func(context.Context) (T, error),
) (T, error) {
	bounded, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer b.Clock.After(most, func() { cancel(errImpatient) })()
	var v T
	err := b.RT.Guarded("a call on the chain", func() (err error) {
		v, err = call(bounded)
		return err
	})
	if err != nil && ctx.Err() == nil && errors.Is(context.Cause(bounded), errImpatient) {
		err = fmt.Errorf("%w within %s", errImpatient, most)
	}
	return v, err
}
