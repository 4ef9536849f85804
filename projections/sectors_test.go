package projections

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/events/sector"
	"github.com/hostnode/hostnode/events/storetest"
	"github.com/hostnode/hostnode/messages"
	"github.com/hostnode/hostnode/projections/internal/history"
)

// someSectors has one sector of each kind: over, hosted, parked, paused, at work.
func someSectors(t history.T, store events.Store) *history.Writer {
	w := history.New(t, store, me)
	w.MustLedger(capacity.SetQuota{At: w.Now, Bytes: 1 << 20})
	for n := range uint64(5) {
		w.BeginSector(n + 1)
	}
	w.SealSector(1)
	w.EndSector(1, 1000)
	w.SealSector(2)
	w.Did(3, &messages.SectorPackingFailed{Reason: "a piece is not what its commitment says"})
	w.Did(4, &messages.SectorPacked{Fillers: []*messages.SectorPiece{{Cid: "baga6ea4seaqz", Size: 1024}}},
		&messages.SectorTicket{Value: events.Hash{1}.String(), Epoch: 300},
		&messages.SectorSealPreCommitFailed{Reason: "the disk is full"})
	return w
}

func TestSectorsThatNeedSomebodyComeFirst(t *testing.T) {
	store := storetest.NewMemory()
	someSectors(t, store)
	p := built(t, store).Sectors().Providers[0]
	var order []uint64
	for _, s := range p.Sectors {
		order = append(order, s.SectorNumber)
	}
	if diff := cmp.Diff([]uint64{3, 4, 1, 2, 5}, order); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
	want := []StateCount{{"Packing", 1}, {"Proving", 1}, {"PackingFailed", 1}, {"SealFailed", 1}, {"Removed", 1}}
	if diff := cmp.Diff(want, p.Counts); diff != "" || p.Parked != 1 || p.Paused != 1 {
		t.Errorf("%d parked, %d paused, counts (-want +got):\n%s", p.Parked, p.Paused, diff)
	}
	if parked := p.Sectors[0]; parked.Parked == "" || len(parked.Actions) == 0 || parked.LastErr == "" {
		t.Errorf("the parked one: %+v", parked)
	}
	if paused := p.Sectors[1]; paused.PausedUntil.IsZero() || paused.LastErr != "the disk is full" {
		t.Errorf("the paused one: %+v", paused)
	}
	over, hosted := p.Sectors[2], p.Sectors[3]
	if !over.Over || over.Space != (SectorSpace{}) || over.Deposit != "0" || over.DepositReturned != "4000" ||
		over.DepositLost != "1000" {
		t.Errorf("the one that is over: %+v", over)
	}
	if hosted.Space != (SectorSpace{Unsealed: 2048, Sealed: 2048, Tree: 4096}) || hosted.Deposit != "5000" ||
		hosted.ProofBytes != 1 || hosted.PreCommit1OutBytes != 1 || len(hosted.Pieces) != 2 {
		t.Errorf("the hosted one: %+v", hosted)
	}
	if working := p.Sectors[4]; working.Step != "Pack" || working.Attempt != 1 {
		t.Errorf("the one at work: %+v", working)
	}
}

// The duration of a step does not include pauses.
func TestStepsOfASectorAreTimed(t *testing.T) {
	store := storetest.NewMemory()
	w := history.New(t, store, me)
	w.MustLedger(capacity.SetQuota{At: w.Now, Bytes: 1 << 20})
	w.BeginSector(1)
	w.Now = w.Now.Add(10 * time.Second)
	w.Did(1, &messages.SectorFatalError{Reason: "the sealer is broken"})
	w.Waits(1)
	w.Now = w.Now.Add(3 * time.Second)
	w.Did(1, &messages.SectorPacked{Fillers: []*messages.SectorPiece{{Cid: "baga6ea4seaqz", Size: 1024}}})
	for _, step := range built(t, store).Sectors().Providers[0].Sectors[0].Steps {
		if step.Step == "Pack" {
			if want := (StepTime{"Pack", 2, 4, 15}); step != want { // An append takes a second, too.
				t.Errorf("it took %+v, want %+v", step, want)
			}
			return
		}
	}
	t.Error("it was never packed")
}

