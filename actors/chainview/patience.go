package chainview

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hostnode/hostnode/actors/shell"
)

// This file bounds how long a reading of the chain is waited for. Adapters have
// timeouts of their own, but a port promises none, and behind a question that is never
// answered nothing else would be asked, while proofs fall due.

// callPatience is the longest that a reading of the chain is waited for, by the
// machine's clock, or two thirds of a period if that is shorter: the next try must
// still be in time for what falls due in it. Then it is asked anew.
const callPatience = time.Minute

// LookPatience is how long the first look at a sale waits, by the machine's clock, for
// what the market says of its proofs, or a third of a period if that is shorter:
// no effect begins before it.
const LookPatience = 10 * time.Second

// errImpatient: a call took longer than it is waited for.
var errImpatient = errors.New("no answer")

// Patience is how long a reading of the chain is waited for.
func (c *Chain) Patience() time.Duration {
	if period := c.Terms.Proofs.Period; period > 0 {
		return min(callPatience, period*2/3)
	}
	return callPatience
}

// Patiently makes a call and abandons it after a while; then errImpatient.
func Patiently[T any](
	ctx context.Context, b *shell.Base, most time.Duration, call func(context.Context) (T, error),
) (T, error) {
	bounded, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stop := b.Clock.After(most, func() { cancel(errImpatient) })
	defer stop()
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
