// Package node puts a host together: the event store, the chain, the prover,
// the repo and the actors, in one process. It is the only place that knows
// every adapter, and it holds no rule.
package node

import (
	"context"
	"crypto/ecdsa"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/hostnode/hostnode/actors"
	"github.com/hostnode/hostnode/actors/health"
	"github.com/hostnode/hostnode/actors/port"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/chain"
	"github.com/hostnode/hostnode/chain/provider"
	"github.com/hostnode/hostnode/chain/rpc"
	"github.com/hostnode/hostnode/chain/signer"
	"github.com/hostnode/hostnode/chain/tx"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/alerts"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/config"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/datadir"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/dry"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/money"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/internal/retry"
	"github.com/hostnode/hostnode/prover"
	"github.com/hostnode/hostnode/storage"
	"github.com/hostnode/hostnode/storage/sectors"
)

// Means are what a host needs besides its settings.
type Means struct {
	Dir datadir.Layout
	// Dry sends, stores and proves nothing (package dry). There is neither key, signer, cluster nor rooms then.
	Dry bool
	// Store is the event store; the caller closes it after the node. Nil: the start is
	// waiting for it, and the node only proves.
	Store events.Store
	// Witness knows what the store had; nil: nobody does.
	Witness port.Witness
	Account events.Address
	// Key signs for the account, or Signer does. Both nil: this member sends no transactions.
	Key    *ecdsa.PrivateKey
	Signer *signer.Signer
	// Cluster joins this member with the others; the caller closes it after the node. Nil: the
	// process is the whole host.
	Cluster port.Cluster
	// Keys are the proving keys.
	Keys *prover.Keys
	// Alerts delivers alerts; the caller closes it after the node. Nil: they are only
	// logged.
	Alerts *alerts.Desk
	// Rooms make the rooms of further machines, from their sections of Config.
	Rooms  []MakeRoom
	Config config.Config
	// Local has content on this machine; nil: there is none.
	Local storage.Objects
	// Waits is called with the reason why the start waits for the chain or the event store,
	// after each failed try, and with nil when it waits no more.
	Waits func(why error)
	Log   *logrus.Entry
}

// Options are the parts of a host. All are required, except for the defaults of
// Host.
type Options struct {
	Means
	// Quota is the hard limit of the disk; the ledger has the same.
	Quota events.Bytes
	// SlotsLost says that the operator knows that the directory of slots is lost.
	SlotsLost bool
	// Chain says how to reach the market; Key, Signer, Epoch, Node and Log are filled in.
	Chain chain.Config
	// Fetch says where content comes from.
	Fetch storage.FetcherConfig
	// Host are the settings of the actors; identity, overhead and the minimum of
	// gas are filled in.
	Host actors.Config
	// Validates makes the node mark missing proofs of other hosts, with the settings in
	// Host.Validator.
	Validates bool
	// Sectors says how sectors are sealed; nil: they are not.
	Sectors *SectorOptions
	// Proves is called with what is proven during an outage of the event store, as long as
	// the host has not read its events yet.
	Proves func(health.OutageFacts)
}

// Node is a running host.
type Node struct {
	Host    *actors.Host
	Market  *chain.Market
	Repo    *storage.Repo
	Content *storage.Fetcher
	Account events.Address
	// Pieces has the data of pieces, and Provider is the contract of sectors; nil: the host seals
	// none.
	Pieces   *sectors.Pieces
	Provider *provider.Chain
	// Proves is what the proofs of sectors show, as port.Sealer says it; empty as above.
	Proves string
	// Answerers take the orders of further machines (api.LiveConfig).
	Answerers []any

	sectors   *sectors.Store // nil: the host seals none
	alerts    *alerts.Desk
	boot      *task        // nil: it does not boot
	callbacks *http.Server // of an outside prover; nil: there is none
	closes    []func() error
	// morePieces are asked for pieces that are no files.
	morePieces []port.PieceSource
}

// AddPieces lets sectors have pieces of another source, besides the files of pieces.
func (n *Node) AddPieces(from port.PieceSource) { n.morePieces = append(n.morePieces, from) }

// allPieces has the data of pieces: in files, or where else it is.
type allPieces struct{ *Node }

func (a allPieces) List() ([]events.SectorPiece, error) { return a.Pieces.List() }

func (a allPieces) Open(ctx context.Context, piece events.SectorPiece) (io.ReadCloser, error) {
	in, err := a.Pieces.Open(ctx, piece)
	for _, from := range a.morePieces {
		if errors.Is(err, events.ErrNoSuchPiece) {
			in, err = from.Open(ctx, piece)
		}
	}
	return in, err
}

// OnClose has f called when the node is closed, for what a room was made from.
func (n *Node) OnClose(f func() error) { n.closes = append(n.closes, f) }

// MakeRoom makes the room of a further machine from what the node has, once it reaches the market. One without a Part
// is not to run, by the settings. answers is what takes its orders: it asks the room (actors.Order) of the host.
type MakeRoom func(Wiring) (room actors.Room, answers any, err error)

