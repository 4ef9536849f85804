package shell

import (
	"context"
	"errors"
	"fmt"

	"github.com/hostnode/hostnode/events"
)

// maxConflicts is how often a command is decided again because another process wrote to the
// stream, which only a shared event store allows.
const maxConflicts = 3

// Once reads the stream, decides a command and appends the resulting events, in a process
// without actors. When it returns nil, they are durable. Use a new Journal for each call.
func (j *Journal[S, C, E]) Once(ctx context.Context, cmd C, cause string) error {
	for n := 1; ; n++ {
		err := j.once(ctx, cmd, cause)
		if !errors.Is(err, events.ErrWrongRevision) || n == maxConflicts {
			return err
		}
	}
}

func (j *Journal[S, C, E]) once(ctx context.Context, cmd C, cause string) error {
	m, err := j.Read(ctx)
	if err != nil {
		return fmt.Errorf("read %s: %w", j.Stream, err)
	}
	j.Ahead, j.decided = m.From.Ahead, m.From.Events+uint64(len(m.Events))
	for _, e := range m.Events {
		j.Ahead = j.Evolve(j.Ahead, e)
	}
	first := j.decided
	en := j.decideOn(command[S, C, E]{cmd: cmd, cause: cause})
	if en.err != nil || len(en.stored) == 0 {
		return en.err
	}
	if _, err := j.Store.Append(ctx, j.Stream, events.ExpectNext(first), en.stored); err != nil {
		return fmt.Errorf("write %s: %w", j.Stream, err)
	}
	return nil
}
