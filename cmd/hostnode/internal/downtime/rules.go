package downtime

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/api"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/problem"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/catalog"
	core "github.com/hostnode/hostnode/events/downtime"
	"github.com/hostnode/hostnode/messages"
	view "github.com/hostnode/hostnode/projections/downtime"
)

// settings are flags for each of the rules, with their present values, in the order in which they are shown.
func settings(r *core.Service) *pflag.FlagSet {
	f := pflag.NewFlagSet("rules", pflag.ContinueOnError)
	f.SortFlags = false
	f.StringVar((*string)(&r.RuleSet), "rule-set", string(r.RuleSet), "document or scored")
	f.DurationVar(&r.WindowLength, "window", r.WindowLength, "length of a window")
	f.DurationVar(&r.TrackingPeriod, "tracking", r.TrackingPeriod, "how far back windows count")
	f.DurationVar(&r.GracePeriod, "grace", r.GracePeriod, "time to be back, besides another tracking period")
	allowed, required := (*uint32)(&r.AllowedOfflinePercentage), (*uint32)(&r.RequiredOnlinePercentage)
	f.Uint32Var(allowed, "allowed-offline", *allowed, "of 10000 windows, by document")
	f.Uint32Var(required, "required-online", *required, "of 10000 on average, by scored")
	f.Uint32Var(&r.MinimumWindows, "minimum-windows", r.MinimumWindows, "with fewer nobody is offending")
	f.BoolVar(&r.SingleReview, "single-review", r.SingleReview, "the clock of a review outlasts a reinstatement")
	f.BoolVar(&r.ElapsedGaps, "elapsed-gaps", r.ElapsedGaps, "a tracking period with gaps is full when it has passed")
	f.BoolVar(&r.Evidence, "evidence", r.Evidence, "without audits a node keeps its status")
	f.StringVar((*string)(&r.Disqualification), "disqualification", string(r.Disqualification), "on, proposed or off")
	f.BoolVar(&r.SuspensionOff, "suspension-off", r.SuspensionOff, "nobody is suspended")
	f.Uint32Var(&r.GuardPercent, "guard-percent", r.GuardPercent, "more nodes offline at once void a window; 0: never")
	f.Uint32Var(&r.GuardNodes, "guard-nodes", r.GuardNodes, "the fewest nodes for that")
	f.DurationVar(&r.Retention, "retention", r.Retention, "how long windows are kept, at least")
	f.Uint32Var(&r.WarnWindows, "warn-windows", r.WarnWindows, "how many windows ahead a warning comes")
	return f
}

// InForce are the rules in force.
type InForce struct {
	AsOf  api.AsOf `json:"asOf"`
	Rules []Rules  `json:"rules"`
}

// Rules are rules by which nodes are judged. Times in them are in nanoseconds.
type Rules struct {
	Nodes []string     `json:"nodes"`
	Rules core.Service `json:"rules"`
}

func (r reader) rules(context.Context, api.Then) (InForce, error) {
	out := InForce{r.AsOf, []Rules{}}
	for _, n := range r.rows() {
		if !n.State.Judged() {
			continue
		}
		i := slices.IndexFunc(out.Rules, func(known Rules) bool { return known.Rules == n.State.Rules })
		if i < 0 {
			i = len(out.Rules)
			out.Rules = append(out.Rules, Rules{Rules: n.State.Rules})
		}
		out.Rules[i].Nodes = append(out.Rules[i].Nodes, n.Node)
	}
	return out, nil
}

// Tried is what other rules would have decided until a time, and what was decided.
type Tried struct {
	AsOf     api.AsOf       `json:"asOf"`
	Until    time.Time      `json:"until"`
	Verdicts []TriedVerdict `json:"verdicts"` // by node and time
}

// TriedVerdict is a verdict that was given, or would have been by the rules of the trial.
type TriedVerdict struct {
	Node  string `json:"node"`
	Tried bool   `json:"tried"`
	view.Verdict
}

// Trial asks what other rules would have decided.
type Trial struct {
	api.Then
	Rules Tryable `query:"rules" required:"true" doc:"the rules, a JSON object as downtime/rules shows it"`
}

// Tryable are rules that travel in an address.
type Tryable core.Service

// MarshalText writes them as JSON, and UnmarshalText reads that.
func (t Tryable) MarshalText() ([]byte, error) { return json.Marshal(core.Service(t)) }

// UnmarshalText is the reverse.
func (t *Tryable) UnmarshalText(text []byte) error { return json.Unmarshal(text, (*core.Service)(t)) }

// try says what other rules would have decided.
func (r reader) try(ctx context.Context, q Trial) (Tried, error) {
	rules := core.Service(q.Rules)
	out := Tried{AsOf: r.AsOf, Verdicts: []TriedVerdict{}}
	for _, n := range r.rows() {
		out.Until = n.AsOf
	}
	was, err := r.record(ctx)
	if err != nil {
		return out, err
	}
	would, err := core.Try(rules, was, out.Until)
	for i, all := range []map[events.Node][]core.Event{would, was} {
		for node, log := range all {
			for _, e := range log {
				if v, ok := view.VerdictOf(e); ok {
					out.Verdicts = append(out.Verdicts, TriedVerdict{string(node), i == 0, v})
				}
			}
		}
	}
	slices.SortStableFunc(out.Verdicts, func(a, b TriedVerdict) int {
		return cmp.Or(strings.Compare(a.Node, b.Node), a.At.Compare(b.At))
	})
	return out, err
}

// maxRecord is the most events of a trial, about a gigabyte in memory.
const maxRecord = 1_000_000

// record are the events of the nodes.
func (r reader) record(ctx context.Context) (map[events.Node][]core.Event, error) {
	out, codec, n := map[events.Node][]core.Event{}, catalog.Codec(), 0
	streams := []string{events.NodeStream(r.Account, "")}
	for recorded, err := range events.ReadPrefixed(ctx, r.Store, 0, streams) {
		if err == nil && r.Until != nil && !r.Until(recorded) {
			break
		}
		m, why := codec.Decode(recorded)
		if n++; n > maxRecord {
			why = fmt.Errorf("%w: a trial reads at most %d events; end it earlier", problem.ErrBadRequest, maxRecord)
		}
		if err = cmp.Or(err, why); err != nil {
			return nil, fmt.Errorf("read the record of the nodes: %w", err)
		}
		_, node, err := events.ParseNodeStream(recorded.Stream)
		if e, ok := m.(messages.NodeEvent); ok && err == nil {
			out[node] = append(out[node], e)
		}
	}
	return out, nil
}
