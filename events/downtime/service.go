package downtime

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/messages"
)

// ErrRules: nobody can be judged by such rules.
var ErrRules = errors.New("the rules of downtime contradict each other")

// Percentage counts hundredths of a percent, so that every limit is exact.
type Percentage uint32

// whole is everything.
const whole Percentage = 10_000

func (p Percentage) String() string { return fmt.Sprintf("%d.%02d %%", p/100, p%100) }

// RuleSet says what windows mean.
type RuleSet string

// The sets of rules.
const (
	// Document: a node is offending when more than a fraction of its windows have nothing but offline audits.
	Document RuleSet = "document"
	// Scored: a node is offending when the mean of what its windows were online is below a limit, once the tracking
	// period is full.
	Scored RuleSet = "scored"
)

// Disqualification says what follows when a suspended node was not back in time.
type Disqualification string

// What may follow.
const (
	Disqualify Disqualification = "on"
	Propose    Disqualification = "proposed" // A person confirms it with Force.
	Never      Disqualification = "off"
)

// Service has the rules by which nodes are judged. Document and Scored rules work on the same windows.
type Service struct {
	// TrackingPeriod is how far back windows count: a multiple of WindowLength.
	TrackingPeriod time.Duration `json:"trackingPeriod"`
	// GracePeriod and then another TrackingPeriod is how long a suspended node has to be back.
	GracePeriod time.Duration `json:"gracePeriod"`
	// WindowLength is in whole seconds. Windows begin at its multiples since 1970, in UTC.
	WindowLength time.Duration `json:"windowLength"`
	// AllowedOfflinePercentage is of the windows, and still tolerated (Document).
	AllowedOfflinePercentage Percentage `json:"allowedOfflinePercentage"`
	// RequiredOnlinePercentage is the lowest mean that is tolerated (Scored).
	RequiredOnlinePercentage Percentage `json:"requiredOnlinePercentage"`

	RuleSet RuleSet `json:"ruleSet"`
	// MinimumWindows: with fewer windows nobody is offending.
	MinimumWindows uint32 `json:"minimumWindows"`
	// SingleReview: the clock runs on when a node is reinstated, so that one that comes and goes does not get a new
	// one each time. It ends when the time is over and the node is not offending. Scored always has it.
	SingleReview bool `json:"singleReview"`
	// ElapsedGaps: a tracking period is full when it has passed since the first audit, whether or not each of its
	// windows has one (Scored). Otherwise a node that is seldom audited is never judged.
	ElapsedGaps bool `json:"elapsedGaps"`
	// Evidence: without windows a node keeps its status, and none is reinstated without an online audit in a window
	// that began after the suspension.
	Evidence         bool             `json:"evidence"`
	Disqualification Disqualification `json:"disqualification"`
	// SuspensionOff: no node is suspended, and a suspended one is reinstated.
	SuspensionOff bool `json:"suspensionOff"`
	// GuardPercent: a window in which more of the audited nodes, at least GuardNodes, were offline is void for all:
	// the fault is in the network here. 0: there is no guard.
	GuardPercent uint32 `json:"guardPercent"`
	GuardNodes   uint32 `json:"guardNodes"`
	// Retention is how long windows are kept, at least for TrackingPeriod.
	Retention time.Duration `json:"retention"`
	// WarnWindows: a node is warned that would be suspended after so many windows more.
	WarnWindows uint32 `json:"warnWindows"`
}

// DocumentRules are the rules as they were designed: half-hour windows of a day, a fifth of which may be offline.
func DocumentRules() Service {
	return Service{
		TrackingPeriod: 24 * time.Hour, GracePeriod: 12 * time.Hour, WindowLength: 30 * time.Minute,
		AllowedOfflinePercentage: 2_000, RequiredOnlinePercentage: 6_000, RuleSet: Document, MinimumWindows: 1,
		Disqualification: Disqualify, GuardPercent: 50, GuardNodes: 5, WarnWindows: 7,
	}
}

// ScoredRules are the rules as they came to be used: half-day windows of thirty days, online for three fifths on
// average. There nobody is disqualified by default.
func ScoredRules() Service {
	const day = 24 * time.Hour
	r := DocumentRules()
	r.TrackingPeriod, r.GracePeriod, r.WindowLength = 30*day, 7*day, 12*time.Hour
	r.RuleSet, r.Disqualification, r.SingleReview, r.Evidence = Scored, Never, true, true
	return r
}