// Wiring is what a room may be made from. A room declares what it needs, and is given no more.
type Wiring struct {
	Options
	Node *Node
	// Running is the host of the room, once it has been started; nil: ctx ended before.
	Running func(ctx context.Context) *actors.Host
	// Send delivers an alert.
	Send func(health.Alert)
}

// Alerting raises and clears the alerts of a room.
func (w Wiring) Alerting(base *shell.Base) *health.Alerts {
	return health.NewAlerts(base, w.Send).Ending(w.Alerts.Clear)
}

// minGas is how much gas a host must be able to pay for before it takes a slot:
// reserve, fill and free, and some proofs, at minGasPrice.
const (
	minGas      = 5_000_000
	minGasPrice = 2_000_000_000 // wei
)

// LeastWei is that in wei: with less, no slot is taken.
func LeastWei() events.Amount { return events.NewAmount(minGas * minGasPrice) }

// Start opens everything and starts the host. It waits for a chain that does
// not answer, with a warning now and then, until ctx ends; the wrong chain is
// an error.
func Start(ctx context.Context, o Options) (*Node, error) {
	n := &Node{}
	var err error
	if n.Repo, err = openSlots(o); err != nil {
		return nil, err
	}
	for _, f := range n.Repo.Findings() {
		o.Log.WithField("slot", f.Slot.String()).Warnf("found on disk: %s", f.What)
	}
	if err := n.openSectorFiles(o); err != nil {
		return nil, errors.Join(err, n.close())
	}
	n.tellRoom(o)
	if err := n.start(ctx, o); err != nil {
		return nil, errors.Join(err, n.close())
	}
	return n, nil
}

// openSlots opens the slots, also when their disk is away: the host starts all the same.
func openSlots(o Options) (*storage.Repo, error) {
	used, err := o.Dir.Used() // Each start opens the slots before the outbox.
	if err != nil {
		return nil, err
	}
	repo, err := storage.Open(o.Dir.Slots(), storage.Config{Quota: o.Quota, Place: &storage.Place{
		Dir: o.Dir.Slots(), Memory: o.Dir.Identity("slots"), Expected: used, Lost: o.SlotsLost,
	}})
	if err != nil {
		return nil, fmt.Errorf("open the slots: %w", err)
	}
	return repo, nil
}

// tellRoom warns of a quota that exceeds the disk. That is no reason to stop: what is
// hosted must be proven, and the host takes nothing that does not fit.
func (n *Node) tellRoom(o Options) {
	free, err := n.Repo.Room()
	if err == nil {
		slots, err1 := n.Repo.Usage()
		sealed, err2 := n.sectorUsage()
		used := slots + sealed
		if err = errors.Join(err1, err2); err == nil && used+free < o.Quota {
			o.Log.Warnf("the quota is %d bytes, and the disk has room for %d: %d are used and %d are left; "+
				"lower `quota`, or make room", o.Quota, used+free, used, free)
		}
	}
	if err != nil {
		o.Log.Warnf("it is not known whether the disk has room for the quota: %v", err)
	}
}

func (n *Node) start(ctx context.Context, o Options) error {
	fetcher, err := storage.NewFetcher(n.Repo, o.Fetch)
	if err != nil {
		return fmt.Errorf("set up the download of content: %w", err)
	}
	n.Content = fetcher
	var slots *prover.SlotProver
	if !o.Dry {
		if slots, err = n.prover(o); err != nil {
			return err
		}
	}
	n.alerts = o.Alerts
	if err := n.dial(ctx, o); err != nil {
		return err
	}
	n.Account = n.Market.Account()
	n.learnToken(ctx, o)
	cfg := o.Host
	id := n.Market.Identity()
	cfg.ChainID, cfg.Genesis, cfg.Contract = id.ChainID, id.Genesis, o.Chain.Marketplace
	cfg.Overhead = storage.Overhead
	cfg.MinWei = LeastWei()
	cfg.Quota = o.Quota
	cfg.Alert, cfg.AlertOver = n.alerts.Raise, n.alerts.Clear
	sealing, err := n.openSectors(ctx, o)
	if err != nil {
		return fmt.Errorf("seal sectors: %w", err)
	}
	hosts := make(chan *actors.Host, 1)
	if o.sends() {
		n.boot = n.proveUntilBooted(ctx, o, slots, hosts)
	}
	ports := actors.Ports{
		Market: n.Market, Feed: n.Market.Feed(),
		Prover: slots, Repo: n.Repo, Content: fetcher, Clock: clock{}, Store: o.Store,
		Witness: o.Witness, Sectors: sealing, Cluster: o.Cluster,
	}
	if o.Validates {
		ports.Validation = n.Market
	}
	if o.Cluster != nil && o.sends() {
		ports.Account = ownAccount{n.Market, o.Store, o.Dir.Outbox()}
	}
	if o.Dry {
		if ports, err = dry.Ports(ctx, ports, n.Market); err != nil {
			return err
		}
	}
	started := make(chan struct{})
	if err := n.makeRooms(o, &ports, cfg.Alert, started); err != nil {
		return err
	}
	n.Host, err = actors.Start(ctx, cfg, ports, o.Log)
	if err != nil {
		return fmt.Errorf("start the host: %w", err)
	}
	close(started)
	hosts <- n.Host
	return nil
}

