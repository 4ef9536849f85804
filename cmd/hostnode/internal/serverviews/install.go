package serverviews

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	client "github.com/EventStore/EventStore-Client-Go/v4/esdb"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/projections/js"
)

// Done is what became of a projection.
type Done string

// What may become of a projection.
const (
	// Installed: it was not there, and runs now.
	Installed Done = "installed"
	// Updated: it had another source. It begins again with the first event,
	// because its states had another form.
	Updated Done = "updated"
	// Started: it was there, and had stopped.
	Started Done = "started"
	// Unchanged: it runs as it should.
	Unchanged Done = "unchanged"
	// Removed: it is gone, with its states.
	Removed Done = "removed"
	// Absent: it was not there.
	Absent Done = "absent"
)

// Change is what was done to one projection.
type Change struct {
	Name string `json:"name"`
	Done Done   `json:"done"`
}

// Install brings all projections of this build onto the server, starts them, and
// checks for some seconds that they run. It may be repeated, and changes only
// what is not as it should be. After an error the changes show how far it came.
func (s *Server) Install(ctx context.Context) ([]Change, error) {
	found, err := s.find(ctx)
	if err != nil {
		return nil, err
	}
	var changes []Change
	started := false
	for _, p := range js.All() {
		done, err := s.install(ctx, p, found[p.Name])
		if err != nil {
			return changes, err
		}
		changes = append(changes, Change{p.Name, done})
		started = started || done != Unchanged
	}
	if !started {
		return changes, nil
	}
	return changes, s.watch(ctx)
}

const (
	// watchTime is how long new projections are watched: an engine that has run
	// nothing yet may need longer for the first event than the server allows.
	watchTime = 5 * time.Second
	// restarts is how often a projection that took too long is started again: by
	// then the engine is warm, or the machine is too slow.
	restarts = 3
)

// ErrFaulted: a projection was started and has ended.
var ErrFaulted = errors.New("the projection was started and has faulted")

// watch starts projections again that faulted because an event, or reading the source, took too long.
func (s *Server) watch(ctx context.Context) error {
	again := map[string]int{}
	for left := watchTime / stopPause; left > 0; left-- {
		if err := s.pause(ctx, stopPause); err != nil {
			return err
		}
		found, err := s.find(ctx)
		if err != nil {
			return err
		}
		for _, p := range js.All() {
			there := found[p.Name]
			if there == nil || !there.is("Faulted") || there.StateReason == "" && left > 1 { // The reason comes later.
				continue
			}
			hint := hintFor(there.StateReason)
			if again[p.Name]++; hint == "" || again[p.Name] > restarts {
				reason := cmp.Or(reasonOf(there.StateReason), "no reason is given")
				return fmt.Errorf("%s: %w: %s%s", p.Name, ErrFaulted, reason, hint)
			}
			if _, err := s.install(ctx, p, there); err != nil {
				return err
			}
		}
	}
	return nil
}

// hintFor says what helps a projection that was too slow; nothing when it faulted for another reason.
func hintFor(reason string) string {
	switch {
	case strings.Contains(reason, "took too long"):
		return "; the server gives each event 250 ms: start it with a larger --projection-execution-timeout"
	case reason == untold:
		return "; the server gives reading a source 500 ms: start it with a larger --projection-compilation-timeout"
	}
	return ""
}

func (s *Server) install(ctx context.Context, p js.Projection, there *installed) (Done, error) {
	if there == nil {
		err := s.do(ctx, "create "+p.Name, func(ctx context.Context) error {
			return s.projections.Create(ctx, p.Name, p.Query, client.CreateProjectionOptions{})
		})
		if err == nil {
			return Installed, s.enable(ctx, p.Name)
		}
		if errors.Is(err, events.ErrAway) && s.definitionDeleted(ctx, p.Name) {
			err = fmt.Errorf("create %s: %w: its definition, the stream %s, was deleted; restart the server, "+
				"which frees one name each time, and repeat", p.Name, ErrStuck, definitions+p.Name)
		}
		if !errors.Is(err, errExists) {
			return "", err
		}
		there = &installed{} // Somebody else has created it meanwhile, in an unknown version.
	}
	switch {
	case there.query != p.Query:
		return Updated, s.replace(ctx, p)
	case there.is("Faulted"):
		if err := s.stop(ctx, p.Name); err != nil {
			return "", err
		}
	case there.is("Running"):
		return Unchanged, nil
	}
	return Started, s.enable(ctx, p.Name)
}

