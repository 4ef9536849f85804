package node

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gofrs/flock"
	"github.com/sirupsen/logrus"

	"github.com/hostnode/hostnode/actors/cluster"
	"github.com/hostnode/hostnode/actors/health"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/chain/signer"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/alerts"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/config"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/datadir"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/localchain"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/stores"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/esdb"
	"github.com/hostnode/hostnode/events/membership"
	"github.com/hostnode/hostnode/events/witness"
	"github.com/hostnode/hostnode/internal/retry"
	"github.com/hostnode/hostnode/projections"
	view "github.com/hostnode/hostnode/projections/alert"
	"github.com/hostnode/hostnode/prover"
	"github.com/hostnode/hostnode/storage"
)

// Process is a host with all that it needs, in one data directory: lock, event
// store, the embedded chain if it is used, node, and views.
type Process struct {
	*Node
	Dir       *datadir.Dir
	Store     *stores.Opened
	Projector *projections.Projector
	// Local is the embedded chain; nil when the configuration names an endpoint.
	Local *localchain.Chain
	// Endpoint is how the chain is reached; Development that it is a development
	// chain.
	Endpoint    string
	Development bool

	account *flock.Flock     // nil: the chain is ours alone
	witness *witness.Store   // nil: it could not be made
	keys    *prover.Keys     // nil: they are not loaded yet
	proving *task            // nil: the start does not wait for the event store
	cluster *cluster.Cluster // nil: the process is the whole host
	used    bool             // the data directory was used before this start
	// signer signs for the account; nil: the key file does, or nobody.
	signer atomic.Pointer[signer.Signer]

	// opening guards what both the start and the proving beside it may open first: signer, keys and
	// account.
	opening sync.Mutex
	config  config.Config
	begin   Begin
	start   *start
	alerts  *alerts.Desk
	log     *logrus.Entry
	cancel  context.CancelFunc
	sealed  chan error
}

// Begin is what Take needs to know besides the settings.
type Begin struct {
	// Version of the program, for the record.
	Version string
	// Dry sends, stores and proves nothing (package dry), in a directory of its own.
	Dry bool
	// TakeOver starts although, by the events or the chain, the host runs elsewhere.
	TakeOver bool
	// Typed is for hints.
	Typed health.Typed
	// Rooms make the rooms of further machines.
	Rooms []MakeRoom
	// Local has content on this machine that is not fetched from a source; nil: there is none.
	Local storage.Objects
	// Settings are all settings for the record, with changes of hidden values sealed with a key; nil: they are not
	// recorded.
	Settings func(key []byte) []membership.Given
}

// Take only takes the data directory, so that the process can answer while it starts.
// Start goes on, and Close gives the directory back. The error says what to do when the
// directory is in use, of a newer version, or not a host's.
func Take(c config.Config, o Begin, log *logrus.Entry) (*Process, error) {
	dir, err := datadir.Open(c.DataDir, time.Now())
	if err != nil {
		return nil, err
	}
	if err := dir.For(o.Dry); err != nil {
		return nil, errors.Join(err, dir.Close())
	}
	p := &Process{Dir: dir, log: log, config: c, begin: o, cancel: func() {}}
	key, err := alertKey(c.Alerts.KeyFile)
	if err != nil {
		return nil, errors.Join(err, dir.Close())
	}
	p.alerts = alerts.NewDesk(alerts.Config{
		Command: c.Alerts.Command, Webhook: c.Alerts.Webhook, Format: c.Alerts.Format, Key: key,
		Timeout: c.Alerts.Timeout, Log: log, Secrets: c.Secrets(),
	}, string(c.Member()), dir.Unrecorded())
	p.start = newStart(time.Now(), c.DataDir, o.Typed, p.alerts, log)
	return p, nil
}

// maxKeyBytes is the largest key of a webhook.
const maxKeyBytes = 4 << 10

// alertKey reads the key that signs what the webhook gets; nil: there is none.
func alertKey(file string) ([]byte, error) {
	if file == "" {
		return nil, nil
	}
	key, err := config.ReadPrivate(file, maxKeyBytes)
	if key = bytes.TrimSpace(key); err == nil && len(key) == 0 {
		err = fmt.Errorf("%w: %s is empty", config.ErrInvalid, file)
	}
	if err != nil {
		return nil, fmt.Errorf("alerts.keyFile: %w", err)
	}
	return key, nil
}

