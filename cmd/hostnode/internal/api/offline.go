package api

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/hostnode/hostnode/actors"
	"github.com/hostnode/hostnode/actors/health"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/datadir"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/keys"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/node"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/problem"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/stores"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/events/slotqueue"
	"github.com/hostnode/hostnode/projections"
)

// OfflineConfig says where the events are and whose they are.
type OfflineConfig struct {
	// Source needs the Account for commands that write, and no Member: the data directory says it. Its Files are
	// used if the data directory is here.
	Source
	// Quota is set in the ledger before space is put on offer, as the host would.
	Quota events.Bytes
	// Free is the free space of the file system, of which KeepFree must stay free; nil:
	// not known.
	Free     func() (events.Bytes, error)
	KeepFree events.Bytes
	// Store says where the events are: in an EventStoreDB, or else in DataDir. With
	// an EventStoreDB the data directory, if there is one, is used for the views.
	Store stores.Spec
	// Changes says that something will be changed. Only the account that the directory
	// belongs to may do so; if it belongs to nobody, it is this account's from then
	// on. Without changes, that account is shown.
	Changes bool
	// Create makes the directory if no host has used it.
	Create bool
	// NoViews opens no views of the present: Audit, At and Replay need none, and
	// building them from distant events takes long. What these read must be the record of the one
	// who decides, not of a node that only believes that it does.
	NoViews bool
	// Log takes the messages of the connection to an EventStoreDB; nil drops them.
	Log *logrus.Entry
	// Node names this machine in the record.
	Node string
}

// Offline is the Backend of a host that does not run. It has the data directory's lock
// until Close.
type Offline struct {
	reader
	changer
	cfg   OfflineConfig
	dir   *datadir.Dir // nil: there is none
	store *stores.Opened
}

// OpenOffline takes the data directory; others must wait for it. Errors besides those of the disk:
// datadir.ErrInUse, datadir.ErrEmpty without Create, datadir.ErrNewerFormat, and those of the event store.
func OpenOffline(ctx context.Context, cfg OfflineConfig) (*Offline, error) {
	dir, err := datadir.OpenBriefly(cfg.DataDir, cfg.now(), cfg.Create)
	if cfg.Store.Remote() && (errors.Is(err, datadir.ErrEmpty) || cfg.NoViews && errors.Is(err, datadir.ErrInUse)) {
		err = nil
	}
	if err != nil {
		return nil, err
	}
	o := &Offline{cfg: cfg, dir: dir}
	o.changer = changer{&o.reader, o}
	err = o.own()
	if err == nil {
		err = o.open(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, o.Close())
	}
	return o, nil
}

// own uses the directory's account for a command that only looks, and refuses another
// account for one that changes something.
func (o *Offline) own() error {
	if o.dir == nil {
		return nil
	}
	if o.cfg.Changes {
		return o.dir.Own(o.cfg.Account)
	}
	owner, err := o.dir.Owner()
	if err == nil && !owner.Zero() {
		o.cfg.Account = owner
	}
	return err
}

func (o *Offline) open(ctx context.Context) error {
	spec := o.cfg.Store
	spec.Dir, spec.Now = datadir.At(o.cfg.DataDir).Events(), o.cfg.Now
	if o.dir != nil && !spec.Remote() {
		if err := o.dir.RecordIsHere(); err != nil {
			return err
		}
	}
	var log *logrus.Entry // What matters of the embedded store is in its report.
	if spec.Remote() {
		log = o.cfg.Log
	}
	store, err := stores.Open(ctx, spec, log)
	if err != nil {
		return err
	}
	o.store = store
	if o.cfg.NoViews {
		if err := store.Confirm(ctx, o.cfg.Account, o.cfg.Log); err != nil {
			return fmt.Errorf("read from who leads the event store: %w", err)
		}
	}
	o.reader = reader{
		views: projections.NewViews(projections.Scope{}), store: store.Store, Source: o.cfg.Source,
		oneHost: o.cfg.Store.Remote(),
	}
	if o.dir == nil {
		o.Files = nil
	} else if o.Member, err = o.dir.Member(); err != nil {
		return err
	}
	// After a proper shutdown the end of the log cannot be an unfinished write.
	if store.Embedded != nil && !store.Report.Clean && !store.Report.Unmarked {
		o.dropped = store.Report.Tail.Dropped
	}
	if o.cfg.NoViews {
		return nil
	}
	p, err := projections.Open(ctx, store.Store, o.viewsConfig())
	if err != nil {
		return fmt.Errorf("open the views: %w", err)
	}
	o.views, o.projector = p, p
	if o.Account.Zero() {
		o.Account = hostOf(p) // Without a key and without a start there is nothing to show; that is no error.
	}
	return nil
}

