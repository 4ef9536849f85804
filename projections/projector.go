package projections

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/snapshot"
)

// DefaultCheckpointEvery is after how many events a projector saves its views:
// a crash costs reading at most so many again, about a second.
const DefaultCheckpointEvery = 100_000

// Config is what a projector may be told.
type Config struct {
	Scope Scope
	// Dir holds the checkpoint. Empty: there is none, and every start reads all events.
	Dir string
	// CheckpointEvery is after how many events the views are saved; 0 means
	// DefaultCheckpointEvery. They are also saved by Close.
	CheckpointEvery int
	// OnStopped is called, at most once, with the reason why the views have stopped
	// following. It may be nil.
	OnStopped func(why string)
	// Now is the machine's clock; nil: time.Now.
	Now func() time.Time
}

// Projector keeps views up to date with a store. All methods are safe for
// concurrent use; what they return is a copy that never changes.
type Projector struct {
	store events.Store
	cfg   Config
	file  snapshot.File

	mu      sync.RWMutex
	views   *Views
	changed chan struct{} // closed and replaced when the views moved on
	status  Status
	unsaved int // events since the last checkpoint
	recent  recentEvents

	saving sync.Mutex // one checkpoint at a time
	follow context.CancelFunc
	done   sync.WaitGroup
	denied atomic.Bool // the last subscription was
}

// Status says how a projector is doing.
type Status struct {
	AsOf events.Position `json:"asOf"`
	// Following says that new events are folded as they come.
	Following bool `json:"following"`
	// Error is why the views stopped following, empty while they do.
	Error string `json:"error,omitempty"`
	// AwaySince is since when the store does not answer, or denies access, by the machine's
	// clock, and Away the last error. Both are zero while it answers. The views
	// stay as they are, and go on by themselves.
	AwaySince time.Time `json:"awaySince,omitzero"`
	Away      string    `json:"away,omitempty"`
	// StartedFrom is the position of the checkpoint that was loaded, 0 for none;
	// Ignored says why an existing one was not.
	StartedFrom events.Position `json:"startedFrom"`
	Ignored     string          `json:"checkpointIgnored,omitempty"`
	// SavedAt is the position of the last checkpoint; SaveError says why the
	// last try failed, which does not affect the views.
	SavedAt   events.Position `json:"savedAt"`
	SaveError string          `json:"saveError,omitempty"`
	// Skipped counts the events that could not be read; Problems names the first ones.
	Skipped  uint64    `json:"skipped"`
	Problems []Problem `json:"problems"`
}