// recordedAlerts are the alerts of the record, if it is known.
func (p *Process) recordedAlerts(account events.Address) (view.Alerts, bool) {
	hosts, _ := p.Projector.Of(events.CategoryAlert)
	rows, _ := hosts[account.String()].([]view.Alerts)
	if len(rows) != 1 {
		return view.Alerts{}, len(hosts) > 0 // A host without an alert, when there are others.
	}
	return rows[0], true
}

// Alerts are the newest that were raised since the start, the oldest first.
func (p *Process) Alerts() (all []health.Alert) {
	for _, text := range p.alerts.Newest() {
		var a health.Alert
		if json.Unmarshal(text, &a) == nil { // It was made of one.
			all = append(all, a)
		}
	}
	return all
}

// Start opens everything in order, and starts the host. The error says what to do when
// something is damaged, the account has no key, the host runs elsewhere (ErrElsewhere,
// chain.ErrUsedElsewhere, datadir.ErrAccountInUse), or it is the wrong chain. It waits
// for a chain or an event store that does not answer until ctx ends. It calls opened
// when events and views can be inspected, long before the host runs. Close must be
// called in any case.
func (p *Process) Start(ctx context.Context, opened func()) error {
	c, o := p.config, p.begin
	defer p.stopProving()
	if !c.Clustered() {
		if err := p.openStore(ctx, c); err != nil {
			return err
		}
	}
	account, key, err := p.who(ctx)
	if err != nil {
		return err
	}
	if err := p.mine(account); err != nil {
		return err
	}
	if c.Clustered() {
		if err := p.join(ctx, account); err != nil {
			return err
		}
		if err := p.openStore(ctx, c); err != nil {
			return err
		}
	}
	if err := p.mayBegin(ctx, account, o.TakeOver); err != nil {
		return err
	}
	// Building the views from many events takes long, and proofs do not wait.
	viewing, cancel := context.WithCancel(ctx)
	defer cancel()
	views := make(chan error, 1)
	go func() {
		err := p.openViews(viewing, account)
		if err == nil {
			opened()
		}
		views <- err
	}()
	if err := p.startNode(ctx, account, key); err != nil {
		cancel()
		<-views
		return err
	}
	return <-views
}

// mine makes the data directory the account's, and notes whether it was used before.
func (p *Process) mine(account events.Address) error {
	if err := p.Dir.Own(account); err != nil {
		return err
	}
	p.start.is(account)
	member, err := p.Dir.Member()
	if err != nil {
		return err
	}
	if !p.config.Clustered() && member != "" {
		p.log.Warnf("the data directory was that of member %s; the record says whether the host may be "+
			"one process again", member)
	}
	used, err := p.Dir.Used()
	p.used = used || member != ""
	return err
}

func (p *Process) startNode(ctx context.Context, account events.Address, key *ecdsa.PrivateKey) error {
	c, o := p.config, p.begin
	parts, err := p.parts(ctx, account, key)
	if err != nil {
		return err
	}
	// Nobody else uses the embedded chain, restored or not.
	parts.Store, parts.TakeOver = p.Store.Store, o.TakeOver || c.Embedded()
	if p.witness != nil {
		parts.Store, parts.Witness = p.witness, p.witness
	}
	if c.Embedded() {
		err = p.openChain(ctx, c, &parts)
	} else {
		err = p.remoteChain(ctx, c, &parts)
	}
	if err != nil {
		return err
	}
	p.Endpoint, p.Development = parts.Endpoint, parts.Development
	options, err := FromConfig(c, parts)
	if err != nil {
		return err
	}
	options.Proves, options.Host.UsedDirectory = p.start.proves, p.used
	options.Host.ClusterName, options.Host.TakeOver = c.Cluster.Name, o.TakeOver
	options.Host.StoreAwaySince, options.Host.Settings = p.start.storeAwaySince(), p.settings()
	p.stopProving()
	err = againWhenLate(func() (err error) {
		p.Node, err = Start(ctx, options)
		return err
	}, func() error { return p.mayBegin(ctx, account, o.TakeOver) })
	if err != nil {
		return err
	}
	if p.Local != nil {
		p.pace(ctx, c.Devchain.BlockInterval)
	}
	return nil
}

