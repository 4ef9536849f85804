// Package downtime runs the judging of host nodes (events/downtime) as an actor: it audits them, records their windows,
// and has the chore judge them. It runs with the owner of the host, and lives by the time of the chain, so that nobody
// is judged while the chain is away.
//
// Read room.go first: the actor, its start, and a turn of its work. Then audits.go: how audits are gathered and
// written. effects.go has what follows from a verdict, and the warnings before one. sources.go says where audits come
// from: market.go reads the marketplace, with who held which slot (tenancies.go), providers.go the contract of sectors.
//
// Not for: rules. Those are in events/downtime, and so is the order in which this actor gives its commands.
package downtime

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/hostnode/hostnode/actors/chainview"
	"github.com/hostnode/hostnode/actors/health"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/downtime"
)

// Name is the name of the actor.
const Name = "Nodes"

// The causes of its events.
const (
	causeStart    = "start"
	causeLook     = "look"
	causeOperator = "operator"
)

// Order has a person's command decided about a node that is watched: the one that is set, and its At is filled in. The
// answer is the Status that the node has when what follows is durable. downtime.ErrNotJoined: there is no such node.
type Order struct {
	Node     events.Node
	Force    *downtime.Force    `json:",omitempty"`
	Maintain *downtime.Maintain `json:",omitempty"`
}

// Command is the one that is set, at a time; nil: none is.
func (o Order) Command(at time.Time) downtime.Command {
	switch {
	case o.Force != nil:
		return downtime.Force{At: at, To: o.Force.To, By: o.Force.By, Reason: o.Force.Reason}
	case o.Maintain != nil:
		m := o.Maintain
		return downtime.Maintain{At: at, From: m.From, Until: m.Until, By: m.By, Reason: m.Reason}
	}
	return nil
}

// Deps are what the actor needs.
type Deps struct {
	*shell.Base
	// Rules are those by which nodes are judged.
	Rules downtime.Service
	// Every is the chain time between two rounds of probes, and of looks at the members' leases.
	Every time.Duration
	// Gap is the longest chain time between two rounds. After a longer one, what lies between is void: nobody watched.
	Gap time.Duration
	// Prober and Market are sources; nil: there is none.
	Prober Prober
	Market Market
	// Seen are the members of the host that hold their leases; nil: the host is one process. Who was a member once,
	// and has not left (downtime.Exited), is missed.
	Seen func() []events.Member
	// Decide is the rules: downtime.Decide.
	Decide func(downtime.State, downtime.Command) ([]downtime.Event, error)
	// Standing learns what became of each node, for those who hand out work.
	Standing *Standing
	// Judged is called after each run of the chore, and does not wait; nil: it need not be.
	Judged func()
	// Tell is told what operators should know, and does not wait.
	Tell func(Notice)
	// NotNear is told that a node is near a suspension no more, whether it was or not; nil: nobody is.
	NotNear func(events.Node)
	// Broken is called when the record cannot be read.
	Broken func(error)
}

type (
	journal = shell.Journal[downtime.State, downtime.Command, downtime.Event]
	result  = shell.Result[downtime.State, downtime.Event]
	saved   = shell.Fold[downtime.State]
)

// Watcher is the actor. It is told each new block by chainview.HeadMoved.
type Watcher struct {
	Deps
	nodes map[events.Node]*node
	// now is the time of the newest block, latest that of the newest event of any node.
	now, latest time.Time
	live        bool // there is no newer block
	// open counts journals that are being read, and commands that are not answered: before, nothing else is decided.
	open int
	read bool // it is known which nodes there are
	// watching: all nodes are joined, and what was slept through is void.
	watching bool

	rounds rounds
	look   look
	judged time.Time // the start of the window in which the chore ran last
	due    bool      // something was written since, or is void
	fault  time.Time // until when the newest window was void for all
}

// node is a node that is watched.
type node struct {
	*journal
	pending []downtime.Audit // they are to be written
	near    health.Incident  // a suspension is near
}

// nodesRead is what the record has of all nodes.
type nodesRead map[events.Node]saved

// New returns the actor.
func New(d Deps) *Watcher { return &Watcher{Deps: d, nodes: map[events.Node]*node{}} }

// Receive implements shell.Behavior.
func (w *Watcher) Receive(a *shell.Turn, msg any) {
	switch m := msg.(type) {
	case shell.Started:
		w.Later(a, "nodes", func(ctx context.Context) any { return w.readNodes(ctx) })
	case nodesRead:
		for _, name := range slices.Sorted(maps.Keys(m)) {
			w.node(a, name, m[name])
		}
		w.read = true
	case chainview.HeadMoved:
		if w.live = m.Live; m.Head.Time.After(w.now) {
			w.now = m.Head.Time
		}
	case answered:
		w.onAnswered(a, m)
	case found:
		w.onFound(a, m)
	case Order:
		w.order(a, m, a.Asker())
	default:
		if _, name, err := events.ParseNodeStream(shell.StreamOf(msg)); err == nil {
			w.nodes[name].Handle(a, msg)
		}
	}
	w.work(a)
}

// readNodes folds the streams of all nodes in one pass.
func (w *Watcher) readNodes(ctx context.Context) nodesRead {
	all := nodesRead{}
	call := w.StoreWatch.Call(ctx, "")
	defer call.End()
	err := call.Repeat(func() error {
		clear(all)
		prefix := events.CategoryNode + "-" + w.Me.String() + "-"
		for r, err := range events.ReadPrefixed(ctx, w.Store, 0, []string{prefix}) {
			if err != nil {
				return err
			}
			_, name, err := events.ParseNodeStream(r.Stream)
			if err != nil {
				continue // Another host's stream.
			}
			one := all[name]
			if err := shell.Add(&one, w.Codec, r, downtime.Evolve); err != nil {
				return err
			}
			all[name] = one
		}
		return nil
	})
	if err != nil && ctx.Err() == nil {
		w.Broken(fmt.Errorf("read which nodes are watched: %w", err))
	}
	return all
}