// makeRooms makes the rooms of further machines.
func (n *Node) makeRooms(
	o Options, ports *actors.Ports, send func(health.Alert), started <-chan struct{},
) error {
	host := func(ctx context.Context) *actors.Host {
		select {
		case <-started:
			return n.Host
		case <-ctx.Done():
			return nil
		}
	}
	for _, roomOf := range o.Rooms {
		room, answers, err := roomOf(Wiring{Options: o, Node: n, Running: host, Send: send})
		if err != nil {
			return err
		}
		if room.Part != nil {
			ports.Rooms, n.Answerers = append(ports.Rooms, room), append(n.Answerers, answers)
		}
	}
	return nil
}

const (
	// dialPause is the pause between two tries to reach the chain or the event store at the start.
	dialPause = 2 * time.Second
	// saysAgain is how often the log says that the market is still not reached.
	saysAgain = time.Minute
)

func (n *Node) dial(ctx context.Context, o Options) error {
	cfg := o.Chain
	cfg.Account, cfg.Key, cfg.Node, cfg.Log = o.Account, o.Key, o.Host.Node, o.Log
	if o.Signer != nil {
		cfg.Signer = o.Signer
	}
	cfg.UsedElsewhere = func(u tx.ForeignUse) {
		u.Ends = u.Ends && o.Store != nil // Without a store only the proving ends, as the status says.
		n.tellUse(u, o.Account, o.Log)
	}
	cfg.NotBelieved = func(e rpc.AnswerError) { n.tellDoubt(e, o.Account, o.Log) }
	cfg.FeeLimited = func(f tx.FeeLimit) { n.tellFees(f, o.Account, o.Log) }
	var said time.Time
	cfg.Waits = func(err error) {
		o.Waits(err)
		if time.Since(said) >= saysAgain {
			said = time.Now()
			o.Log.Warnf("connecting to the market at %s failed, trying again: %v", rpc.Redact(cfg.Endpoint), err)
		}
	}
	// With an unused outbox it waits for the event store as well.
	err := retry.Until(ctx, dialPause, func() (err error) {
		if o.Cluster != nil || o.Dry { // A member sends transactions only while it has the term, a dry run never.
			n.Market, err = chain.DialReader(ctx, cfg)
		} else {
			n.Market, err = chain.Dial(ctx, cfg, o.Store, o.Dir.Outbox())
		}
		return err
	}, isFinal, cfg.Waits)
	if err != nil {
		return fmt.Errorf("connect to the market: %w", err)
	}
	o.Waits(nil)
	return nil
}

// learnToken keeps what the market's token is called, for people who read amounts. Without that they are in base units.
func (n *Node) learnToken(ctx context.Context, o Options) {
	symbol, decimals, err := n.Market.TokenSays(ctx)
	found, known := money.FromContract(symbol, decimals), o.Dir.Token()
	if err == nil && found != known {
		err = o.Dir.KeepToken(found)
	}
	switch {
	case err != nil:
		o.Log.Warnf("the symbol and decimals of the market's token stay as they were, %q and %d: %v", known.Symbol,
			known.Decimals, err)
	case !found.Known():
		o.Log.Warnf("amounts are in base units: the token's contract %s does not say its decimals", n.Market.Token())
	case known.Known() && found != known:
		o.Log.Warnf("the token was %s, of %d decimals, and its contract %s says now %s, of %d: check chain.contract "+
			"before you type a price", known.Symbol, known.Decimals, n.Market.Token(), found.Symbol, found.Decimals)
	}
}

// sends reports whether this process can send transactions.
func (o Options) sends() bool { return o.Key != nil || o.Signer != nil }

// isFinal reports whether dialling again cannot help.
func isFinal(err error) bool {
	_, wrongChain := errors.AsType[*rpc.IdentityError](err)
	return wrongChain || slices.ContainsFunc([]error{
		chain.ErrConfig, tx.ErrOutboxFailed, tx.ErrOutboxDamaged, tx.ErrForeignOutbox, tx.ErrTakenOver,
		tx.ErrUsedElsewhere,
	}, func(final error) bool { return errors.Is(err, final) })
}

// Stop stops the host properly and closes what Start opened.
func (n *Node) Stop(ctx context.Context) error {
	return errors.Join(n.Host.Stop(ctx), n.close())
}

func (n *Node) close() error {
	n.boot.end()
	var err error
	for _, f := range n.closes {
		err = errors.Join(err, f())
	}
	return errors.Join(err, Closed(n.callbacks), Closed(n.Market), Closed(n.Repo))
}

// Closed closes what was opened; what is nil was not.
func Closed[C interface {
	comparable
	io.Closer
}](c C) error {
	var none C
	if c == none {
		return nil
	}
	return c.Close()
}

// clock is the machine's time.
type clock struct{}

func (clock) Now() time.Time { return time.Now() }

func (clock) After(d time.Duration, f func()) (stop func()) {
	t := time.AfterFunc(d, f)
	return func() { t.Stop() }
}