func (s *Server) enable(ctx context.Context, name string) error {
	return tell(ctx, s, "enable", name, s.projections.Enable, client.GenericProjectionOptions{})
}

// replace gives a projection another source and lets it begin again. It is
// stopped first, so that the new source never meets a state of the old one.
func (s *Server) replace(ctx context.Context, p js.Projection) error {
	if err := s.stop(ctx, p.Name); err != nil {
		return err
	}
	emit := false
	err := s.do(ctx, "update "+p.Name, func(ctx context.Context) error {
		return s.projections.Update(ctx, p.Name, p.Query, client.UpdateProjectionOptions{Emit: &emit})
	})
	if err != nil {
		return err
	}
	if err := tell(ctx, s, "reset", p.Name, s.projections.Reset, client.ResetProjectionOptions{}); err != nil {
		return err
	}
	return s.enable(ctx, p.Name)
}

// Remove removes all projections of this build from the server, with their
// states and checkpoints. Their source events are not touched.
func (s *Server) Remove(ctx context.Context) ([]Change, error) {
	found, err := s.find(ctx)
	if err != nil {
		return nil, err
	}
	var changes []Change
	for _, p := range js.All() {
		done := Absent
		if found[p.Name] != nil {
			done = Removed
			if err := s.remove(ctx, p.Name); err != nil {
				return changes, err
			}
		}
		changes = append(changes, Change{p.Name, done})
	}
	return changes, nil
}

func (s *Server) remove(ctx context.Context, name string) error {
	if err := s.stop(ctx, name); err != nil {
		return err
	}
	if err := tell(ctx, s, "delete", name, s.projections.Delete, client.DeleteProjectionOptions{
		DeleteStateStream: true, DeleteCheckpointStream: true,
	}); err != nil {
		return err
	}
	if err := s.until(ctx, name, func(p *installed) bool { return p == nil }); err != nil {
		return fmt.Errorf("delete %s: %w", name, err)
	}
	return s.sweep(ctx, name) // Until now the server wrote there itself.
}

// leftovers are the suffixes of the streams that a server may leave after any deletion. The
// definition stays: a server never again answers for a name whose definition stream was deleted.
var leftovers = []string{"-checkpoint", "-result", "-partitions", "-order"}

// sweep deletes what is left of a deleted projection; softly, because it may be installed again.
func (s *Server) sweep(ctx context.Context, name string) error {
	for _, end := range leftovers {
		stream := definitions + name + end
		err := s.do(ctx, "delete what is left of "+name, func(ctx context.Context) error {
			_, err := s.last(ctx, stream)
			if err != nil {
				return err
			}
			_, err = s.projections.Client().DeleteStream(ctx, stream,
				client.DeleteStreamOptions{ExpectedRevision: client.Any{}})
			return err //nolint:wrapcheck // call says what was done.
		})
		if err != nil && !absent(err) {
			return err
		}
	}
	return nil
}

// definitionDeleted reports whether somebody deleted the stream of a projection's definition:
// then it has metadata and no events.
func (s *Server) definitionDeleted(ctx context.Context, name string) bool {
	last := func(stream string) error {
		return s.do(ctx, "read "+stream, func(ctx context.Context) error {
			_, err := s.last(ctx, stream)
			return err
		})
	}
	stream := definitions + name
	err := last(stream)
	return errors.Is(err, events.ErrStreamDeleted) || absent(err) && last(events.MetadataStream(stream)) == nil
}
