// Package downtime shows and audits the nodes that a host watches. It is a row in projections/catalog.
package downtime

import (
	"maps"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/downtime"
	"github.com/hostnode/hostnode/messages"
	"github.com/hostnode/hostnode/projections/machine"
)

// Machine is the row.
func Machine() machine.Machine {
	return machine.Machine{
		Category: events.CategoryNode, View: machine.ViewOf((*watched).fold, (*watched).rows),
		Judge: machine.JudgeOf((*judged).judge), Rules: rules(),
	}
}

// Stands implements machine.Row.
func (n Node) Stands() (key, state string) { return n.Node, n.Status }

// StandsSince implements machine.Aged.
func (n Node) StandsSince() time.Time { return n.Since }

// Node is what is shown of a node. Times are by the watcher's clock.
type Node struct {
	Node   string    `json:"node"`   // a member's name, or an address
	Status string    `json:"status"` // active, suspended, disqualified or exited
	Since  time.Time `json:"since"`
	// AsOf is when the newest event of all nodes happened; scores, warning and return are of that time.
	AsOf    time.Time `json:"asOf"`
	RuleSet string    `json:"ruleSet"` // the one of these two that counts
	// Document and Scored are what the two sets of rules say of the windows.
	Document Opinion `json:"document"`
	Scored   Opinion `json:"scored"`
	// Windows are all that are kept, the oldest first.
	Windows []Window `json:"windows"`
	// Warning is there while a suspension is near, Return while the windows have suspended the node.
	Warning *downtime.Warning `json:"warning,omitempty"`
	Return  *downtime.Return  `json:"return,omitempty"`
	// ReviewSince is when a review began that outlasts the suspension; Proposed says that a person is asked to
	// disqualify the node, Held that a person suspended it.
	ReviewSince time.Time    `json:"reviewSince,omitzero"`
	Proposed    bool         `json:"proposed,omitempty"`
	Held        bool         `json:"held,omitempty"`
	Maintenance *Maintenance `json:"maintenance,omitempty"` // the newest that was announced and is not over
	Verdicts    []Verdict    `json:"verdicts"`              // the newest 100, the oldest first
	// State is what all of this was made from, for what else is asked in this process.
	State downtime.State `json:"-"`
}

// Opinion is what a set of rules would decide by it.
type Opinion struct {
	downtime.Score
	Offending bool `json:"offending"`
}

// Window is a window of time, with the audits that count.
type Window struct {
	Start   time.Time `json:"start"`
	Seconds int64     `json:"seconds"`
	Online  uint32    `json:"online"`
	Offline uint32    `json:"offline"`
	Result  string    `json:"result"` // online, offline, both, none or void
	// Sources are those of its audits, whether they count or not: proof, loss, probe, member.
	Sources []string `json:"sources"`
}

// Maintenance is a time in which the node will be away.
type Maintenance struct {
	From   time.Time `json:"from"`
	Until  time.Time `json:"until"`
	By     string    `json:"by"`
	Reason string    `json:"reason"`
}

// Verdict is a decision about a node.
type Verdict struct {
	At   time.Time `json:"at"`
	What string    `json:"what"` // the name of the event
	// What the windows said; of no meaning if a person decided.
	RuleSet string          `json:"ruleSet,omitempty"`
	Score   *downtime.Score `json:"score,omitempty"`
	By      string          `json:"by,omitempty"`
	Reason  string          `json:"reason,omitempty"`
}

// keptVerdicts is how many verdicts of a node, the newest, are shown.
const keptVerdicts = 100

// watched is the fold behind the view.
type watched struct {
	AsOf  time.Time
	Nodes map[events.Node]node
}

type node struct {
	State    downtime.State
	Verdicts []Verdict
}

func (w *watched) fold(r events.Recorded, e messages.NodeEvent) {
	_, name, _ := events.ParseNodeStream(r.Stream) // Of this category are only names that can be parsed.
	if w.Nodes == nil {
		w.Nodes = map[events.Node]node{}
	}
	n := w.Nodes[name]
	n.State = downtime.Evolve(n.State, e)
	if n.State.Latest.After(w.AsOf) {
		w.AsOf = n.State.Latest
	}
	if v, ok := VerdictOf(e); ok {
		n.Verdicts = append(n.Verdicts, v)
		n.Verdicts = n.Verdicts[max(0, len(n.Verdicts)-keptVerdicts):]
	}
	w.Nodes[name] = n
}