// Check is ErrRules with what contradicts.
func (r Service) Check() error {
	var why string
	switch {
	case r.WindowLength < time.Second || r.WindowLength%time.Second != 0:
		why = fmt.Sprintf("a window of %s is not a whole number of seconds", r.WindowLength)
	case r.TrackingPeriod < r.WindowLength || r.TrackingPeriod%r.WindowLength != 0:
		why = fmt.Sprintf("a tracking period of %s is no multiple of a window of %s", r.TrackingPeriod, r.WindowLength)
	case r.TrackingPeriod/r.WindowLength > maxWindows || r.WarnWindows > maxWindows:
		why = fmt.Sprintf("at most %d windows are judged", maxWindows)
	case r.Retention/r.WindowLength > maxKept:
		why = fmt.Sprintf("at most %d windows are kept", maxKept)
	case max(r.TrackingPeriod, r.GracePeriod) > maxPeriod:
		why = fmt.Sprintf("no period is longer than %s", maxPeriod)
	case r.GracePeriod < 0 || r.GracePeriod%time.Second != 0 || r.Retention < 0 || r.Retention%time.Second != 0:
		why = "grace period and retention are whole seconds, and not negative"
	case r.AllowedOfflinePercentage > whole || r.RequiredOnlinePercentage > whole || r.GuardPercent > 100:
		why = "no percentage is above 100"
	case r.RuleSet != Document && r.RuleSet != Scored:
		why = fmt.Sprintf("the rule set is %q, not %q or %q", r.RuleSet, Document, Scored)
	case r.Disqualification != Disqualify && r.Disqualification != Propose && r.Disqualification != Never:
		why = fmt.Sprintf("disqualification is %q, not %q, %q or %q", r.Disqualification, Disqualify, Propose, Never)
	default:
		return nil
	}
	return fmt.Errorf("%w: %s", ErrRules, why)
}

const (
	// maxWindows is the most windows of a tracking period, maxKept the most in memory: some 100 bytes each.
	maxWindows = 2_000
	maxKept    = 100_000
	// maxPeriod is longer than any host lives, and far from what a duration can hold.
	maxPeriod = 10 * 365 * 24 * time.Hour
)

// StartOf is when the window of a point in time begins.
func (r Service) StartOf(t time.Time) time.Time { return time.Unix(r.start(t), 0).UTC() }

func (r Service) start(t time.Time) int64 {
	w, s := r.length(), t.Unix()
	return s - (s%w+w)%w
}

// length is in seconds; 1 for no rules at all.
func (r Service) length() int64 { return max(1, int64(r.WindowLength/time.Second)) }

// Fleet are the nodes that are watched.
type Fleet map[events.Node]State

// Write makes audits of the answers of one round: whether each node was online at a point in time. A round that is
// written twice counts once.
func (r Service) Write(source Source, at time.Time, nodeIDs map[events.Node]bool) map[events.Node]Audit {
	out := make(map[events.Node]Audit, len(nodeIDs))
	for node, online := range nodeIDs {
		a := Audit{ID: fmt.Sprintf("%s:%d", source, at.UnixNano()), Source: source, Outcome: Offline, Time: at}
		if online {
			a.Outcome = Online
		}
		out[node] = a
	}
	return out
}

// GetOffendingNodes are those that were offline more than is allowed.
func (r Service) GetOffendingNodes(f Fleet, now time.Time) (offending []events.Node) {
	for _, node := range slices.Sorted(maps.Keys(f)) {
		s := f[node]
		if s.Rules = r; s.Judged() && s.Judge(now).Offending {
			offending = append(offending, node)
		}
	}
	return offending
}

// Cleanup returns the windows that are still needed. One that begins exactly where that ends is.
func (r Service) Cleanup(windows []Window, now time.Time) []Window {
	bound := r.bound(now)
	return slices.DeleteFunc(slices.Clone(windows), func(w Window) bool { return w.Start < bound })
}

// bound is the start of the oldest window that is kept.
func (r Service) bound(now time.Time) int64 {
	return r.start(now) - int64(max(r.TrackingPeriod, r.Retention)/time.Second)
}

// Run is what the chore has to say to a node.
type Run struct {
	Node     events.Node
	Commands []Command
}

