package history

import (
	"strings"
	"time"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/events/sector"
	"github.com/hostnode/hostnode/messages"
)

// AnySectorStep is something that happens to a sector. What the core refuses is not in the record.
func (w *Writer) AnySectorStep(t *rapid.T, n uint64) {
	s := w.Sectors[n]
	inputs := sector.Inputs{At: w.Now, Chance: 1}
	key := s.Step.Key
	switch rapid.IntRange(0, 6).Draw(t, "kind") {
	case 0, 1:
		if key != "" {
			w.anyBooks(t, n)
		}
	case 2:
		_ = w.AskSector(n, "operator", sector.Happened{Inputs: inputs, Event: w.anyEvent(t, n), By: "operator"})
	case 3:
		if key != "" {
			happened := sector.Happened{Inputs: inputs, Event: w.anyEvent(t, n), Key: key}
			_ = w.AskSector(n, events.SectorCause(key), happened)
		}
	case 4:
		if !s.Until.IsZero() {
			w.Waits(n)
		} else if key != "" {
			_ = w.AskSector(n, events.SectorCause(key), sector.Away{Inputs: inputs, Key: key, Reason: "away"})
		}
	case 5:
		draw := func(name string) bool { return rapid.Bool().Draw(t, name) }
		facts := sector.Facts{
			PreCommitted: draw("precommitted"), Active: draw("active"), Faulty: draw("faulty"),
			Terminated: draw("terminated"), Seed: events.Hash{1}, SeedEpoch: 7,
		}
		_ = w.AskSector(n, "block:3", sector.ReportChain{Inputs: inputs, Facts: facts})
	case 6:
		if key != "" {
			finding := rapid.SampledFrom([]sector.Finding{
				sector.BadSeal, sector.Landed, sector.NotThere, sector.SeedChanged, sector.InvalidProof,
				sector.PreCommitGone,
			}).Draw(t, "finding")
			report := sector.ReportDiagnosis{Inputs: inputs, Key: key, Finding: finding}
			_ = w.AskSector(n, events.SectorCause(key), report)
		}
	}
}

// AnySectorLife is the life of a sector that goes well, from its start to where it is hosted or to its end. It is
// short if the ledger has no room.
func (w *Writer) AnySectorLife(t *rapid.T) {
	n := uint64(100) // Others have lower numbers.
	for w.Sectors[n].State != "" {
		n++
	}
	w.startSector(n)
	if w.tryOpenSector(n) != nil {
		return
	}
	w.SealSector(n)
	if rapid.Bool().Draw(t, "ends") {
		w.EndSector(n, rapid.Uint64Range(0, 5000).Draw(t, "lost"))
	}
}

// anyEvent is the example of any event but those about the ledger, of this sector.
func (w *Writer) anyEvent(t *rapid.T, n uint64) sector.Event {
	for {
		e := proto.Clone(rapid.SampledFrom(sector.Table()).Draw(t, "event").Example).(sector.Event)
		switch e := e.(type) {
		case *messages.SectorOpened, *messages.SectorReleased, *messages.SectorSettled,
			*messages.SectorStepScheduled, *messages.SectorRetryScheduled, *messages.SectorParked,
			*messages.SectorEventRefused:
			continue
		case *messages.SectorStart:
			e.Sector, e.Provider = n, w.Me.String()
		case *messages.SectorStartEmpty:
			e.Sector, e.Provider = n, w.Me.String()
		case *messages.SectorForceState:
			e.State = string(rapid.SampledFrom(sector.States()).Draw(t, "state"))
		}
		return e
	}
}

// anyBooks does what a step asks of the ledger, if it asks something; and what any other step may
// come to.
func (w *Writer) anyBooks(t *rapid.T, n uint64) {
	s := w.Sectors[n]
	switch s.Step.Name { //nolint:exhaustive // The others ask nothing of the ledger.
	case sector.StepOpenSpace:
		if _, holds := w.Ledger.Sector(n); !holds { // A number is used once.
			_ = w.tryOpenSector(n) // It waits for room.
		}
	case sector.StepReleaseScratch:
		w.ReleaseSector(n, capacity.PartScratch)
	case sector.StepReleaseSpace:
		w.ReleaseSector(n, capacity.Parts()...)
	case sector.StepSettle:
		lost := events.Amount{}
		if _, holds := w.Ledger.Sector(n); holds {
			lost = events.NewAmount(rapid.Uint64Range(0, 5000).Draw(t, "lost"))
		}
		if err := w.AskLedgerFor(n, capacity.SettleDeposit{At: w.Now, Sector: n, Lost: lost}); err != nil {
			t.Fatal(err)
		}
		returned := events.Amount{}
		if s.Opened {
			returned = SectorDeposit.SubFloor(lost)
		}
		w.Did(n, &messages.SectorSettled{Returned: returned.String(), Lost: lost.String()})
	default:
		for range 3 { // More often than not, what it is there for.
			e := w.anyEvent(t, n)
			if strings.Contains(sector.NameOf(e), "Failed") {
				continue
			}
			if err := w.AskSector(n, events.SectorCause(s.Step.Key), sector.Happened{
				Inputs: sector.Inputs{At: w.Now.Add(time.Second)}, Event: e, Key: s.Step.Key,
			}); err == nil {
				return
			}
		}
	}
}
