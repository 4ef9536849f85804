package replay

import "github.com/hostnode/hostnode/events/sector"

// sectorState is where a sector stands.
func sectorState(s sector.Info) State {
	var out State
	f := &out.Facts
	f.add("state", s.State, "over", s.Over(), "sectorNumber", s.Number, "provider", s.Provider,
		"size", s.Size, "beganAt", s.BeganAt, "parked", s.Reason, "lastError", s.LastErr,
		"pausedUntil", s.Until, "forcedBy", s.ForcedBy, "wanted", s.Doing)
	f.add("ticket", s.TicketValue, "commD", s.CommD, "commR", s.CommR, "seed", s.SeedValue,
		"preCommitMessage", s.PreCommitMessage, "commitMessage", s.CommitMessage,
		"faultReportMessage", s.FaultReportMsg, "recoveryMessage", s.RecoveryMsg, "terminateMessage", s.TerminateMsg)
	f.add("invalidProofs", s.InvalidProofs, "space", s.Space, "released", s.Released, "deposit", s.Deposit)
	if s.Settled {
		f.add("returned", s.Returned, "lost", s.Lost)
	}
	pieces := func(name string, all []sector.Piece) List {
		l := List{Name: name}
		for _, p := range all {
			l.add("pieceCid", p.CID, "size", p.Size, "payload", p.Payload)
		}
		return l
	}
	actions := List{Name: "actions"}
	for _, a := range s.Actions {
		actions.add("event", a)
	}
	effects := List{Name: "effects"}
	for _, e := range sector.Next(s) {
		effects.add("key", e.Key())
	}
	return out.with(pieces("pieces", s.Pieces), pieces("pending", s.Pending), actions, effects)
}