// VerdictOf is the verdict that an event is; false: it is none.
func VerdictOf(m messages.NodeEvent) (v Verdict, ok bool) {
	e, ok := m.(interface{ GetVerdict() *messages.NodeVerdict })
	if !ok {
		return v, false
	}
	v = Verdict{At: downtime.At(m), What: string(m.ProtoReflect().Descriptor().Name())}
	if f, person := downtime.Asked(m).(downtime.Force); person {
		v.By, v.Reason = f.By, f.Reason
	}
	if e.GetVerdict() != nil {
		said := downtime.VerdictOf(e.GetVerdict())
		v.RuleSet, v.Score = string(said.RuleSet), &said.Score
	}
	return v, true
}

func (w *watched) rows() []Node {
	rows := []Node{}
	for _, name := range slices.Sorted(maps.Keys(w.Nodes)) {
		rows = append(rows, w.Nodes[name].row(string(name), w.AsOf))
	}
	return rows
}

func (n node) row(name string, now time.Time) Node {
	s := n.State
	row := Node{
		Node: name, Status: s.Status.String(), Since: s.Since, AsOf: now, RuleSet: string(s.Rules.RuleSet),
		Document: opinionOf(s, downtime.Document, now), Scored: opinionOf(s, downtime.Scored, now),
		Windows: []Window{}, Warning: s.Warning(now), Return: s.Return(now), ReviewSince: s.Review,
		Proposed: s.Proposed, Held: s.Held, Verdicts: append([]Verdict{}, n.Verdicts...), State: s,
	}
	for _, w := range s.Windows {
		row.Windows = append(row.Windows, windowOf(s, w))
	}
	if m := s.Maintenance; m.Until.After(now) {
		row.Maintenance = &Maintenance{m.From, m.Until, m.By, m.Reason}
	}
	return row
}

func opinionOf(s downtime.State, by downtime.RuleSet, now time.Time) Opinion {
	s.Rules.RuleSet = by
	v := s.Judge(now)
	return Opinion{v.Score, v.Offending}
}

func windowOf(s downtime.State, w downtime.Window) Window {
	t, void := s.Counted(w)
	out := Window{
		Start: time.Unix(w.Start, 0).UTC(), Seconds: w.Length, Online: t.Online, Offline: t.Offline,
		Result: []string{"none", "offline", "online", "both"}[t.Bits()], Sources: []string{},
	}
	if void {
		out.Result = "void"
	}
	for _, m := range w.Marks {
		out.Sources = append(out.Sources, m.Source.String())
	}
	slices.Sort(out.Sources)
	out.Sources = slices.Compact(out.Sources)
	return out
}

// judged is what an audit remembers of a node.
type judged struct{ State downtime.State }

const (
	verdictRule = "node-verdict"
	windowRule  = "node-window"
	orderRule   = "node-order"
)

func rules() []machine.Rule {
	return []machine.Rule{
		{Code: verdictRule, Demands: "Each verdict on a node is what its windows say, by the rules in force then, " +
			"with these counts; or a person gave a name and a reason."},
		{Code: windowRule, Demands: "A window of a node is recorded when it is over, with audits of its time, each " +
			"of which counts once."},
		{Code: orderRule, Demands: "What else happens to a node fits its status, and time does not go back."},
	}
}

// judge decides each event again.
func (j *judged) judge(e messages.NodeEvent, find machine.Find) {
	rule := orderRule
	switch e.(type) {
	case *messages.WindowClosed, *messages.WindowRevised:
		rule = windowRule
	case interface{ GetVerdict() *messages.NodeVerdict }:
		rule = verdictRule
	}
	switch all, err := downtime.Decide(j.State, downtime.Asked(e)); {
	case err != nil:
		find(rule, "it could not be decided: %v", err)
	case len(all) == 0:
		find(rule, "nothing was to be decided, by what was recorded before it")
	case !proto.Equal(all[0], e):
		find(rule, "by what was recorded before it, it is %s", all[0])
	}
	j.State = downtime.Evolve(j.State, e)
}
