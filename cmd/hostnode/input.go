package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
)

// input is standard input for a command that a signal can end: a read that waits for a
// person or a pipe does not keep the program running.
func (a *app) input(ctx context.Context) io.Reader {
	return readFunc(func(into []byte) (int, error) {
		return untilDone(ctx, func() (int, error) { return a.stdin.Read(into) })
	})
}

// maxTyped bounds a typed answer, in bytes.
const maxTyped = 100

// types reports whether somebody types a text.
func (a *app) types(ctx context.Context, text string) (bool, error) {
	said, err := bufio.NewReader(io.LimitReader(a.input(ctx), maxTyped)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) && strings.TrimSpace(said) != text {
		return false, fmt.Errorf("read the answer: %w", err)
	}
	return strings.TrimSpace(said) == text, nil
}

// readFunc is a reader that is a function.
type readFunc func([]byte) (int, error)

// Read implements io.Reader. What is read after the context has ended is lost.
func (f readFunc) Read(into []byte) (int, error) { return f(into) }

// untilDone makes a call that cannot be interrupted, and stops waiting for it when the
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
