package api

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/problem"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/replay"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/catalog"
)

// Replay implements Backend. A whole name is looked for at once; to find what a shorter one stands for, all
// events of such streams are read.
func (r *reader) Replay(ctx context.Context, q ReplayQuestion) (result replay.Result, err error) {
	name := strings.TrimSpace(q.Stream)
	err = replay.ErrUnknownStream
	if replay.Whole(name) {
		result, err = replay.Stream(ctx, r.store, name, q.At.until(), q.Events)
	}
	if errors.Is(err, replay.ErrUnknownStream) {
		if name, err = r.find(ctx, name); err != nil {
			return replay.Result{}, err
		}
		result, err = replay.Stream(ctx, r.store, name, q.At.until(), q.Events)
	}
	switch {
	case err != nil:
		return result, err
	case q.At.HasRevision && q.At.Revision > result.Last:
		return replay.Result{}, fmt.Errorf("%w: revision %d; %s ends with revision %d of %s", replay.ErrBeyond,
			q.At.Revision, name, result.Last, result.Recorded.Format(time.RFC3339))
	}
	head, err := r.store.Head(ctx)
	if err == nil && q.At.Position > head {
		err = fmt.Errorf("%w: log position %d; the last one is %d", replay.ErrBeyond, q.At.Position, head)
	}
	return result, err
}

// find returns the stream that a text stands for; replay.ErrUnknownStream names the nearest ones. Wallets write
// accounts, and people categories, with capitals, which our names do not have.
func (r *reader) find(ctx context.Context, typed string) (string, error) {
	name, err := r.findAs(ctx, typed)
	if lower := strings.ToLower(typed); errors.Is(err, replay.ErrUnknownStream) && lower != typed {
		if other, failed := r.findAs(ctx, lower); !errors.Is(failed, replay.ErrUnknownStream) {
			return other, failed
		}
	}
	return name, err
}

func (r *reader) findAs(ctx context.Context, typed string) (string, error) {
	known, err := r.streams(ctx, replay.Prefixes(typed))
	if err != nil {
		return "", err
	}
	name, err := replay.Find(typed, known)
	switch {
	case errors.Is(err, replay.ErrAmbiguous):
		return "", fmt.Errorf("%w: %w", problem.ErrAmbiguous, err)
	case !errors.Is(err, replay.ErrUnknownStream):
		return name, err
	}
	if known, err = r.streams(ctx, replay.Prefixes("")); err == nil {
		err = replay.Unknown(typed, known)
	}
	return "", err
}

// streams returns the names of our streams that begin with one of the prefixes.
func (r *reader) streams(ctx context.Context, prefixes []string) ([]string, error) {
	names := map[string]bool{}
	for e, err := range events.ReadPrefixed(ctx, r.store, 0, prefixes) {
		if err != nil {
			return nil, fmt.Errorf("look for the stream: %w", err)
		}
		names[e.Stream] = true
	}
	return slices.DeleteFunc(slices.Sorted(maps.Keys(names)), func(name string) bool {
		_, ours := catalog.Streams().Owner(name)
		return !ours
	}), nil
}
