package downtime

import (
	"fmt"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/messages"
)

// Table is how the events of nodes are stored.
func Table() []events.Entry {
	at := timestamppb.New(events.Unix(1_700_000_000))
	start, end := timestamppb.New(events.Unix(1_699_997_400)), timestamppb.New(events.Unix(1_699_999_200))
	rules := DocumentRules().message()
	verdict := &messages.NodeVerdict{
		RuleSet: "document", Offline: 10, Windows: 48, Void: 1, Value: "0.208333", Limit: 2_000,
		From: start, Until: end,
	}
	audit := func(version uint32, outcome string) []*messages.NodeAudit {
		return []*messages.NodeAudit{{
			Id: "probe:1699998000", Source: "probe", Outcome: outcome, Version: version,
			Time: timestamppb.New(events.Unix(1_699_998_000)),
		}}
	}
	entry := func(name string, example Event) events.Entry {
		return events.Entry{Name: name, Version: 1, Example: example, Check: check}
	}
	return []events.Entry{
		entry("NodeJoined", &messages.NodeJoined{At: at, Rules: rules}),
		entry("NodeRulesChanged", &messages.NodeRulesChanged{At: at, Rules: rules}),
		entry("NodeExited", &messages.NodeExited{At: at, By: "anna", Reason: "it was sold"}),
		entry("WindowClosed", &messages.WindowClosed{
			At: at, Start: start, LengthSeconds: 1800, Audits: audit(0, "offline"), Offline: 1,
		}),
		entry("WindowRevised", &messages.WindowRevised{
			At: at, Start: start, LengthSeconds: 1800, Audits: audit(1, "online"), Online: 1,
		}),
		entry("WindowsVoided", &messages.WindowsVoided{At: at, From: start, Until: end, Reason: "nobody watched"}),
		entry("NodeSuspended", &messages.NodeSuspended{At: at, Verdict: verdict}),
		entry("NodeReinstated", &messages.NodeReinstated{At: at, By: "anna", Reason: "the fault was ours"}),
		entry("NodeDisqualified", &messages.NodeDisqualified{At: at, Verdict: verdict}),
		entry("DisqualificationProposed", &messages.DisqualificationProposed{At: at, Verdict: verdict}),
		entry("ReviewStarted", &messages.ReviewStarted{At: at, Verdict: verdict}),
		entry("ReviewEnded", &messages.ReviewEnded{At: at, Verdict: verdict}),
		entry("MaintenanceAnnounced", &messages.MaintenanceAnnounced{
			At: at, From: start, Until: end, By: "anna", Reason: "a new disk",
		}),
	}
}

// check refuses what no rule could have brought, so that folding meets only what can be folded.
func check(m proto.Message) error {
	if err := events.CheckMessage(m); err != nil {
		return err
	}
	if timed, ok := m.(interface{ GetAt() *timestamppb.Timestamp }); ok && timed.GetAt() == nil {
		return fmt.Errorf("%w: it does not say when", events.ErrMalformed)
	}
	switch e := m.(type) {
	case ruled:
		if err := rulesOf(e.GetRules()).Check(); err != nil {
			return fmt.Errorf("%w: %w", events.ErrMalformed, err)
		}
	case filled:
		return checkWindow(e)
	case interface {
		GetFrom() *timestamppb.Timestamp
		GetUntil() *timestamppb.Timestamp
	}:
		if from, until := e.GetFrom(), e.GetUntil(); from == nil || !until.AsTime().After(from.AsTime()) {
			return fmt.Errorf("%w: it ends before it begins", events.ErrMalformed)
		}
	case interface{ GetVerdict() *messages.NodeVerdict }:
		person, ok := m.(interface{ GetBy() string })
		if e.GetVerdict() == nil && (!ok || person.GetBy() == "") {
			return fmt.Errorf("%w: neither windows nor a person decided it", events.ErrMalformed)
		}
	}
	return nil
}

func checkWindow(e filled) error {
	start, length := e.GetStart(), e.GetLengthSeconds()
	if start == nil || start.GetNanos() != 0 || length == 0 || length > events.MaxUnix ||
		start.GetSeconds()%int64(length) != 0 {
		return fmt.Errorf("%w: no window of %d s begins at %s", events.ErrMalformed, length, start.AsTime())
	}
	for _, m := range e.GetAudits() {
		if a := auditOf(m); !a.known() || m.GetTime().CheckValid() != nil {
			return fmt.Errorf("%w: audit %q", events.ErrMalformed, events.Clip(a.ID, maxID))
		}
	}
	return nil
}
