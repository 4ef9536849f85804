package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Input is standard input for a command that a signal can end: a read that waits for a
// person or a pipe does not keep the program running.
func (a *App) Input(ctx context.Context) io.Reader {
	return readFunc(func(into []byte) (int, error) {
		return UntilDone(ctx, func() (int, error) { return a.Stdin.Read(into) })
	})
}

// maxTyped bounds a typed answer, in bytes.
const maxTyped = 100

// Types reports whether somebody types a text.
func (a *App) Types(ctx context.Context, text string) (bool, error) {
	said, err := bufio.NewReader(io.LimitReader(a.Input(ctx), maxTyped)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) && strings.TrimSpace(said) != text {
		return false, fmt.Errorf("read the answer: %w", err)
	}
	return strings.TrimSpace(said) == text, nil
}

// readFunc is a reader that is a function.
type readFunc func([]byte) (int, error)

// Read implements io.Reader. What is read after the context has ended is lost.
func (f readFunc) Read(into []byte) (int, error) { return f(into) }

// UntilDone makes a call that cannot be interrupted, and stops waiting for it when the
// context ends. The program ends then.
func UntilDone[A any](ctx context.Context, call func() (A, error)) (answer A, err error) {
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
