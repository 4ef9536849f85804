// Package downtime is what a host is asked and told about the nodes that it watches: the questions and orders of the
// API, and the commands that use them. It is a row in cmd/hostnode/internal/machines. By which rules nodes are judged
// is told in events/downtime; here are none.
package downtime

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	nodes "github.com/hostnode/hostnode/actors/downtime"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/api"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/cli"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/problem"
	"github.com/hostnode/hostnode/events"
	core "github.com/hostnode/hostnode/events/downtime"
	view "github.com/hostnode/hostnode/projections/downtime"
)

// Ordering is who has something decided about a node: the room of a running host. It sets the time of the command
// itself, and returns when what was decided is durable. Errors are those of the core. It is safe for concurrent use.
type Ordering interface {
	Order(ctx context.Context, order nodes.Order) error
}

// API is what the machine answers.
func API() api.Machine {
	return api.Machine{
		Calls:   []api.Route{ListNodes, ShowNode, ShowRules, TryRules, OrderNode},
		Reads:   func(r api.Reading) any { return reader{r} },
		Figures: []*api.Figure{suspensionFigure, lostFigure, limitFigure}, Measure: measure,
	}
}

// The calls.
var (
	ListNodes = api.Question("nodes", "The nodes that are watched", reader.list)
	ShowNode  = api.Question("nodes/{node}", "All about a node: its windows, verdicts, and what would change them",
		reader.show)
	ShowRules = api.Question("downtime/rules", "The rules by which nodes are judged", reader.rules)
	TryRules  = api.Question("downtime/trial", "Who would have been suspended by other rules", reader.try)
	OrderNode = api.Order(http.MethodPost, "nodes/{node}/{verb}", "Decide about a node",
		func(room Ordering, ctx context.Context, o Ordered) (none api.None, err error) {
			return none, o.give(ctx, room)
		})
)

// Ordered is an order about a node. Verb is suspend, reinstate, disqualify, exit, or maintenance, which has times.
type Ordered struct {
	Node string `path:"node"`
	Verb string `path:"verb"`
	Body Decision
}

// Decision is the rest of an order.
type Decision struct {
	From   time.Time `json:"from,omitzero"`
	Until  time.Time `json:"until,omitzero"`
	By     string    `json:"by"`
	Reason string    `json:"reason"`
}

const maintenance = "maintenance"

var forced = map[string]core.Status{
	"suspend": core.Suspended, "reinstate": core.Active, "disqualify": core.Disqualified, "exit": core.Exited,
}

// give has the room decide. ErrNotJoined, if there can be no such node; ErrBadRequest, if there is no such order.
func (o Ordered) give(ctx context.Context, room Ordering) error {
	node, err := events.ParseNode(o.Node)
	d := o.Body
	to, force := forced[o.Verb]
	switch {
	case err != nil:
		return fmt.Errorf("%w: %w", core.ErrNotJoined, err)
	case force:
		return room.Order(ctx, nodes.Order{Node: node, Force: &core.Force{To: to, By: d.By, Reason: d.Reason}})
	case o.Verb == maintenance && d.Until.After(d.From):
		return room.Order(ctx, nodes.Order{Node: node, Maintain: &core.Maintain{
			From: d.From, Until: d.Until, By: d.By, Reason: d.Reason,
		}})
	}
	return fmt.Errorf("%w: nodes have no %.40q from %s until %s", problem.ErrBadRequest, o.Verb,
		cli.Clock(d.From), cli.Clock(d.Until))
}

// reader answers questions from the record.
type reader struct{ api.Reading }

func (r reader) rows() []view.Node { return api.RowsOf[view.Node](r.Reading, events.CategoryNode) }

// Nodes are those that were ever watched, by their names, without their windows and verdicts.
type Nodes struct {
	AsOf  api.AsOf    `json:"asOf"`
	Nodes []view.Node `json:"nodes"`
}

func (r reader) list(context.Context, api.Then) (Nodes, error) {
	out := Nodes{r.AsOf, append([]view.Node{}, r.rows()...)}
	for i := range out.Nodes {
		out.Nodes[i].Windows, out.Nodes[i].Verdicts = []view.Window{}, []view.Verdict{}
	}
	return out, nil
}

// OfNode asks about a node. From is when it would be away; zero: when its announced maintenance begins.
type OfNode struct {
	api.Then
	Node string    `path:"node"`
	From time.Time `query:"from"`
}

// Shown is all about a node. Times are by the watcher's clock.
type Shown struct {
	AsOf api.AsOf  `json:"asOf"`
	Node view.Node `json:"node"`
	// Says are lines for people: of the node's absence, each window that is judged, what they mean, and what would
	// change it.
	Says []string `json:"says"`
	Note string   `json:"note,omitempty"` // the asker's settings, nodes.notes
}