// viewsConfig says which hosts the views of the present cover, as those of a host that runs here: it can
// go on with what is saved.
func (o *Offline) viewsConfig() projections.Config {
	c := projections.Config{Scope: o.reader.scope()}
	if o.dir != nil && (!o.oneHost || !o.Account.Zero()) {
		c.Dir = o.dir.Views()
	}
	return c
}

// Close saves the views and gives the directory back.
func (o *Offline) Close() error {
	return errors.Join(node.Closed(o.projector), node.Closed(o.store), node.Closed(o.dir))
}

// Status implements Backend.
func (o *Offline) Status(context.Context) (Status, error) {
	s := o.status()
	stopped := o.seenHost().Stopped
	last, started := o.run()
	if last.Member != "" && last.Member == o.Member {
		stopped = !last.StoppedAt.IsZero()
	}
	if started && !stopped && o.cfg.Store.Remote() {
		s.Elsewhere = true
		s.Reason = fmt.Sprintf("last start %d at %s on %q, last heard at %s; whether it runs cannot be seen from here",
			last.Epoch, last.StartedAt.UTC().Format(health.SinceFormat), last.Node,
			last.HeardAt.UTC().Format(health.SinceFormat))
		s.Hint = fmt.Sprintf("ask it where it runs: hostnode status; a host that lives is heard every %s",
			actors.DefaultHeartbeat)
		return s, nil
	}
	s.judge(o.known(s))
	return s, nil
}

// Members implements Past. Nobody runs in this directory, whatever the record says.
func (o *Offline) Members(ctx context.Context) (Members, error) {
	all, err := o.reader.Members(ctx)
	for i := range all.Members {
		m := &all.Members[i]
		here := !o.cfg.Store.Remote() || o.Member != "" && m.Name == string(o.Member)
		if here && m.State == MemberRunning {
			m.State = MemberSilent
		}
	}
	return all, err
}

// refusal implements here: only a running host has sectors that obey, and can try anything.
func (o *Offline) refusal() error { return fmt.Errorf("%w in %s", problem.ErrNotRunning, o.DataDir) }

// Quarantine implements QuarantineReader.
func (o *Offline) Quarantine(ctx context.Context) (Quarantine, error) {
	all, err := actors.NewRecord(o.store.Store, o.Account, o.Member, 0, o.cfg.Node).Quarantined(ctx)
	return Quarantine{AsOf: o.asOf(), Work: quarantinedWork(all)}, err
}

// ledgerCommand implements taker. It sets the ledger's quota before space is put on offer.
func (o *Offline) ledgerCommand(ctx context.Context, of events.Member, cmd capacity.Command) error {
	if o.cfg.Account.Zero() {
		return fmt.Errorf("%w: whose availability?", keys.ErrMissing)
	}
	if of != "" && of != o.Member {
		return fmt.Errorf("%w in %s: the command is for member %s, and only a member that runs passes it on",
			problem.ErrNotRunning, o.DataDir, of)
	}
	record, err := o.record(ctx)
	if _, offered := cmd.(capacity.Create); offered && err == nil {
		err = record.Ledger(ctx, capacity.SetQuota{At: o.now(), Bytes: o.cfg.Quota})
	}
	if err != nil {
		return err
	}
	return record.Ledger(ctx, cmd)
}

// queueCommand implements taker: the host will obey when it starts.
func (o *Offline) queueCommand(ctx context.Context, cmd slotqueue.Command) error {
	if o.cfg.Account.Zero() {
		return fmt.Errorf("%w: whose queue?", keys.ErrMissing)
	}
	if err := o.queueIsHere(ctx); err != nil {
		return err
	}
	record, err := o.record(ctx)
	if err != nil {
		return err
	}
	return record.Queue(ctx, cmd)
}

// marketTime implements taker: the chain is not asked.
func (o *Offline) marketTime(context.Context) (time.Time, error) { return o.now(), nil }

// room implements taker with the present free space, if it is known.
func (o *Offline) room(context.Context, events.Member) (events.Bytes, bool, error) {
	if o.cfg.Free == nil {
		return 0, false, nil
	}
	free, err := o.cfg.Free()
	if err != nil {
		return 0, false, fmt.Errorf("look for room on the disk: %w", err)
	}
	return free - min(free, o.cfg.KeepFree), true, nil
}

// DroppedBytes is how much of an unfinished write was dropped from the end of
// the log when the store was opened. None of it had been acknowledged.
func (o *Offline) DroppedBytes() int64 { return o.dropped }
