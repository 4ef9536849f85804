package history

import (
	"fmt"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/events/sector"
	"github.com/hostnode/hostnode/messages"
)

// What each sector of a history holds.
var (
	SectorSpace   = capacity.Space{Unsealed: 2048, Sealed: 2048, Tree: 4096, Scratch: 100}
	SectorDeposit = events.NewAmount(5000)
)

// AskSector decides a command of a sector; a refusal is returned. An empty cause is the operator.
func (w *Writer) AskSector(n uint64, cause string, c sector.Command) error {
	w.T.Helper()
	s, known := w.Sectors[n]
	if !known {
		s = sector.New(sector.Policy{})
	}
	list, err := sector.Decide(s, c)
	if err != nil {
		return err
	}
	w.because = cause
	w.Append(events.SectorStream(w.Me, n), "", plain(list)...)
	w.because = ""
	for _, e := range list {
		s = sector.Evolve(s, e)
	}
	w.Sectors[n] = s
	return nil
}

// MustSector is AskSector for a command that must not be refused.
func (w *Writer) MustSector(n uint64, cause string, c sector.Command) {
	w.T.Helper()
	if err := w.AskSector(n, cause, c); err != nil {
		w.T.Fatalf("sector %d: %T: %v", n, c, err)
	}
}

// Says is what an operator wants of a sector.
func (w *Writer) Says(n uint64, e sector.Event) {
	w.T.Helper()
	w.MustSector(n, "", sector.Happened{Inputs: w.inputs(), Event: w.happens(e), By: "operator"})
}

// Did are results of the steps of a sector that come one after the other.
func (w *Writer) Did(n uint64, list ...sector.Event) {
	w.T.Helper()
	for _, e := range list {
		key := w.Sectors[n].Step.Key
		if key == "" {
			w.T.Fatalf("sector %d in %s has no step for %s", n, w.Sectors[n].State, sector.NameOf(e))
		}
		w.MustSector(n, events.SectorCause(key), sector.Happened{Inputs: w.inputs(), Event: w.happens(e), Key: key})
	}
}

// Waits lets the pause of a sector end.
func (w *Writer) Waits(n uint64) {
	w.T.Helper()
	w.Now = w.Sectors[n].Until
	w.MustSector(n, events.SectorCause(sector.Next(w.Sectors[n])[0].Key()), sector.Due{Inputs: w.inputs()})
}

func (w *Writer) inputs() sector.Inputs { return sector.Inputs{At: w.Now} }

func (w *Writer) happens(e sector.Event) sector.Event {
	m := e.ProtoReflect()
	m.Set(m.Descriptor().Fields().ByName("at"), protoreflect.ValueOfMessage(events.TimeToMessage(w.Now).ProtoReflect()))
	return e
}

// AskLedgerFor is a command of the ledger that a step of a sector leads to.
func (w *Writer) AskLedgerFor(n uint64, c capacity.Command) error {
	w.T.Helper()
	if key := w.Sectors[n].Step.Key; key != "" {
		w.because = events.SectorCause(key)
	}
	err := w.AskLedger(c)
	w.because = ""
	return err
}

// BeginSector is a sector with one piece that the ledger holds space for.
func (w *Writer) BeginSector(n uint64) {
	w.T.Helper()
	w.startSector(n)
	w.OpenSector(n)
}

func (w *Writer) startSector(n uint64) {
	w.T.Helper()
	w.Says(n, &messages.SectorStart{Sector: n, Provider: w.Me.String(), Size: 2048, Pieces: []*messages.SectorPiece{
		{Cid: fmt.Sprintf("baga6ea4seaqa%d", n), Size: 1024, Payload: 1000},
	}})
}

// OpenSector lets the ledger hold what a sector asks for.
func (w *Writer) OpenSector(n uint64) {
	w.T.Helper()
	if err := w.tryOpenSector(n); err != nil {
		w.T.Fatalf("hold space for sector %d: %v", n, err)
	}
}

// tryOpenSector does nothing if the ledger has no room.
func (w *Writer) tryOpenSector(n uint64) error {
	w.T.Helper()
	hold := capacity.Hold{At: w.Now, Sector: n, Space: SectorSpace, Deposit: SectorDeposit}
	if err := w.AskLedgerFor(n, hold); err != nil {
		return err
	}
	w.Did(n, &messages.SectorOpened{
		Unsealed: uint64(SectorSpace.Unsealed), Sealed: uint64(SectorSpace.Sealed), Tree: uint64(SectorSpace.Tree),
		Scratch: uint64(SectorSpace.Scratch), Deposit: SectorDeposit.String(),
	})
	return nil
}

// SealSector takes a sector that was begun to where it is hosted.
func (w *Writer) SealSector(n uint64) {
	w.T.Helper()
	hash := func(kind byte) string { return events.Hash{kind, byte(n >> 16), byte(n >> 8), byte(n)}.String() }
	w.Did(n, &messages.SectorPacked{Fillers: []*messages.SectorPiece{{Cid: "baga6ea4seaqz", Size: 1024}}},
		&messages.SectorTicket{Value: hash(1), Epoch: 300}, &messages.SectorPreCommit1{Out: "0x01"},
		&messages.SectorPreCommit2{CommD: hash(2), CommR: hash(3)}, &messages.SectorPreCommitted{Message: hash(4)},
		&messages.SectorSeedReady{Value: hash(5), Epoch: 320}, &messages.SectorProofReady{Proof: "0x02"},
		&messages.SectorCommitted{Message: hash(6)}, &messages.SectorProving{}, &messages.SectorFinalized{})
	w.ReleaseSector(n, capacity.PartScratch)
}

// ReleaseSector gives parts of a sector back.
func (w *Writer) ReleaseSector(n uint64, parts ...capacity.Part) {
	w.T.Helper()
	var names []string
	for _, part := range parts {
		names = append(names, string(part))
		if err := w.AskLedgerFor(n, capacity.ReleasePart{At: w.Now, Sector: n, Part: part}); err != nil {
			w.T.Fatalf("release the %s files of sector %d: %v", part, n, err)
		}
	}
	w.Did(n, &messages.SectorReleased{Parts: names})
}

// EndSector terminates a sector that is hosted, and removes it. So much of its deposit is lost.
func (w *Writer) EndSector(n, lost uint64) {
	w.T.Helper()
	w.Says(n, &messages.SectorTerminate{By: "operator", Reason: "the disk is old"})
	w.Did(n, &messages.SectorTerminating{Message: events.Hash{7, byte(n)}.String()}, &messages.SectorTerminated{},
		&messages.SectorRemove{By: "hostnode", Reason: "it is over"}, &messages.SectorRemoved{})
	w.ReleaseSector(n, capacity.PartUnsealed, capacity.PartSealed, capacity.PartTree)
	loss := events.NewAmount(lost)
	if err := w.AskLedgerFor(n, capacity.SettleDeposit{At: w.Now, Sector: n, Lost: loss}); err != nil {
		w.T.Fatalf("settle the deposit of sector %d: %v", n, err)
	}
	w.Did(n, &messages.SectorSettled{Returned: SectorDeposit.SubFloor(loss).String(), Lost: loss.String()})
}
