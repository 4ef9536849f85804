package main

import (
	"context"
	"io"
)

// input is standard input for a command that a signal ends: a read that waits for a person
// or a pipe does not keep the program.
func (a *app) input(ctx context.Context) io.Reader { return interruptible{ctx, a.stdin} }

type interruptible struct {
	ctx  context.Context
	from io.Reader
}

// Read reads, until the context ends; what is read then is lost.
func (r interruptible) Read(into []byte) (int, error) {
	return untilDone(r.ctx, func() (int, error) {
		return r.from.Read(into)
	})
}

// untilDone calls what cannot be interrupted, and does not wait for it any longer when the
// context ends. The program ends then.
func untilDone[A any](ctx context.Context, call func() (A, error)) (answer A, err error) {
	type result struct {
		answer A
		err    error
	}
	done := make(chan result, 1)
	go func() {
		answer, err := call()
		done <- result{answer, err}
	}()
	select {
	case r := <-done:
		return r.answer, r.err
	case <-ctx.Done():
		return answer, context.Cause(ctx)
	}
}
