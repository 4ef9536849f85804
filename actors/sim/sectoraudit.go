package sim

import (
	"fmt"
	"maps"
	"slices"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/events/sector"
	"github.com/hostnode/hostnode/messages"
)

// This file checks the invariants of sectors against the record, the disk and the chain.

// messageSteps are the steps that send a message, each with the call that sends it.
var messageSteps = map[sector.Step]string{
	sector.StepSendPreCommit: "provider.preCommit", sector.StepSendCommit: "provider.commit",
	sector.StepDeclareFault: "provider.declareFaults", sector.StepDeclareRecovery: "provider.declareRecoveries",
	sector.StepTerminate: "provider.terminate", sector.StepSettle: "provider.settle",
	sector.StepDiagnose: "provider.settle", // It settles a void precommit.
}

// callSteps are, by call, the steps in which it may be made.
var callSteps = map[string][]sector.Step{
	"sealer.addPiece": {
		sector.StepAddPiece, sector.StepPack, sector.StepRestore, sector.StepCommit, sector.StepFinalize,
	},
	"sealer.pack":       {sector.StepPack},
	"sealer.preCommit1": {sector.StepPreCommit1},
	"sealer.preCommit2": {sector.StepPreCommit2},
	"sealer.commit":     {sector.StepCommit},
	"sealer.finalize":   {sector.StepFinalize},
	"sealer.restore":    {sector.StepRestore, sector.StepCommit, sector.StepFinalize},
	"sealer.remove":     {sector.StepRemove},
	"provider.pinSeed":  {sector.StepWaitSeed},
}

// ofSector reports whether an action belongs to a sector.
func (d action) ofSector() bool { return d.sector > 0 }

// permits reports whether the record has scheduled the step that an action belongs to.
func (a *audit) permits(d action) bool {
	st := a.sectors[d.sector]
	switch d.kind {
	case "provider.possession": // It belongs to no step: the chain says which proofs are due.
		return true
	case "provider.declareFaults", "provider.declareRecoveries":
		if a.overtaken[d.key] { // It was on its way, in a message with those of other sectors.
			return true
		}
	}
	if call := messageSteps[st.Step.Name]; call == d.kind {
		return st.Step.Key == d.key
	}
	return slices.Contains(callSteps[d.kind], st.Step.Name)
}

// reports tells whether an event is what became of a declaration.
func reports(m sector.Event) bool {
	switch m.(type) {
	case *messages.SectorFaultReported, *messages.SectorRecoveryDeclared,
		*messages.SectorRetryScheduled, *messages.SectorFatalError, *messages.SectorParked:
		return true
	}
	return false
}

// onSector folds an event of a sector.
func (a *audit) onSector(e events.Recorded, m sector.Event) error {
	_, n, err := events.ParseSectorStream(e.Stream)
	if err != nil {
		return err
	}
	a.recorded[n] = e.Position
	before, known := a.sectors[n]
	if !known {
		before = sector.New(sectorPolicy)
	}
	after := sector.Evolve(before, m)
	a.sectors[n] = after
	if before.Step.Key != after.Step.Key && !reports(m) {
		a.overtaken[before.Step.Key] = true
	}
	switch m := m.(type) {
	case *messages.SectorStepScheduled:
		step := sector.Step(m.GetStep())
		if before.Sending == step && m.GetAttempt() != before.Attempts.Of(step) {
			return broken(KeyIsKept, "sector %d sends again under %s, and it is not known what became of attempt %d",
				n, m.GetKey(), before.Attempts.Of(step))
		}
		if before.Step.Key != "" {
			return fmt.Errorf("%s of sector %d begins before %s has ended", m.GetKey(), n, before.Step.Key)
		}
	case *messages.SectorForceState:
		a.forced[n] = true
	case *messages.SectorReleased:
		held, _ := a.ledger.Sector(n)
		for _, part := range m.GetParts() {
			if left := held.Of(capacity.Part(part)); left > 0 {
				return broken(SectorSpaceIsUsed, "sector %d gave back its %s files, and the ledger holds %d bytes for them",
					n, part, left)
			}
		}
	case *messages.SectorSettled:
		if held, _ := a.ledger.Sector(n); a.sectors[n].Settled && !held.Deposit.IsZero() {
			return broken(DepositsAccounted, "the deposit of sector %d is settled, and the ledger holds %s of it",
				n, held.Deposit)
		}
	}
	return nil
}

