package node

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/hostnode/hostnode/actors"
	"github.com/hostnode/hostnode/actors/health"
	"github.com/hostnode/hostnode/chain/rpc"
	"github.com/hostnode/hostnode/chain/tx"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/alerts"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/datadir"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/catalog"
	"github.com/hostnode/hostnode/messages"
)

// tellUse alerts the operator that another program has used the account.
func (n *Node) tellUse(u tx.ForeignUse, account events.Address, log *logrus.Entry) {
	a := health.Alert{
		Kind: health.AlertUsedElsewhere, At: time.Now(), Host: account.String(),
		Text: fmt.Sprintf("the account is used elsewhere: %s", u),
		Hint: "one key, one host: let no wallet and no other program send transactions with this host's key",
	}
	switch {
	case u.Ends:
		a.Text += "; this host has just begun, so it ends"
		a.Hint = "stop the other host; if that one is gone for good, begin this one with `hostnode run --take-over`"
	case u.FormerOwner:
		a.Hint = "nothing is to be done if a member that had the term lost the event store and has sent a proof " +
			"meanwhile: hostnode members says who had it; otherwise another program uses the key: stop it"
	case u.Host:
		a.Hint = "another host runs with this key: stop it; proofs of both may come too late"
	}
	raise(n.alerts, a, log)
}

// raise logs an alert and sends it.
func raise(to *alerts.Desk, a health.Alert, log *logrus.Entry) {
	log.WithFields(logrus.Fields{"alert": a.Kind, "hint": a.Hint}).Error(a.Text)
	to.Raise(a)
}

// tellDoubt alerts the operator that a node of the chain is not believed.
func (n *Node) tellDoubt(e rpc.AnswerError, account events.Address, log *logrus.Entry) {
	raise(n.alerts, health.Alert{
		Kind: health.AlertNotBelieved, At: time.Now(), Host: account.String(),
		Text: "what a node of the chain says is not believed: " + e.Error(),
		Hint: "nothing of that answer is used, and the node is asked last for a while; check it, or ask who " +
			"runs it, and add an endpoint of your own to chain.endpoint or chain.fallbacks",
	}, log)
}

// tellFees alerts the operator that the limit on fees, or a node's refusal, delays transactions.
func (n *Node) tellFees(f tx.FeeLimit, account events.Address, log *logrus.Entry) {
	facts := health.Facts{Account: account.String(), Chain: health.ChainFacts{FeeLimit: f.String()}}
	tellCause(n.alerts, "fee-limit", facts, log)
}

// tellCause alerts the operator of a cause that the actors do not see, in the same
// words as the status.
func tellCause(to *alerts.Desk, code string, f health.Facts, log *logrus.Entry) {
	if c, so := health.CauseOf(code, f); so {
		a := c.AsAlert()
		a.At, a.Host = time.Now(), f.Account
		raise(to, a, log)
	}
}

// ErrElsewhere: by the events, a host with this account runs in another process.
var ErrElsewhere = errors.New("this host may be running elsewhere")

// silentFor is for how many heartbeats a process on another machine must be silent
// to count as gone: more than one may be late.
const silentFor = 3 * actors.DefaultHeartbeat

// notElsewhere refuses to start while, in an event store that others can reach, the
// events say that a process was started and has not stopped. It makes an exception for
// this machine with this data directory, because a host that was killed has its outbox
// here, and goes on. If a used data directory was copied to another machine, the
// machine's name differs; if it was copied on the same machine, nothing differs here,
// and the older process ends later (actors.ErrTakenOver). A directory that this
// account has never used is refused however long the other process was silent, because
// it lacks the slots that proofs are owed for. If the events are in the data
// directory, no other process can use them, because of its lock.
func notElsewhere(
	ctx context.Context, store events.Store, account events.Address, dir datadir.Layout, node string, now time.Time,
) error {
	used, err := dir.Used()
	if err != nil {
		return err
	}
	last, heard, err := lastRun(ctx, store, account)
	if err != nil || last == nil {
		return err
	}
	why := "this data directory has never been used with the account"
	if used {
		if last.GetNode() == node || now.Sub(heard) > silentFor {
			return nil
		}
		why = fmt.Sprintf("this is %q", node)
	}
	return fmt.Errorf("%w: by the record, start %d of account %s was at %s on %q and has not stopped; it was last "+
		"heard at %s, and %s", ErrElsewhere, last.GetEpoch(), account, last.GetAt().AsTime().Format(time.RFC3339),
		last.GetNode(), heard.Format(time.RFC3339), why)
}

// lastRun returns the newest start without a stop, and the last sign of life of that
// process; nil when there is none.
func lastRun(
	ctx context.Context, store events.Store, account events.Address,
) (last *messages.HostStarted, heard time.Time, err error) {
	codec := catalog.Codec()
	newest := events.ReadStream{From: events.End, Backward: true}
	for r, err := range store.ReadStream(ctx, events.HostStream(account), newest) {
		if errors.Is(err, events.ErrStreamNotFound) {
			return nil, heard, nil // A new host.
		}
		var m any
		if err == nil {
			m, err = codec.Decode(r)
		}
		if err != nil { // Whoever does not know must not begin.
			return nil, heard, fmt.Errorf("look whether the host runs elsewhere: %w", err)
		}
		switch m := m.(type) {
		case *messages.HostStopped:
			return nil, heard, nil
		case *messages.HostHeartbeat:
			if heard.IsZero() {
				heard = m.GetAt().AsTime()
			}
		case *messages.HostStarted:
			if heard.IsZero() {
				heard = m.GetAt().AsTime()
			}
			return m, heard, nil
		}
	}
	return nil, heard, nil
}
