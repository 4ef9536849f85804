package replay

import (
	"maps"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/messages"
)

// hostMachine is the newest start of each member of a host; of a host of one process there is one.
type hostMachine struct {
	newest string          // the member that started last
	runs   map[string]*run // by member
	term   *messages.TermTaken
	ended  bool
	// quarantined is the work that is left alone.
	quarantined []*messages.WorkQuarantined
}

// run is a start, and what is known of its process.
type run struct {
	start          *messages.HostStarted
	stopped, heard time.Time
}

func (m *hostMachine) without(kind, key string) []*messages.WorkQuarantined {
	return slices.DeleteFunc(m.quarantined, func(q *messages.WorkQuarantined) bool {
		return q.GetKind() == kind && q.GetKey() == key
	})
}

// hear notes a sign of life of an epoch, and returns its run; an empty one if it is not the newest of its member.
func (m *hostMachine) hear(epoch uint64, at time.Time) *run {
	for _, r := range m.runs {
		if r.start.GetEpoch() == epoch {
			r.heard = at
			return r
		}
	}
	return &run{}
}

func (m *hostMachine) fold(e proto.Message) bool {
	if start, ok := e.(*messages.HostStarted); ok {
		if start.GetMember() == "" || m.runs == nil { // A host of one process replaces all members.
			m.runs = map[string]*run{}
		}
		delete(m.runs, "")
		m.newest = start.GetMember()
		m.runs[m.newest] = &run{start: start, heard: events.TimeFromMessage(start.GetAt())}
		return true
	}
	said, ok := e.(interface {
		messages.HostEvent
		GetAt() *timestamppb.Timestamp
		GetEpoch() uint64
	})
	if !ok {
		return false
	}
	at := events.TimeFromMessage(said.GetAt())
	r := m.hear(said.GetEpoch(), at)
	switch e := e.(type) {
	case *messages.HostStopped:
		r.stopped = at
	case *messages.WorkQuarantined:
		m.quarantined = append(m.without(e.GetKind(), e.GetKey()), e)
	case *messages.QuarantineEnded:
		m.quarantined = m.without(e.GetKind(), e.GetKey())
	case *messages.TermTaken:
		m.term, m.ended = e, false
	case *messages.TermEnded:
		m.ended = m.ended || e.GetTerm() == m.term.GetTerm()
	case *messages.HostHeartbeat, *messages.RecordWentBack:
	}
	return true
}

func (m *hostMachine) state() State {
	var out State
	if m.runs == nil {
		return out
	}
	last := m.runs[m.newest]
	out.Facts.add("epoch", last.start.GetEpoch(), "startedAt", events.TimeFromMessage(last.start.GetAt()),
		"stoppedAt", last.stopped, "heardAt", last.heard, "stopped", !last.stopped.IsZero(),
		"chainId", last.start.GetChainId(), "genesis", last.start.GetGenesis(), "contract", last.start.GetContract(),
		"version", last.start.GetVersion(), "node", last.start.GetNode(), "member", m.newest)
	if m.term != nil {
		out.Facts.add("term", m.term.GetTerm(), "owner", m.term.GetMember(),
			"since", events.TimeFromMessage(m.term.GetAt()), "termEnded", m.ended)
	}
	members := List{Name: "members"}
	for _, name := range slices.Sorted(maps.Keys(m.runs)) {
		if r := m.runs[name]; name != "" {
			members.add("member", name, "epoch", r.start.GetEpoch(),
				"startedAt", events.TimeFromMessage(r.start.GetAt()), "heardAt", r.heard,
				"stopped", !r.stopped.IsZero(), "version", r.start.GetVersion(), "node", r.start.GetNode())
		}
	}
	quarantined := List{Name: "quarantined"}
	for _, q := range m.quarantined {
		quarantined.add("work", q.GetKind()+":"+q.GetKey(), "reason", q.GetReason())
	}
	return out.with(members, quarantined)
}