// checkSectors checks what must hold of all sectors after a step.
func (s *simulator) checkSectors() error {
	if s.Sectors.Begin == 0 {
		return nil
	}
	for _, n := range slices.Sorted(maps.Keys(s.audit.sectors)) {
		if st := s.audit.sectors[n]; stands(st) {
			return broken(NoneStandsStill, "sector %d is %s, and waits for nothing", n, st.State)
		}
	}
	for held := range s.audit.ledger.Sectors() {
		st, known := s.audit.sectors[held.Number]
		if !known || st.Over() || st.Released && held.Space != (capacity.Space{}) {
			return broken(SectorSpaceIsUsed, "the ledger holds %+v, and the sector is %q", held, st.State)
		}
	}
	if err := as(DiskIsLedger, s.checkSectorFiles()); err != nil {
		return err
	}
	return s.checkWindows()
}

// stands reports whether a sector has nothing to do in a state in which it must go on.
func stands(st sector.Info) bool {
	if len(sector.Next(st)) > 0 || st.Parked() || st.Over() {
		return false
	}
	switch st.State { //nolint:exhaustive // In all others there must be something to do.
	case sector.Undefined, sector.Empty, sector.Proving:
		return false
	case sector.WaitDeals, sector.AddPiece:
		return len(st.Pending) > 0 || st.PackNow
	}
	return true
}

// checkSectorFiles checks that sectors have no more on disk than the ledger holds for them.
func (s *simulator) checkSectorFiles() error {
	files := s.world.seals.files
	for _, ref := range files.Sectors() {
		usage, err := files.Usage(ref)
		if err != nil {
			return err
		}
		held, _ := s.audit.ledger.Sector(ref.Number)
		for _, part := range events.SectorParts() {
			if have, may := usage.Parts[part], held.Of(capacity.Part(part.String())); have > may {
				return fmt.Errorf("sector %d has %d bytes in its %s files, the ledger holds %d",
					ref.Number, have, part, may)
			}
		}
	}
	return nil
}

// checkSectorAction checks that no step begins before it is recorded, and that a process repeats none of which
// it knows the result.
func (s *simulator) checkSectorAction(d action) error {
	stream := events.SectorStream(me, d.sector)
	if !s.acknowledged(stream) || s.lags(fmt.Sprintf("Sector %d", d.sector), stream, "unknown") {
		return nil // The host acts by what it knows to be stored.
	}
	st := s.audit.sectors[d.sector]
	if !s.audit.permits(d) {
		return broken(StoredBeforeSent, "%s of sector %d under %q while its step is %q", d.kind, d.sector, d.key, st.Step.Key)
	}
	if s.answered[d.sector] == d.kind+" "+st.Step.Key {
		return broken(ResultsAreKept, "%s of sector %d was done for %s before, and this process was told the result",
			d.kind, d.sector, st.Step.Key)
	}
	return nil
}

// noteAnswer remembers that the host was told the result of a step, if its last call has answered.
func (s *simulator) noteAnswer(d action) {
	last := map[string]bool{
		"sealer.pack": true, "sealer.preCommit1": true, "sealer.preCommit2": true, "sealer.commit": true,
		"sealer.finalize": true, "provider.preCommit": true, "provider.commit": true, "provider.declareFaults": true,
		"provider.declareRecoveries": true, "provider.terminate": true,
	}
	if last[d.kind] {
		s.answered[d.sector] = d.kind + " " + s.audit.sectors[d.sector].Step.Key
	}
}

// sectorsAtTheEnd checks that record, ledger and contract agree on the deposits.
func (s *simulator) sectorsAtTheEnd(tip block) (errs []error) {
	if s.Sectors.Begin == 0 {
		return nil
	}
	complain := func(format string, args ...any) { errs = append(errs, broken(DepositsAccounted, format, args...)) }
	var held, undone, lost, returned events.Amount
	c := tip.state.provider
	for n, st := range s.audit.sectors {
		lost, returned = lost.Add(st.Lost), returned.Add(st.Returned)
		if there := c.sectors[n]; there != nil && s.undone[n] {
			undone = undone.Add(there.Deposit)
		}
		switch {
		case !st.Over():
			held = held.Add(st.Deposit)
		case st.Lost != c.lost[n] && !s.undone[n]:
			complain("sector %d got back %s and lost %s of %s; the contract returned %s and kept %s",
				n, st.Returned, st.Lost, st.Deposit, c.settled[n].Returned, c.lost[n])
		}
	}
	if d := s.audit.ledger.Deposits(); d.Held != held || d.Lost != lost || d.Returned != returned {
		complain("the ledger has deposits of %s, %s returned and %s lost; sectors have %s, %s and %s",
			d.Held, d.Returned, d.Lost, held, returned, lost)
	}
	if there := c.deposits(); held.Add(undone).Less(there) {
		complain("the contract holds %s, the ledger %s", there, held)
	}
	if left := len(s.world.seals.files.Sectors()); left > len(s.audit.sectors) {
		complain("%d sectors are on disk", left)
	}
	return errs
}