// Open loads the checkpoint, if there is a usable one, and reads on to the end
// of the store. It does not follow yet. It waits for a store that does not
// answer until ctx ends, and Status.Away says so.
func Open(ctx context.Context, store events.Store, cfg Config) (*Projector, error) {
	if cfg.CheckpointEvery <= 0 {
		cfg.CheckpointEvery = DefaultCheckpointEvery
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	p := &Projector{store: store, cfg: cfg, views: NewViews(cfg.Scope), changed: make(chan struct{})}
	p.file = snapshot.File{
		Path: filepath.Join(cfg.Dir, checkpointFile), Schema: p.views.scope.Schema(), Most: maxCheckpointBytes,
	}
	if err := p.insist(ctx, p.load, events.ErrAway); err != nil {
		return nil, err
	}
	p.recent.begin = p.views.asOf
	if err := p.CatchUp(ctx); err != nil {
		return nil, err
	}
	return p, nil
}

// load restores the views from the checkpoint, if there is one that fits.
func (p *Projector) load(ctx context.Context) error {
	if p.cfg.Dir == "" {
		return nil
	}
	loaded := NewViews(p.cfg.Scope)
	found, err := p.file.Load(ctx, p.store, loaded.State)
	if err != nil {
		return fmt.Errorf("load the checkpoint of the views: %w", err)
	}
	if found.Usable {
		// Later events of the system are read again, because nothing proves that the store still has them.
		loaded.asOf, loaded.recorded = loaded.anchor.Position, loaded.anchored
		p.views = loaded
		p.status.StartedFrom, p.status.SavedAt = loaded.asOf, loaded.asOf
	}
	for _, why := range found.Ignored { // A damaged file, or the disk; the views can do without it.
		p.status.Ignored = why.Error()
	}
	return nil
}

// CatchUp reads to the end of the store. It waits for a store that does not
// answer until ctx ends.
func (p *Projector) CatchUp(ctx context.Context) error {
	return p.insist(ctx, func(ctx context.Context) error {
		head, err := p.store.Head(ctx)
		if err != nil {
			return fmt.Errorf("read events for the views: %w", err)
		}
		for r, err := range events.ReadPrefixed(ctx, p.store, p.AsOf(), p.cfg.Scope.Prefixes()) {
			if err != nil {
				return fmt.Errorf("read events for the views: %w", err)
			}
			p.apply(r)
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		p.views.asOf = max(p.views.asOf, head) // The events that were left out are of no concern to the views.
		return nil
	}, events.ErrAway)
}

// Close stops following and saves the views.
func (p *Projector) Close() error {
	if p.follow != nil {
		p.follow()
	}
	p.done.Wait()
	return p.Save()
}

func (p *Projector) apply(r events.Recorded) {
	p.mu.Lock()
	p.views.Apply(r)
	p.recent.add(r)
	p.unsaved++
	due := p.unsaved >= p.cfg.CheckpointEvery
	close(p.changed)
	p.changed = make(chan struct{})
	p.mu.Unlock()
	if due {
		// Save notes its error; views that cannot be saved still work.
		_ = p.Save()
	}
}

// Save writes a checkpoint now, if there is a directory for it.
func (p *Projector) Save() error {
	if p.cfg.Dir == "" {
		return nil
	}
	p.saving.Lock()
	defer p.saving.Unlock()
	p.mu.Lock()
	same := p.unsaved == 0 && p.views.anchor.Position == p.status.SavedAt
	p.unsaved = 0
	p.mu.Unlock()
	if same {
		return nil
	}
	p.mu.RLock()
	last := p.views.anchor
	state, err := snapshot.Encode(p.views.State)
	p.mu.RUnlock()
	if err == nil {
		err = os.MkdirAll(p.cfg.Dir, 0o700)
	}
	if err == nil {
		err = p.file.Save(last, state)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.status.SaveError = ""
	if err != nil {
		err = fmt.Errorf("save the checkpoint of the views: %w", err)
		p.status.SaveError = err.Error()
		return err
	}
	p.status.SavedAt = last.Position
	return nil
}

// AsOf is the position of the last event that the views saw.
func (p *Projector) AsOf() events.Position {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.views.asOf
}

// WaitFor returns when the views have seen the event at a position, so that
// the writer can read the effect.
func (p *Projector) WaitFor(ctx context.Context, position events.Position) error {
	for {
		p.mu.RLock()
		asOf, changed := p.views.asOf, p.changed
		p.mu.RUnlock()
		if asOf >= position {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("wait for log position %d, the views are at %d: %w", position, asOf, ctx.Err())
		}
	}
}

// Status describes the state of the projector.
func (p *Projector) Status() Status {
	p.mu.RLock()
	defer p.mu.RUnlock()
	s := p.status
	s.AsOf = p.views.asOf
	s.Problems, s.Skipped = append([]Problem{}, p.views.problems...), p.views.skipped
	return s
}

// Ledgers is the view of the availabilities.
func (p *Projector) Ledgers() LedgersView { return look(p, (*Views).Ledgers) }

// Sales is the view of the sales.
func (p *Projector) Sales() SalesView { return look(p, (*Views).Sales) }

// Queues is the view of the slot queues.
func (p *Projector) Queues() QueuesView { return look(p, (*Views).Queues) }

// Earnings is the view of what was earned.
func (p *Projector) Earnings() EarningsView { return look(p, (*Views).Earnings) }

// Hosts is the view of the hosts and their runs.
func (p *Projector) Hosts() HostsView { return look(p, (*Views).Hosts) }

// SettingChanges are the newest changes of a host's settings, the newest last.
func (p *Projector) SettingChanges(host string) []SettingChange {
	return look(p, func(v *Views) []SettingChange { return v.SettingChanges(host) })
}

// Validators is the view of what was marked.
func (p *Projector) Validators() ValidatorsView { return look(p, (*Views).Validators) }

// Sectors is the view of the sectors.
func (p *Projector) Sectors() SectorsView { return look(p, (*Views).Sectors) }

// Of is the view of a machine that has its own, as Views.Of says.
func (p *Projector) Of(category string) (rows map[string]any, known bool) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.views.Of(category)
}

func look[T any](p *Projector, view func(*Views) T) T {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return view(p.views)
}
