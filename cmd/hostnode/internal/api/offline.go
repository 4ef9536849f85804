package api

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/datadir"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/keys"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/events/embedded"
	"github.com/hostnode/hostnode/events/slotqueue"
	"github.com/hostnode/hostnode/projections"
)

// OfflineConfig says where the record is and whose it is.
type OfflineConfig struct {
	DataDir string
	// Account is the host; zero: the one that started last in this directory. What
	// writes needs it.
	Account events.Address
	// Quota is what the ledger is told before space is put on offer, as the host would.
	Quota events.Bytes
	// CacheBytes is the memory of the event store.
	CacheBytes int64
	// Create makes the directory if no host has used it.
	Create bool
	// Node names this machine in the record.
	Node string
	// Now is the machine's clock; nil: time.Now.
	Now func() time.Time
}

// Offline is the Backend of a host that does not run. It has the data directory's lock
// until Close.
type Offline struct {
	reader
	cfg   OfflineConfig
	dir   *datadir.Dir
	store *embedded.Store
}

// OpenOffline takes the data directory. Errors besides those of the disk: datadir.ErrInUse,
// datadir.ErrEmpty without Create, datadir.ErrNewerFormat, and those of the event store.
func OpenOffline(ctx context.Context, cfg OfflineConfig) (*Offline, error) {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	open := datadir.OpenExisting
	if cfg.Create {
		open = datadir.Open
	}
	dir, err := open(cfg.DataDir, cfg.Now())
	if err != nil {
		return nil, err
	}
	o := &Offline{cfg: cfg, dir: dir}
	if err := o.open(ctx); err != nil {
		return nil, errors.Join(err, o.Close())
	}
	return o, nil
}

func (o *Offline) open(ctx context.Context) error {
	store, report, err := embedded.Open(o.dir.Events(), embedded.Config{CacheBytes: o.cfg.CacheBytes, Now: o.cfg.Now})
	if err != nil {
		return fmt.Errorf("open the event store: %w", err)
	}
	o.store = store
	p, err := projections.Open(ctx, store, projections.Config{Dir: o.dir.Views()})
	if err != nil {
		return fmt.Errorf("open the views: %w", err)
	}
	o.reader = reader{
		projector: p, store: store, host: o.cfg.Account, dataDir: o.cfg.DataDir, now: o.cfg.Now,
	}
	if !report.Clean { // Closed in order, the end of a log is no unfinished write.
		o.dropped = report.Tail.Dropped
	}
	if o.host.Zero() {
		// Without a key and without a start there is nothing to tell; that is an
		// empty answer, not an error.
		if host, err := hostOf(p); err == nil {
			o.host = host
		}
	}
	return nil
}

// Close saves the views and gives the directory back.
func (o *Offline) Close() error {
	var errs []error
	if o.projector != nil {
		errs = append(errs, o.projector.Close())
	}
	if o.store != nil {
		errs = append(errs, o.store.Close())
	}
	return errors.Join(append(errs, o.dir.Close())...)
}

// Status implements Backend.
func (o *Offline) Status(context.Context) (Status, error) {
	s := o.status()
	s.Reason, s.Hint = "no host is running in "+o.dataDir, "start it: hostnode run --data-dir "+o.dataDir
	return s, nil
}

// AddAvailability implements Backend.
func (o *Offline) AddAvailability(ctx context.Context, offer Offer) (projections.Availability, error) {
	cmd, err := offer.command(o.now())
	if err != nil {
		return projections.Availability{}, err
	}
	if err := o.ledgerCommand(ctx, capacity.SetQuota{At: o.now(), Bytes: o.cfg.Quota}); err != nil {
		return projections.Availability{}, err
	}
	if err := o.ledgerCommand(ctx, cmd); err != nil {
		return projections.Availability{}, err
	}
	return o.shown(ctx, cmd.ID)
}

// SetAvailability implements Backend.
func (o *Offline) SetAvailability(ctx context.Context, id string, c Changes) (projections.Availability, error) {
	whole, err := o.availability(id)
	if err != nil {
		return projections.Availability{}, err
	}
	cmd, err := c.command(o.now(), whole)
	if err != nil {
		return projections.Availability{}, err
	}
	if err := o.ledgerCommand(ctx, cmd); err != nil {
		return projections.Availability{}, err
	}
	return o.shown(ctx, whole)
}

// RemoveAvailability implements Backend.
func (o *Offline) RemoveAvailability(ctx context.Context, id string) (string, error) {
	whole, err := o.availability(id)
	if err != nil {
		return "", err
	}
	err = o.ledgerCommand(ctx, capacity.Delete{At: o.now(), ID: whole})
	return whole.String(), errors.Join(err, o.catchUp(ctx))
}

// PauseQueue implements Backend: the host will not take slots when it starts.
func (o *Offline) PauseQueue(ctx context.Context, reason string) (Queue, error) {
	return o.queueCommand(ctx, slotqueue.Pause{At: o.now(), Reason: reason})
}

// ResumeQueue implements Backend.
func (o *Offline) ResumeQueue(ctx context.Context, reason string) (Queue, error) {
	return o.queueCommand(ctx, slotqueue.Resume{At: o.now(), Reason: reason})
}

func (o *Offline) ledgerCommand(ctx context.Context, cmd capacity.Command) error {
	if o.cfg.Account.Zero() {
		return fmt.Errorf("%w: whose availability?", keys.ErrMissing)
	}
	return submit(ctx, o.writer(), events.CapacityStream(o.host), ledger, cmd)
}

func (o *Offline) queueCommand(ctx context.Context, cmd slotqueue.Command) (Queue, error) {
	if o.cfg.Account.Zero() {
		return Queue{}, fmt.Errorf("%w: whose queue?", keys.ErrMissing)
	}
	if err := submit(ctx, o.writer(), events.SlotQueueStream(o.host), queue, cmd); err != nil {
		return Queue{}, err
	}
	if err := o.catchUp(ctx); err != nil {
		return Queue{}, err
	}
	return o.Queue(ctx)
}

func (o *Offline) writer() writer {
	h := mine(&o.reader, o.projector.Hosts().Hosts, func(h projections.Host) string { return h.Host })
	return writer{store: o.store, meta: events.Metadata{Epoch: h.Epoch, Node: o.cfg.Node, Causation: "operator"}}
}

// DroppedBytes is how much of an unfinished write was dropped from the end of
// the log when the record was opened. None of it was acknowledged.
func (o *Offline) DroppedBytes() int64 { return o.dropped }
