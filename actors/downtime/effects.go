package downtime

import (
	"fmt"
	"sync"
	"time"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/downtime"
	"github.com/hostnode/hostnode/messages"
)

// This file has what follows from a verdict, and the warnings before one. What a node hosts goes on; only work is not
// handed to it.

// Notice is what the operators of the host and of the node should know.
type Notice struct {
	Node    events.Node `json:"node"` // empty: it is about all of them
	Status  string      `json:"status"`
	Warning bool        `json:"warning,omitempty"` // it is active, and near a suspension
	At      time.Time   `json:"at"`                // by the chain
	Text    string      `json:"text"`              // what happened
	Hint    string      `json:"hint,omitempty"`    // what to do
}

// Standing is what became of each node. The zero Standing knows none. Safe for concurrent use.
type Standing struct{ of sync.Map } // from events.Node to downtime.Status

// Barred reports whether no work should be handed to a node: it is suspended or disqualified.
func (s *Standing) Barred(node events.Node) bool {
	is, _ := s.of.Load(node)
	return is == downtime.Suspended || is == downtime.Disqualified
}

// tellVerdict tells of a decision about a node.
func (w *Watcher) tellVerdict(name events.Node, n *node, e downtime.Event) {
	m := Notice{Node: name, Status: n.Durable.Status.String(), At: downtime.At(e)}
	switch e := e.(type) {
	case *messages.NodeSuspended:
		m.Text = fmt.Sprintf("node %s is suspended: %s", name, because(e, e.GetVerdict()))
		m.Hint = "it is handed no work, and what it hosts goes on"
		if r := n.Durable.Return(m.At); r != nil && !r.Deadline.IsZero() {
			m.Hint += "; " + returns(*r)
		}
	case *messages.NodeReinstated:
		m.Text = fmt.Sprintf("node %s is reinstated: %s", name, because(e, e.GetVerdict()))
	case *messages.NodeDisqualified:
		m.Text = fmt.Sprintf("node %s is disqualified: %s", name, because(e, e.GetVerdict()))
		m.Hint = "only a person takes that back: hostnode nodes reinstate " + string(name)
	case *messages.DisqualificationProposed:
		m.Text = fmt.Sprintf("node %s was not back in time: %s", name, because(e, e.GetVerdict()))
		m.Hint = "decide with hostnode nodes disqualify " + string(name) + ", or reinstate"
	default:
		return
	}
	w.Tell(m)
}

// onFault tells of a window that the guard made void, and not of those that follow right after it.
func (w *Watcher) onFault(v downtime.Void) {
	told := w.fault
	if v.Until.After(told) {
		w.fault = v.Until
	}
	if !v.From.After(told) {
		return
	}
	w.Tell(Notice{
		At: v.At, Text: fmt.Sprintf("the window of nodes from %s on is void for all: %s", stamp(v.From), v.Reason),
		Hint: "look at the network here: it is more likely that this host could not reach them than that all were away",
	})
}

// because says what brought an event: a person, or the windows.
func because(e downtime.Event, said *messages.NodeVerdict) string {
	if f, person := downtime.Asked(e).(downtime.Force); person {
		return fmt.Sprintf("by %s: %s", f.By, f.Reason)
	}
	return downtime.VerdictOf(said).String()
}

// returns says what a suspended node may hope for.
func returns(r downtime.Return) string {
	if r.Latest.IsZero() {
		return fmt.Sprintf("it is too late to be back before it is disqualified, at %s", stamp(r.Deadline))
	}
	return fmt.Sprintf("it is disqualified at %s unless it is back, and stays, from %s on",
		stamp(r.Deadline), stamp(r.Latest))
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 MST") }

// warn tells of suspensions that are near, each once until it is near no longer.
func (w *Watcher) warn() {
	for _, name := range w.inOrder() {
		n := w.nodes[name]
		warning := n.Durable.Warning(w.now)
		n.near.Lasts(warning != nil, w.NotNear != nil, func() {
			w.Tell(Notice{
				Node: name, Status: n.Durable.Status.String(), Warning: true, At: w.now,
				Text: fmt.Sprintf("node %s: %s", name, warning.Text), Hint: "find out why it does not answer or prove",
			})
		}, func() { w.NotNear(name) })
	}
}
