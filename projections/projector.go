package projections

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"sync"

	"github.com/hostnode/hostnode/events"
)

// DefaultCheckpointEvery is after how many events a projector saves its views:
// reading so many takes about a second, which is what a crash costs.
const DefaultCheckpointEvery = 100_000

// Config is what a projector may be told.
type Config struct {
	Scope Scope
	// Dir holds the checkpoint. Empty: there is none, and every start reads all.
	Dir string
	// CheckpointEvery is after how many events the views are saved; 0 means
	// DefaultCheckpointEvery. They are also saved by Close.
	CheckpointEvery int
}

// Projector keeps views up to date with a store. All methods are safe for
// concurrent use; what they return is a copy that never changes.
type Projector struct {
	store events.Store
	cfg   Config

	mu      sync.RWMutex
	views   *Views
	changed chan struct{} // closed and replaced when the views moved on
	status  Status
	unsaved int // events since the last checkpoint

	saving sync.Mutex // one checkpoint at a time
	follow context.CancelFunc
	done   sync.WaitGroup
}

// Status says how a projector is doing.
type Status struct {
	AsOf events.Position `json:"asOf"`
	// Following says that new events arrive by themselves.
	Following bool `json:"following"`
	// Error is why the views stopped following, empty while they do.
	Error string `json:"error,omitempty"`
	// StartedFrom is the position of the checkpoint that was loaded, 0 for none,
	// and Ignored why one that was there was not.
	StartedFrom events.Position `json:"startedFrom"`
	Ignored     string          `json:"checkpointIgnored,omitempty"`
	// SavedAt is the position of the last checkpoint; SaveError is why the last
	// try failed. The views are none the worse for it.
	SavedAt   events.Position `json:"savedAt"`
	SaveError string          `json:"saveError,omitempty"`
	// Skipped counts the events that could not be read, Problems names the first.
	Skipped  uint64    `json:"skipped"`
	Problems []Problem `json:"problems"`
}

// Open loads the checkpoint, if there is a usable one, and reads on to the end
// of the store. It does not follow yet.
func Open(ctx context.Context, store events.Store, cfg Config) (*Projector, error) {
	if cfg.CheckpointEvery <= 0 {
		cfg.CheckpointEvery = DefaultCheckpointEvery
	}
	p := &Projector{store: store, cfg: cfg, changed: make(chan struct{})}
	if err := p.load(ctx); err != nil {
		return nil, err
	}
	if err := p.CatchUp(ctx); err != nil {
		return nil, err
	}
	return p, nil
}

// load takes the views from the checkpoint, or empty ones.
func (p *Projector) load(ctx context.Context) error {
	p.views = NewViews(p.cfg.Scope)
	if p.cfg.Dir == "" {
		return nil
	}
	loaded, err := loadCheckpoint(p.cfg.Dir)
	if err == nil {
		err = p.fits(ctx, loaded)
	}
	switch {
	case err == nil:
		p.views = loaded
		p.status.StartedFrom, p.status.SavedAt = loaded.asOf, loaded.asOf
	case errors.Is(err, fs.ErrNotExist):
	case errors.Is(err, errCheckpoint):
		p.status.Ignored = err.Error()
	case ctx.Err() != nil:
		return ctx.Err()
	default: // The disk; the views can do without it.
		p.status.Ignored = err.Error()
	}
	return nil
}

// fits says whether a checkpoint is of this store and of what is asked for.
func (p *Projector) fits(ctx context.Context, loaded *Views) error {
	if loaded.scope != p.views.scope {
		return fmt.Errorf("%w: it was made for another host or other limits", errCheckpoint)
	}
	if loaded.asOf == 0 {
		return nil
	}
	for r, err := range p.store.ReadAll(ctx, loaded.asOf-1, 1) {
		if err != nil {
			return fmt.Errorf("%w: read position %d: %w", errCheckpoint, loaded.asOf, err)
		}
		if r.Position == loaded.asOf && r.ID == loaded.last {
			return nil
		}
	}
	return fmt.Errorf("%w: it belongs to another store", errCheckpoint)
}

// CatchUp reads to the end of the store.
func (p *Projector) CatchUp(ctx context.Context) error {
	for r, err := range p.store.ReadAll(ctx, p.AsOf(), 0) {
		if err != nil {
			return fmt.Errorf("read events for the views: %w", err)
		}
		p.apply(r)
	}
	return nil
}