// Chore is one run over all nodes: those for which anything follows, with the commands that bring it. A run that was
// not finished is finished by the next one, and what was done brings nothing again. The error is of nodes that could
// not be judged; it hinders no other.
func (r Service) Chore(f Fleet, now time.Time) (out []Run, err error) {
	guard := r.guard(f, now)
	for _, node := range slices.Sorted(maps.Keys(f)) {
		s, run := f[node], Run{Node: node}
		if !s.Judged() {
			continue
		}
		for _, c := range append(r.guardOf(s, guard, now), Judge{now}) {
			all, why := Decide(s, c)
			if why != nil {
				err = errors.Join(err, fmt.Errorf("judge node %s: %w", node, why))
			}
			for _, e := range all {
				s = Evolve(s, e)
			}
			if len(all) > 0 {
				run.Commands = append(run.Commands, c)
			}
		}
		if len(run.Commands) > 0 {
			out = append(out, run)
		}
	}
	return out, err
}

// guard says which windows are void, because too many nodes were offline in them at once. Nodes that are judged no more
// count, too: a run that goes on where another one crashed must come to the same.
func (r Service) guard(f Fleet, now time.Time) map[int64]string {
	type count struct{ audited, offline uint32 }
	counts, void := map[int64]count{}, map[int64]string{}
	if r.GuardPercent == 0 {
		return void
	}
	for _, s := range f {
		span := s.span(now)
		for i := range span {
			t, _ := span[i].tallyBut(s.Voids, false)
			if t.Total() == 0 {
				continue
			}
			c := counts[span[i].Start]
			if c.audited++; t.Online == 0 {
				c.offline++
			}
			counts[span[i].Start] = c
		}
	}
	for start, c := range counts {
		if c.audited >= r.GuardNodes && c.offline*100 > r.GuardPercent*c.audited {
			void[start] = fmt.Sprintf("%d of %d nodes were offline at once", c.offline, c.audited)
		}
	}
	return void
}

// guardOf are the commands by which a node has exactly those windows void.
func (r Service) guardOf(s State, guard map[int64]string, now time.Time) (out []Command) {
	from, until := s.Rules.start(now)-int64(s.Rules.TrackingPeriod/time.Second), s.Rules.start(now)
	has := map[int64]bool{}
	for _, v := range s.Voids {
		start := v.From.Unix()
		has[start] = has[start] || v.All
		if v.All && guard[start] == "" && start >= from && start < until {
			out = append(out, Void{At: now, From: v.From, Until: v.Until, Reason: v.Reason, All: true, Lifted: true})
		}
	}
	for _, start := range slices.Sorted(maps.Keys(guard)) {
		if from := time.Unix(start, 0).UTC(); !has[start] {
			until := from.Add(r.WindowLength)
			out = append(out, Void{At: now, From: from, Until: until, Reason: guard[start], All: true})
		}
	}
	return out
}

func (r Service) message() *messages.NodeRules {
	return &messages.NodeRules{
		RuleSet: string(r.RuleSet), WindowSeconds: seconds(r.WindowLength), TrackingSeconds: seconds(r.TrackingPeriod),
		GraceSeconds: seconds(r.GracePeriod), AllowedOffline: uint32(r.AllowedOfflinePercentage),
		RequiredOnline: uint32(r.RequiredOnlinePercentage), MinimumWindows: r.MinimumWindows,
		SingleReview: r.SingleReview, ElapsedGaps: r.ElapsedGaps, Evidence: r.Evidence,
		Disqualification: string(r.Disqualification), SuspensionOff: r.SuspensionOff, GuardPercent: r.GuardPercent,
		GuardNodes: r.GuardNodes, RetentionSeconds: seconds(r.Retention), WarnWindows: r.WarnWindows,
	}
}

func rulesOf(m *messages.NodeRules) Service {
	return Service{
		RuleSet: RuleSet(m.GetRuleSet()), WindowLength: events.Seconds(m.GetWindowSeconds()),
		TrackingPeriod: events.Seconds(m.GetTrackingSeconds()), GracePeriod: events.Seconds(m.GetGraceSeconds()),
		AllowedOfflinePercentage: Percentage(m.GetAllowedOffline()),
		RequiredOnlinePercentage: Percentage(m.GetRequiredOnline()), MinimumWindows: m.GetMinimumWindows(),
		SingleReview: m.GetSingleReview(), ElapsedGaps: m.GetElapsedGaps(), Evidence: m.GetEvidence(),
		Disqualification: Disqualification(m.GetDisqualification()), SuspensionOff: m.GetSuspensionOff(),
		GuardPercent: m.GetGuardPercent(), GuardNodes: m.GetGuardNodes(),
		Retention: events.Seconds(m.GetRetentionSeconds()), WarnWindows: m.GetWarnWindows(),
	}
}

func seconds(d time.Duration) uint64 { return uint64(d / time.Second) }