// settings are those for the record. A host that cannot tell them starts all the same.
func (p *Process) settings() []membership.Given {
	if p.begin.Settings == nil {
		return nil
	}
	key, err := p.Dir.SealKey()
	if err != nil {
		p.log.Warnf("the settings of this start are not recorded: %v", err)
		return nil
	}
	return p.begin.Settings(key)
}

// parts are what a node needs besides the record and the chain.
func (p *Process) parts(ctx context.Context, account events.Address, key *ecdsa.PrivateKey) (Parts, error) {
	var provingKeys *prover.Keys
	var err error
	if !p.begin.Dry {
		provingKeys, err = p.loadKeys(ctx)
	}
	parts := Parts{
		Means: Means{
			Dir: p.Dir.Layout, Dry: p.begin.Dry, Account: account, Key: key, Signer: p.signer.Load(), Keys: provingKeys,
			Alerts: p.alerts, Rooms: p.begin.Rooms, Local: p.begin.Local, Config: p.config,
			Waits: p.start.waits, Log: p.log,
		},
		Endpoint: p.config.Chain.Endpoint, Node: nodeName(), Version: p.begin.Version,
	}
	if p.cluster != nil {
		parts.Cluster = p.cluster
	}
	return parts, err
}

// againWhenLate starts the host once more if it ended because another start was stored,
// unless something forbids it to begin. That start is the one of the process before,
// which was killed, and whose append came late. If both live, the older one ends.
func againWhenLate(start, mayBegin func() error) error {
	err := start()
	if !errors.Is(err, shell.ErrTakenOver) {
		return err
	}
	if refused := mayBegin(); refused != nil {
		return errors.Join(err, refused)
	}
	return start()
}

// loadKeys loads the proving keys, or makes them, once.
func (p *Process) loadKeys(ctx context.Context) (_ *prover.Keys, err error) {
	p.opening.Lock()
	defer p.opening.Unlock()
	if p.keys == nil {
		p.start.does("the proving keys are made or loaded")
		p.keys, err = DevelopmentKeys(ctx, p.config.Prover, p.Dir.Layout, func(step string) {
			p.log.Info("proving keys: " + step)
		})
		p.start.does("")
	}
	return p.keys, err
}

// openViews opens the views and lets them follow the store.
func (p *Process) openViews(ctx context.Context, account events.Address) (err error) {
	var scope projections.Scope
	if p.Store.Embedded == nil { // A shared server has the events of many hosts, which need not be sent.
		scope.Host = account
	}
	p.Projector, err = projections.Open(ctx, p.Store.Store, projections.Config{
		Scope: scope, Dir: p.Dir.Views(), OnStopped: func(why string) {
			tellCause(p.alerts, "views-stopped", health.Facts{Account: account.String(), Views: why}, p.log)
		},
	})
	if err != nil {
		return fmt.Errorf("open the views: %w", err)
	}
	p.Projector.Follow(context.WithoutCancel(ctx))
	p.alerts.Know(func() (view.Alerts, bool) { return p.recordedAlerts(account) })
	p.alerts.Clear(health.Alert{
		Kind: health.AlertViews, Host: account.String(), Cleared: time.Now(), Reason: "they follow the record",
	})
	return nil
}

// openStore opens the event store.
func (p *Process) openStore(ctx context.Context, c config.Config) error {
	spec := stores.FromConfig(c)
	if !spec.Remote() {
		if err := p.Dir.RecordIsHere(); err != nil {
			return err
		}
	}
	spec.OpenTimeout = storePatience // The first try ends when people begin to ask why the host waits.
	err := p.untilRecordAnswers(ctx, func() (err error) {
		p.Store, err = stores.Open(ctx, spec, p.log)
		spec.OpenTimeout = 0
		return err
	})
	if err != nil {
		return err
	}
	p.tellStore()
	return p.untilRecordAnswers(ctx, func() error { return p.watch(ctx) })
}

// watch compares the event store with what it has acknowledged, and notes that from now
// on. If the file for it cannot be used, the host proves all the same.
func (p *Process) watch(ctx context.Context) error {
	watched, unread, err := witness.New(ctx, p.Store.Store, p.Dir.Acknowledged())
	switch {
	case errors.Is(err, events.ErrAway):
		return err
	case err != nil:
		p.log.Warnf("it is not known whether the event store has gone back: %v", err)
		return nil
	case unread > 0:
		p.log.Warnf("%d lines of %s cannot be read and are left out; when the event store is older than this host, "+
			"that is perhaps not known", unread, p.Dir.Acknowledged())
	}
	p.witness = watched
	return nil
}

