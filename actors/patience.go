package actors

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// This file bounds how long a reading of the chain is waited for. Adapters have
// timeouts of their own, but a port promises none, and behind a question that is never
// answered nothing else would be asked, while proofs fall due.

// callPatience is the longest that a reading of the chain is waited for, by the
// machine's clock, or two thirds of a period if that is shorter: the next try must
// still be in time for what falls due in it. Then it is asked anew.
const callPatience = time.Minute

// errImpatient: a call took longer than it is waited for.
var errImpatient = errors.New("no answer")

// patience is how long a reading of the chain is waited for.
func (e *env) patience() time.Duration {
	if period := e.terms.Proofs.Period; period > 0 {
		return min(callPatience, period*2/3)
	}
	return callPatience
}

// patiently makes a call and abandons it after a while; then errImpatient.
func patiently[T any](
	ctx context.Context, e *env, most time.Duration, call func(context.Context) (T, error),
) (T, error) {
	bounded, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stop := e.Clock.After(most, func() { cancel(errImpatient) })
	defer stop()
	var v T
	err := e.RT.Guarded("a call on the chain", func() (err error) {
		v, err = call(bounded)
		return err
	})
	if err != nil && ctx.Err() == nil && errors.Is(context.Cause(bounded), errImpatient) {
		err = fmt.Errorf("%w within %s", errImpatient, most)
	}
	return v, err
}