// node is the node of that name. If it is new its journal begins, with what was read of its stream.
func (w *Watcher) node(a *shell.Turn, name events.Node, has saved) *node {
	if n := w.nodes[name]; n != nil {
		return n
	}
	n, stream := &node{}, events.NodeStream(w.Me, name)
	loading := true
	w.open++
	n.journal = &journal{
		Machine: shell.Machine[downtime.State, downtime.Command, downtime.Event]{
			Empty:  func() downtime.State { return downtime.State{} },
			Decide: w.Decide, Evolve: downtime.Evolve,
			Restore: func(context.Context) (shell.Saved[downtime.State], error) {
				return shell.Saved[downtime.State]{Fold: has, Ahead: has.State}, nil // Evolve changes neither.
			},
		},
		Stream: stream, Store: w.Store, Codec: w.Codec, StoreWatch: w.StoreWatch, Confirm: w.HasTerm,
		MinEvents: w.MinEvents[stream],
		Meta:      func(downtime.State, downtime.Event) events.Metadata { return w.Metadata("") },
		OnBroken:  func(_ *shell.Turn, err error) { w.Broken(err) },
		// Before the order that brought it is answered: who gave it may rely on it.
		Each: func(downtime.Event) { w.Standing.of.Store(name, n.Durable.Status) },
		OnDurable: func(_ *shell.Turn, fresh []downtime.Event) {
			if loading {
				loading = false
				w.open--
			}
			w.onDurable(name, n, fresh)
		},
	}
	w.nodes[name] = n
	n.Load(a)
	return n
}

// onDurable shows and tells what became of a node.
func (w *Watcher) onDurable(name events.Node, n *node, fresh []downtime.Event) {
	if n.Durable.Latest.After(w.latest) {
		w.latest = n.Durable.Latest
	}
	w.Standing.of.Store(name, n.Durable.Status)
	for _, e := range fresh {
		w.tellVerdict(name, n, e)
	}
}

// work does what there is to do now, one thing after the other. While the chain is behind what is recorded already,
// because it was reorganised or another node of it answers, there is nothing.
func (w *Watcher) work(a *shell.Turn) {
	if !w.read || w.open > 0 || w.now.IsZero() || w.now.Before(w.latest) {
		return
	}
	if !w.watching {
		w.watching = true
		w.join(a)
	}
	w.ask(a)
	w.lookAtMarket(a)
	w.write(a)
	start := w.Rules.StartOf(w.now)
	if w.open == 0 && (w.due || start.After(w.judged)) {
		w.judged, w.due = start, false
		w.chore(a)
	}
}

// join has all nodes watched by the rules in force, and says what was slept through.
func (w *Watcher) join(a *shell.Turn) {
	w.rounds.seen = w.now
	w.look.slept = w.latest
	if !w.latest.IsZero() {
		// What was seen of the window of the newest event is lost, too, if it was not over.
		w.void(a, w.Rules.StartOf(w.latest), w.now, "the host did not run")
	}
	wanted := w.sampled()
	for name, n := range w.nodes {
		wanted[name] = wanted[name] || n.Durable.Judged()
	}
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		if wanted[name] {
			w.submit(a, name, downtime.Join{At: w.now, Rules: w.Rules}, causeStart, nil)
		}
	}
}

func (w *Watcher) inOrder() []events.Node { return slices.Sorted(maps.Keys(w.nodes)) }

// submit has a command decided, and calls then, unless it is nil. What failed follows from a later look again.
func (w *Watcher) submit(a *shell.Turn, name events.Node, cmd downtime.Command, cause string, then func(result)) {
	n := w.node(a, name, saved{})
	w.open++
	n.Submit(a, cmd, cause, func(r result) {
		w.open--
		if then != nil {
			then(r)
		} else if r.Err != nil {
			w.Log.WithField("node", name).Warnf("a decision about a node is not recorded yet: %v", r.Err)
		}
	})
}

// order has a person's command decided.
func (w *Watcher) order(a *shell.Turn, m Order, answer shell.Answer) {
	at := w.now
	if at.Before(w.latest) {
		at = w.latest
	}
	switch cmd := m.Command(at); {
	case !w.watching:
		answer(nil, fmt.Errorf("%w: the nodes are not read yet; ask again", shell.ErrPartDown))
	case w.nodes[m.Node] == nil || cmd == nil:
		answer(nil, fmt.Errorf("%s: %w", m.Node, downtime.ErrNotJoined))
	default:
		w.submit(a, m.Node, cmd, causeOperator, func(r result) {
			answer(r.State.Status, r.Err)
		})
	}
}

// chore judges all nodes.
func (w *Watcher) chore(a *shell.Turn) {
	fleet := downtime.Fleet{}
	for name, n := range w.nodes {
		fleet[name] = n.Durable
	}
	runs, err := w.Rules.Chore(fleet, w.now)
	if err != nil {
		w.Log.Error(err)
	}
	for _, r := range runs {
		for _, c := range r.Commands {
			if v, void := c.(downtime.Void); void && !v.Lifted {
				w.onFault(v)
			}
			w.submit(a, r.Node, c, causeLook, nil)
		}
	}
	w.warn()
	if w.Judged != nil {
		w.Judged()
	}
}