func TestSectorsThatAreOverAreForgottenBeyondALimit(t *testing.T) {
	store := storetest.NewMemory()
	w := history.New(t, store, me)
	w.MustLedger(capacity.SetQuota{At: w.Now, Bytes: 1 << 20})
	for n := range uint64(4) {
		w.BeginSector(n + 1)
		w.SealSector(n + 1)
		w.EndSector(n+1, 0)
	}
	v := NewViews(Scope{Limits: Limits{ClosedSectors: 2}})
	for r, err := range store.ReadAll(ctx, 0, 0) {
		if err != nil {
			t.Fatal(err)
		}
		v.Apply(r)
	}
	p := v.Sectors().Providers[0]
	if len(p.Sectors) != 2 || p.Sectors[0].SectorNumber != 3 || p.Forgotten != 2 {
		t.Errorf("%d are left, %d forgotten", len(p.Sectors), p.Forgotten)
	}
}

func TestACheckpointHasAllOfASector(t *testing.T) {
	store := storetest.NewMemory()
	someSectors(t, store)
	v := built(t, store)
	back := reloaded(t, v)
	if diff := cmp.Diff(printed(t, v.Sectors()), printed(t, back.Sectors())); diff != "" {
		t.Errorf("(-saved +loaded):\n%s", diff)
	}
	if diff := alike(v, back); diff != "" {
		t.Errorf("(-saved +loaded):\n%s", diff)
	}
}

// BenchmarkListSectors shows 10,000 sectors that are hosted.
func BenchmarkListSectors(b *testing.B) {
	store := storetest.NewMemory()
	w := history.New(b, store, me)
	w.MustLedger(capacity.SetQuota{At: w.Now, Bytes: 1 << 40})
	const n = 10_000
	for i := range uint64(n) {
		w.BeginSector(i + 1)
		w.SealSector(i + 1)
	}
	v := built(b, store)
	for b.Loop() {
		if p := v.Sectors().Providers[0]; len(p.Sectors) != n {
			b.Fatalf("%d sectors", len(p.Sectors))
		}
	}
}

// The chain has the commit, and the call that sent it did not answer: the stream of the sector has no hash of the message,
// but that of the account has.
func TestAMessageThatOnlyTheAccountKnowsIsShown(t *testing.T) {
	store := storetest.NewMemory()
	w := history.New(t, store, me)
	w.MustLedger(capacity.SetQuota{At: w.Now, Bytes: 1 << 20})
	w.BeginSector(1)
	hash := func(kind byte) string { return events.Hash{kind}.String() }
	w.Did(1, &messages.SectorPacked{Fillers: []*messages.SectorPiece{{Cid: "baga6ea4seaqz", Size: 1024}}},
		&messages.SectorTicket{Value: hash(1), Epoch: 300}, &messages.SectorPreCommit1{Out: "0x01"},
		&messages.SectorPreCommit2{CommD: hash(2), CommR: hash(3)})
	precommit := w.Receipt("provider.precommit:1:SendPreCommit:1:1#0").TxHash.String()
	w.Did(1, &messages.SectorPreCommitted{Message: precommit}, &messages.SectorSeedReady{Value: hash(5), Epoch: 320},
		&messages.SectorProofReady{Proof: "0x02"})
	commit := w.Receipt("provider.commit:1:SendCommit:1:1#1").TxHash.String()
	w.Receipt("provider.commit:2:SendCommit:2:1#1") // There is no such sector.
	w.Receipt("provider.withdraw:owed:Withdraw:12#0")
	w.MustSector(1, "", sector.Away{Inputs: sector.Inputs{At: w.Now}, Key: "SendCommit:1:1", Reason: "no node answers"})
	w.MustSector(1, "", sector.ReportChain{
		Inputs: sector.Inputs{At: w.Now}, Facts: sector.Facts{Active: true, Seed: events.Hash{5}, SeedEpoch: 320},
	})
	v := built(t, store)
	s := v.Sectors().Providers[0].Sectors[0]
	if s.State != "FinalizeSector" || s.CommitMessage != commit || s.PreCommitMessage != precommit {
		t.Errorf("in %s it has %q and %q", s.State, s.PreCommitMessage, s.CommitMessage)
	}
	if of := v.hosts[me.String()].sectors.All[1].Mined; len(of) != 1 {
		t.Errorf("what the stream has is kept beside it: %v", of)
	}
}