// untilAnswered repeats a call on an event store that does not answer, with a warning
// each time, until ctx ends: the store may be starting like this host, and a host that
// gave up would miss its proofs. It does not repeat if settings prevent an answer, such
// as an untrusted certificate.
func untilAnswered(ctx context.Context, log *logrus.Entry, ask func() error) error {
	return retry.Until(ctx, dialPause, ask, func(err error) bool {
		return !errors.Is(err, events.ErrAway) || errors.Is(err, esdb.ErrSettings) || ctx.Err() != nil
	}, func(err error) { log.Warnf("the event store does not answer, trying again: %v", err) })
}

// mayBegin finds out, before anything begins, that the user of the event store
// may only read, because a running host would wait for such a store as for one
// that does not answer; and that the host runs elsewhere. Everything else is
// left to the first append. It waits for a store that does not answer, or
// accepts nothing, like one without a quorum; what is hosted is proven
// meanwhile.
func (p *Process) mayBegin(ctx context.Context, account events.Address, takeOver bool) error {
	if p.Store.Embedded != nil {
		return nil
	}
	return p.untilRecordAnswers(ctx, func() error { return p.mayBeginNow(ctx, account, takeOver) })
}

func (p *Process) mayBeginNow(ctx context.Context, account events.Address, takeOver bool) error {
	// What is read next decides whether the host runs elsewhere, so a leader must answer that commits.
	err := events.Confirm(ctx, p.Store.Store, events.HostStream(account))
	if errors.Is(err, events.ErrDenied) || errors.Is(err, events.ErrAway) {
		return fmt.Errorf("the host cannot write its record: %w", err)
	}
	if takeOver {
		return nil
	}
	if p.config.Clustered() {
		return p.memberMayBegin(ctx, account)
	}
	return notElsewhere(ctx, p.Store.Store, account, p.Dir.Layout, nodeName(), time.Now())
}

func (p *Process) tellStore() {
	if p.Store.Embedded == nil {
		p.log.WithField("store", p.Store.Name).Info("the events are in EventStoreDB")
		return
	}
	report := p.Store.Report
	entry := p.log.WithField("position", report.Last)
	if report.UpgradedFrom != 0 {
		entry.Infof("upgraded the event store from format %d to the newest; older versions cannot open it any more",
			report.UpgradedFrom)
	}
	if report.Unread > 0 {
		entry.Errorf("%d events are damaged: hostnode audit says which; restore a backup", report.Unread)
	}
	switch {
	case report.Created:
		entry.Info("made a new event store")
	case report.Clean:
		entry.Info("opened the event store")
	case report.Unmarked:
		entry.Warnf("the file MARK of the event store was missing or damaged and was made again; it says which "+
			"event was acknowledged last, so nothing proves that none is missing behind log position %d", report.Last)
	case report.Tail.Dropped > 0:
		entry.Warnf("the last run did not shut down properly; %d bytes of a write that was never "+
			"acknowledged were dropped from the end of the log", report.Tail.Dropped)
	default:
		entry.Info("the last run did not shut down properly; nothing that was acknowledged is lost")
	}
}

// SealingFailed receives the error when the embedded chain can make no more
// blocks; nil when the chain is not ours.
func (p *Process) SealingFailed() <-chan error { return p.sealed }

// Stopping says from now on that the host stops.
func (p *Process) Stopping() { p.start.stops(time.Now()) }

// Stop stops the host properly. Its events and views stay open until Close.
func (p *Process) Stop(ctx context.Context) error {
	if p.Node == nil {
		return nil
	}
	return p.Node.Stop(ctx)
}

// Close closes what Stop leaves, delivers the last alerts, and gives the directory back.
func (p *Process) Close() error {
	errs := []error{Closed(p.Projector)}
	p.cancel()
	if p.cluster != nil {
		p.cluster.Close()
	}
	errs = append(errs, Closed(p.Local), Closed(p.witness), Closed(p.Store))
	if s := p.signer.Load(); s != nil {
		s.Close()
	}
	p.alerts.Close()
	return errors.Join(append(errs, Closed(p.account), p.Dir.Close())...)
}
