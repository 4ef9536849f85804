package projections

import (
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
	Stopped bool  `json:"stopped"`
	Runs    []Run `json:"runs"` // the newest last
}

// Run is one start of a host. Its times are by the machine's clock.
type Run struct {
	Epoch     uint64    `json:"epoch"`
	StartedAt time.Time `json:"startedAt"`
	StoppedAt time.Time `json:"stoppedAt,omitzero"`
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
}

// hostEvent is an event of the host's stream that a running process wrote.
type hostEvent interface{ GetEpoch() uint64 }

func (s *starts) fold(e messages.HostEvent, l Limits) {
	switch e := e.(type) {
	case *messages.HostStarted:
		s.Starts++
		s.Runs, _ = recent(s.Runs, Run{
			Epoch: e.GetEpoch(), StartedAt: at(e), HeardAt: at(e), Version: e.GetVersion(), Node: e.GetNode(),
			ChainID: e.GetChainId(), Genesis: e.GetGenesis(), Contract: e.GetContract(),
		}, l.Starts)
	case *messages.HostStopped:
		s.Stops++
		if n := len(s.Runs); n > 0 && s.Runs[n-1].Epoch == e.GetEpoch() {
			s.Runs[n-1].StoppedAt, s.Runs[n-1].HeardAt = at(e), at(e)
		}
	case *messages.HostHeartbeat, *messages.WorkQuarantined, *messages.QuarantineEnded, *messages.RecordWentBack,
		*messages.TermTaken, *messages.TermEnded:
		if n := len(s.Runs); n > 0 && s.Runs[n-1].Epoch == e.(hostEvent).GetEpoch() {
			s.Runs[n-1].HeardAt = at(e)
		}
	}
}

// Hosts is the view of the hosts and their runs.
func (v *Views) Hosts() HostsView {
	out := HostsView{AsOf: v.asOf, Hosts: []Host{}}
	for _, h := range v.inOrder() {
		s := h.starts
		if s.Starts+s.Stops == 0 {
			continue
		}
		row := Host{Host: h.address, Starts: s.Starts, Stops: s.Stops, Runs: []Run{}}
		row.Runs = append(row.Runs, s.Runs...)
		if n := len(row.Runs); n > 0 {
			row.Epoch, row.Stopped = row.Runs[n-1].Epoch, !row.Runs[n-1].StoppedAt.IsZero()
		}
		out.Hosts = append(out.Hosts, row)
	}
	return out
}