func (r reader) show(_ context.Context, q OfNode) (Shown, error) {
	for _, n := range r.rows() {
		if n.Node == strings.ToLower(q.Node) {
			out := Shown{AsOf: r.AsOf, Node: n}
			out.away(q.From)
			out.strip()
			out.outlook()
			return out, nil
		}
	}
	return Shown{}, fmt.Errorf("%w: %.50q", core.ErrNotJoined, q.Node)
}

func (s *Shown) say(format string, args ...any) {
	s.Says = append(s.Says, fmt.Sprintf(format, args...))
}

// away says how long an active node may be away: from a time, or else from when its maintenance begins.
func (s *Shown) away(from time.Time) {
	m, now := s.Node.Maintenance, s.Node.AsOf
	if m != nil && from.IsZero() {
		from = m.From
	}
	if from.IsZero() || s.Node.State.Status != core.Active {
		return
	}
	if from.Before(now) {
		from = now
	}
	may := s.Node.State.MayBeAway(now, from)
	s.say("from %s on %s", cli.Clock(from), may)
	if m == nil {
		s.say("nothing is announced; --until and --reason announce it")
		return
	}
	s.say("announced by %s: away from %s until %s: %s", m.By, cli.Clock(m.From), cli.Clock(m.Until), m.Reason)
	if until := s.Node.State.Rules.StartOf(from).Add(may.For); m.Until.After(until) && m.From.Before(until) {
		s.say("that is too long: offline after %s, it is suspended", cli.Clock(until))
	}
}

// strip has a sign for each window that is judged, 48 in a line, between the times at which the line begins and ends.
func (s *Shown) strip() {
	length := s.Node.State.Rules.WindowLength
	at, all := signs(s.Node)
	for line := range slices.Chunk(all, 48) {
		end := at.Add(time.Duration(len(line)) * length)
		s.say("  %s  %s  %s", cli.Clock(at), line, cli.Clock(end))
		at = end
	}
	s.say("  + online   - offline   * both   . none   ~ void; each is %s", cli.Span(uint64(length/time.Second)))
}

// signs are the windows of a node that are judged, the oldest first: when that begins, and a sign for what each says.
func signs(n view.Node) (from time.Time, all []byte) {
	of := map[string]byte{"online": '+', "offline": '-', "both": '*', "void": '~'}
	known := map[int64]byte{}
	for _, w := range n.Windows {
		known[w.Start.Unix()] = of[w.Result]
	}
	v := n.State.Judge(n.AsOf)
	for at := v.From; at.Before(v.Until); at = at.Add(n.State.Rules.WindowLength) {
		sign := cmp.Or(known[at.Unix()], '.')
		if sign == '.' && n.State.Slept(at) {
			sign = '~'
		}
		all = append(all, sign)
	}
	return v.From, all
}

// outlook says what the windows mean, and what would change it.
func (s *Shown) outlook() {
	n, state, rules := s.Node, s.Node.State, s.Node.State.Rules
	s.say("of %d windows %d have audits that count, and %d are void; the rule set is %s",
		rules.TrackingPeriod/rules.WindowLength, n.Document.Windows, n.Document.Void, n.RuleSet)
	for _, set := range []core.RuleSet{core.Document, core.Scored} {
		says, _ := opinion(n, string(set))
		s.say("by %s: %s", set, says)
	}
	may, v := state.MayBeAway(n.AsOf, n.AsOf), state.Judge(n.AsOf)
	switch more := may.For + rules.WindowLength; {
	case state.Held:
		s.say("a person suspended it, and only a person reinstates it")
	case n.Return != nil:
		s.say("disqualified at %s unless online from %s on; reinstated at %s if online from now on (-: never)",
			cli.Clock(n.Return.Deadline), cli.Clock(n.Return.Latest), cli.Clock(n.Return.Reinstated))
	case state.Status != core.Active:
		s.say("it is judged no more")
	case rules.SuspensionOff || may.For >= 2*rules.TrackingPeriod:
		s.say("it is not suspended however long it is offline")
	case v.Offending:
		s.say("it is suspended when it is judged again, if it is offending still")
	default:
		s.say("%d of %d windows offline, %d more and it is suspended: if it is offline from now on, at %s",
			v.Offline, v.Of(), more/rules.WindowLength, cli.Clock(rules.StartOf(n.AsOf).Add(more)))
	}
	if !state.Review.IsZero() {
		s.say("under review since %s, until %s", cli.Clock(state.Review), cli.Clock(state.Deadline()))
	}
}

// opinion is what the windows of a node say by a set of rules. Offending is only who is still judged.
func opinion(n view.Node, set string) (says string, offending bool) {
	o := n.Document
	if set == string(core.Scored) {
		o = n.Scored
	}
	says = said(set, o.Score)
	if offending = o.Offending && n.State.Judged(); offending {
		says += "; offending"
	}
	return says, offending
}

// said is what windows said, by a set of rules.
func said(set string, s core.Score) string {
	return core.Verdict{RuleSet: core.RuleSet(set), Score: s}.String()
}
