package actors

import (
	"context"
	"io"

	"github.com/sirupsen/logrus"

	"github.com/hostnode/hostnode/actors/admission"
	"github.com/hostnode/hostnode/actors/chainview"
	"github.com/hostnode/hostnode/actors/ledger"
	"github.com/hostnode/hostnode/actors/quarantine"
	"github.com/hostnode/hostnode/actors/queue"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/events/catalog"
	"github.com/hostnode/hostnode/events/slotqueue"
)

// Record is the record of a host that does not run, for whoever reads it or holds the lock of
// its data directory.
type Record struct{ base *shell.Base }

// NewRecord opens the record of a host in a store. ledger names the member's ledger that commands are
// for; empty: the host's own. Events get the epoch, which is that of the last start.
func NewRecord(store events.Store, host events.Address, ledger events.Member, epoch uint64, node string) Record {
	quiet := logrus.New()
	quiet.SetOutput(io.Discard) // The next start reports a snapshot that cannot be used.
	return Record{&shell.Base{
		Log: logrus.NewEntry(quiet), Store: store, Codec: catalog.Codec(), Me: host, Ledger: ledger,
		Epoch: epoch, Node: node,
		Savers: map[string]shell.Saver{},
	}}
}

// Ledger submits an operator's command to the ledger, just as a running host does. When it
// returns nil, the resulting events are durable.
func (r Record) Ledger(ctx context.Context, cmd capacity.Command) error {
	return ledger.New(ledger.Deps{Base: r.base, Decide: capacity.Decide}).Once(ctx, cmd)
}

// Queue submits a command to the slot queue, as Ledger does to the ledger.
func (r Record) Queue(ctx context.Context, cmd slotqueue.Command) error {
	deps := queue.Deps{
		Rules: &admission.Rules{Chain: &chainview.Chain{Base: r.base}}, Decide: slotqueue.Decide,
	}
	return queue.New(deps).Once(ctx, cmd)
}

// Quarantined is the work that the host left alone.
func (r Record) Quarantined(ctx context.Context) ([]quarantine.Work, error) {
	e := &env{Chain: &chainview.Chain{Base: r.base}, quarantined: quarantine.New(r.base, nil)}
	_, _, err := e.readHost(ctx)
	return e.quarantined.All(), err
}
