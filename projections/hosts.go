package projections

import (
	"slices"
	"time"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/messages"
)

// HostsView shows when each host ran.
type HostsView struct {
	AsOf  events.Position `json:"asOf"`
	Hosts []Host          `json:"hosts"`
}

// Host is an identity and its runs.
type Host struct {
	Host string `json:"host"`
	// Epoch counts the starts, Stops the proper shutdowns.
	Epoch  uint64 `json:"epoch"`
	Starts uint64 `json:"starts"`
	Stops  uint64 `json:"stops"`
	// Stopped says that the last run was shut down properly. Otherwise it is
	// running, or has crashed.
	// Of several members all are meant.
	Stopped bool  `json:"stopped"`
	Runs    []Run `json:"runs"` // the newest last
	// Terms are when which member ran what runs once per host, the newest last; none: the host is
	// one process.
	Terms []Term `json:"terms,omitempty"`
}

// Term is how long a member ran what runs once per host. Its times are by the machine's clock.
type Term struct {
	Term   uint64        `json:"term"`
	Member events.Member `json:"member"`
	Epoch  uint64        `json:"epoch"`
	Since  time.Time     `json:"since"`
	// Ended is when it was given back, or else the next one was taken.
	Ended time.Time `json:"ended,omitzero"`
}

// Run is one start of a host. Its times are by the machine's clock.
type Run struct {
	Epoch uint64 `json:"epoch"`
	// Member is whose run it is; empty: the host was one process.
	Member    events.Member `json:"member,omitempty"`
	StartedAt time.Time     `json:"startedAt"`
	StoppedAt time.Time     `json:"stoppedAt,omitzero"`
	// HeardAt is the last sign of life of the process: a heartbeat, its start or its
	// stop.
	HeardAt  time.Time `json:"heardAt"`
	Version  string    `json:"version"`
	Node     string    `json:"node"`
	ChainID  uint64    `json:"chainId"`
	Genesis  string    `json:"genesis"`
	Contract string    `json:"contract"`
}

type starts struct {
	Starts, Stops uint64
	Runs          []Run
	Terms         []Term
	// HostLedger is the member that has the host's own ledger; empty: none, or it is not known.
	HostLedger events.Member
	// Changed counts the changes of settings; Changes are the newest ones, the newest last.
	Changed uint64
	Changes []SettingChange
}

// keptChanges is the most changes of settings that are kept for each host. The older ones are in the record.
const keptChanges = 2_000

// SettingChange is a change of one setting, as a start found it. Its time is by the machine's clock.
type SettingChange struct {
	// Number counts the changes of the host from 1.
	Number uint64    `json:"number"`
	At     time.Time `json:"at"`
	Epoch  uint64    `json:"epoch"`
	// Member is whose setting it is; empty: the host was one process.
	Member  events.Member `json:"member,omitempty"`
	Version string        `json:"version"`
	Key     string        `json:"key"`
	// Before and After are as people may see them. Hidden says that what is not shown of them differs.
	Before string `json:"before"`
	After  string `json:"after"`
	// Source is default, file, environment or flag; empty: the program has no such setting any more.
	Source string `json:"source"`
	Hidden bool   `json:"hidden,omitempty"`
}

// hostEvent is an event of the host's stream that a running process wrote.
type hostEvent interface {
	messages.HostEvent
	GetEpoch() uint64
}

func (s *starts) fold(e messages.HostEvent, l Limits) {
	switch e := e.(type) {
	case *messages.HostStarted:
		s.Starts++
		s.Runs, _ = recent(s.Runs, Run{
			Epoch: e.GetEpoch(), Member: events.Member(e.GetMember()), StartedAt: at(e), HeardAt: at(e),
			Version: e.GetVersion(), Node: e.GetNode(),
			ChainID: e.GetChainId(), Genesis: e.GetGenesis(), Contract: e.GetContract(),
		}, l.Starts)
		if e.GetHostLedger() || e.GetMember() == "" {
			s.HostLedger = events.Member(e.GetMember())
		}
	case *messages.HostStopped:
		s.Stops++
		s.hear(e).StoppedAt = at(e)
	case *messages.TermTaken:
		s.hear(e)
		if n := len(s.Terms); n > 0 && s.Terms[n-1].Ended.IsZero() {
			s.Terms[n-1].Ended = at(e)
		}
		s.Terms, _ = recent(s.Terms, Term{
			Term: e.GetTerm(), Member: events.Member(e.GetMember()), Epoch: e.GetEpoch(), Since: at(e),
		}, l.Starts)
	case *messages.TermEnded:
		s.hear(e)
		if n := len(s.Terms); n > 0 && s.Terms[n-1].Term == e.GetTerm() {
			s.Terms[n-1].Ended = at(e)
		}
	case *messages.SettingsChanged:
		run := s.hear(e)
		for _, c := range e.GetChanges() {
			s.Changed++
			s.Changes, _ = recent(s.Changes, SettingChange{
				Number: s.Changed, At: at(e), Epoch: e.GetEpoch(), Member: run.Member, Version: e.GetVersion(),
				Key: c.GetKey(), Before: c.GetBefore(), After: c.GetAfter(), Source: c.GetSource(),
				Hidden: c.GetHidden(),
			}, keptChanges)
		}
	case *messages.HostHeartbeat, *messages.WorkQuarantined, *messages.QuarantineEnded, *messages.RecordWentBack:
		s.hear(e.(hostEvent))
	}
}

// hear notes a sign of life of a process, and returns its run; an empty one if it is not kept.
func (s *starts) hear(e hostEvent) *Run {
	for i := range slices.Backward(s.Runs) {
		if s.Runs[i].Epoch == e.GetEpoch() {
			s.Runs[i].HeardAt = at(e)
			return &s.Runs[i]
		}
	}
	return &Run{}
}

// stopped says whether each member's last run was shut down properly. A start ends the runs of its member
// before it, and those of a host of one process; the start of such a host ends all.
func (s *starts) stopped() bool {
	known := map[events.Member]bool{}
	for _, run := range slices.Backward(s.Runs) {
		if known[""] || known[run.Member] || run.Member == "" && len(known) > 0 {
			continue
		}
		known[run.Member] = true
		if run.StoppedAt.IsZero() {
			return false
		}
	}
	return len(known) > 0
}

// SettingChanges are the newest changes of a host's settings, the newest last.
func (v *Views) SettingChanges(host string) []SettingChange {
	if h := v.hosts[host]; h != nil {
		return slices.Clone(h.starts.Changes)
	}
	return nil
}

// Hosts is the view of the hosts and their runs.
func (v *Views) Hosts() HostsView { return HostsView{v.asOf, rows(v, (*host).ran)} }

func (h *host) ran(out []Host) []Host {
	s := h.starts
	if s.Starts+s.Stops == 0 {
		return out
	}
	row := Host{Host: h.address, Starts: s.Starts, Stops: s.Stops, Stopped: s.stopped(), Runs: []Run{}}
	row.Runs = append(row.Runs, s.Runs...)
	row.Terms = append(row.Terms, s.Terms...)
	if n := len(row.Runs); n > 0 {
		row.Epoch = row.Runs[n-1].Epoch
	}
	return append(out, row)
}
