package replay

import (
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/sector"
)

// sectorMachine is the life of a sector.
type sectorMachine struct {
	core[sector.Info, sector.Event]
}

func (m *sectorMachine) state() State {
	s := m.s
	var out State
	f := &out.Facts
	f.add("state", s.State)
	f.add("over", s.Over())
	f.add("sectorNumber", s.Number)
	f.add("provider", s.Provider)
	f.add("size", uint64(s.Size))
	f.add("beganAt", s.BeganAt)
	f.add("parked", s.Reason)
	f.add("lastError", s.LastErr)
	f.add("pausedUntil", s.Until)
	f.add("forcedBy", s.ForcedBy)
	f.add("wanted", s.Doing)
	hashes := []struct {
		name  string
		value events.Hash
	}{
		{"ticket", s.TicketValue},
		{"commD", s.CommD},
		{"commR", s.CommR},
		{"seed", s.SeedValue},
		{"preCommitMessage", s.PreCommitMessage},
		{"commitMessage", s.CommitMessage},
		{"faultReportMessage", s.FaultReportMsg},
		{"recoveryMessage", s.RecoveryMsg},
		{"terminateMessage", s.TerminateMsg},
	}
	for _, h := range hashes {
		if !h.value.Zero() {
			f.add(h.name, h.value)
		}
	}
	f.add("invalidProofs", s.InvalidProofs)
	f.add("space", uint64(s.Space))
	f.add("released", s.Released)
	f.add("deposit", s.Deposit)
	if s.Settled {
		f.add("returned", s.Returned)
		f.add("lost", s.Lost)
	}
	pieces := func(name string, all []sector.Piece) List {
		l := List{Name: name}
		for _, p := range all {
			l.add(Facts{}.with("pieceCid", p.CID).with("size", uint64(p.Size)).with("payload", uint64(p.Payload)))
		}
		return l
	}
	actions := List{Name: "actions"}
	for _, a := range s.Actions {
		actions.add(Facts{{"event", a}})
	}
	effects := List{Name: "effects"}
	for _, e := range sector.Next(s) {
		effects.add(Facts{{"key", e.Key()}})
	}
	return out.with(pieces("pieces", s.Pieces), pieces("pending", s.Pending), actions, effects)
}

func (f Facts) with(name string, value any) Facts {
	f.add(name, value)
	return f
}