// Follow reads new events as they become durable, until Close. It may be
// called once.
func (p *Projector) Follow(ctx context.Context) {
	ctx, p.follow = context.WithCancel(ctx)
	p.mu.Lock()
	p.status.Following = true
	p.mu.Unlock()
	p.done.Go(func() {
		var why error
		for r, err := range p.store.Subscribe(ctx, p.AsOf()) {
			if err != nil {
				why = err
				break
			}
			p.apply(r)
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		p.status.Following = false
		if ctx.Err() == nil && why != nil {
			p.status.Error = "read events for the views: " + why.Error()
		}
	})
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
	p.unsaved++
	due := p.unsaved >= p.cfg.CheckpointEvery
	close(p.changed)
	p.changed = make(chan struct{})
	p.mu.Unlock()
	if due {
		// Save notes its error; a projector without a disk still projects.
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
	position := p.views.asOf
	fresh := p.unsaved > 0
	p.unsaved = 0
	p.mu.Unlock()
	if !fresh && position == p.Status().SavedAt {
		return nil
	}
	p.mu.RLock()
	position = p.views.asOf
	file, err := encodeCheckpoint(p.views)
	p.mu.RUnlock()
	if err == nil {
		err = saveCheckpoint(p.cfg.Dir, file)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.status.SaveError = ""
	if err != nil {
		p.status.SaveError = err.Error()
		return err
	}
	p.status.SavedAt = position
	return nil
}

// Rebuild builds the views again from the first event and puts them in the
// place of the old ones. Readers see the old ones until then.
func (p *Projector) Rebuild(ctx context.Context) error {
	fresh := NewViews(p.cfg.Scope)
	read := func() error {
		for r, err := range p.store.ReadAll(ctx, fresh.asOf, 0) {
			if err != nil {
				return fmt.Errorf("rebuild the views: %w", err)
			}
			fresh.Apply(r)
		}
		return nil
	}
	if err := read(); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	// What came meanwhile is short. Everything that the old views saw is
	// durable, so the new ones never go back.
	if err := read(); err != nil {
		return err
	}
	p.views, p.unsaved = fresh, p.cfg.CheckpointEvery
	close(p.changed)
	p.changed = make(chan struct{})
	return nil
}

// AsOf is the position of the last event that the views saw.
func (p *Projector) AsOf() events.Position {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.views.asOf
}

// WaitFor returns when the views have seen the event at a position: so that
// whoever appended it can read what followed.
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
			return fmt.Errorf("wait for position %d, the views are at %d: %w", position, asOf, ctx.Err())
		}
	}
}

// Status says how the projector is doing.
func (p *Projector) Status() Status {
	p.mu.RLock()
	defer p.mu.RUnlock()
	s := p.status
	s.AsOf = p.views.asOf
	s.Problems, s.Skipped = p.views.Problems()
	if s.Problems == nil {
		s.Problems = []Problem{}
	}
	return s
}

// Ledgers is the view of the availabilities.
func (p *Projector) Ledgers() LedgersView { return look(p, (*Views).Ledgers) }

// Reservations is the view of the reservations.
func (p *Projector) Reservations() ReservationsView { return look(p, (*Views).Reservations) }

// Sales is the view of the sales.
func (p *Projector) Sales() SalesView { return look(p, (*Views).Sales) }

// Queues is the view of the slot queues.
func (p *Projector) Queues() QueuesView { return look(p, (*Views).Queues) }

// Transactions is the view of the transactions.
func (p *Projector) Transactions() TransactionsView { return look(p, (*Views).Transactions) }

// Earnings is the view of what was earned.
func (p *Projector) Earnings() EarningsView { return look(p, (*Views).Earnings) }

// Hosts is the view of the hosts and their runs.
func (p *Projector) Hosts() HostsView { return look(p, (*Views).Hosts) }

func look[T any](p *Projector, view func(*Views) T) T {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return view(p.views)
}

// Snapshot is all views at one position, as they print, to compare.
type Snapshot struct {
	AsOf   events.Position
	Scope  Scope
	Tables []PrintedTable
}

// PrintedTable is one view as JSON.
type PrintedTable struct {
	Name string
	JSON json.RawMessage
}

// Snapshot prints all views as of one position.
func (v *Views) Snapshot() (Snapshot, error) {
	out := Snapshot{AsOf: v.asOf, Scope: v.scope}
	for _, t := range v.Tables() {
		printed, err := json.Marshal(t.Rows)
		if err != nil {
			return Snapshot{}, fmt.Errorf("print view %s: %w", t.Name, err)
		}
		out.Tables = append(out.Tables, PrintedTable{t.Name, printed})
	}
	return out, nil
}

// Snapshot prints all views as of one position.
func (p *Projector) Snapshot() (Snapshot, error) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.views.Snapshot()
}
