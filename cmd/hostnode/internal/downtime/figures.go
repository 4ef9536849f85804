package downtime

import (
	"math/big"
	"time"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/api"
	core "github.com/hostnode/hostnode/events/downtime"
	view "github.com/hostnode/hostnode/projections/downtime"
)

// What /metrics says of watched nodes, beside what it says of every machine. The label is a name or an address from the
// settings, so there are few.
var (
	suspensionFigure = &api.Figure{
		Name: "hostnode_node_suspension_seconds", Labels: []string{"node"}, Kind: api.Gauge,
		Help: "Time until a watched node is suspended if it is offline from now on. Absent: it is not active, or " +
			"never suspended.",
	}
	lostFigure = &api.Figure{
		Name: "hostnode_node_windows_lost_ratio", Labels: []string{"node"}, Kind: api.Gauge,
		Help: "Share of the windows of a watched node that counts as offline, by the rule set that decides.",
	}
	limitFigure = &api.Figure{
		Name: "hostnode_node_windows_limit_ratio", Labels: []string{"node"}, Kind: api.Gauge,
		Help: "The share of its windows that may be lost.",
	}
)

func measure(r api.Reading, put api.Put) {
	for _, n := range (reader{r}).rows() {
		if lost, most, known := lostOf(n); known {
			put(lostFigure, lost, n.Node)
			put(limitFigure, most, n.Node)
		}
		if left, comes := suspendedIn(n); comes {
			put(suspensionFigure, left.Seconds(), n.Node)
		}
	}
}

// lostOf is the share of the windows that counts as offline, and the one that may.
func lostOf(n view.Node) (share, most float64, known bool) {
	by, scored := n.Document, n.RuleSet == string(core.Scored)
	if scored {
		by = n.Scored
	}
	fraction, known := new(big.Rat).SetString(by.Value)
	if !known {
		return 0, 0, false
	}
	limit := big.NewRat(int64(by.Limit), 10_000)
	if scored { // These say what must be online.
		fraction.Sub(big.NewRat(1, 1), fraction)
		limit.Sub(big.NewRat(1, 1), limit)
	}
	share, _ = fraction.Float64()
	most, _ = limit.Float64()
	return share, most, true
}

// suspendedIn is how long an active node may be offline from now on, until its next judgement suspends it.
func suspendedIn(n view.Node) (left time.Duration, comes bool) {
	state, now := n.State, n.AsOf
	if state.Status != core.Active || state.Rules.SuspensionOff {
		return 0, false
	}
	if state.Judge(now).Offending {
		return 0, true
	}
	may := state.MayBeAway(now, now)
	at := state.Rules.StartOf(now).Add(may.For + state.Rules.WindowLength)
	return at.Sub(now), may.For < 2*state.Rules.TrackingPeriod
}
