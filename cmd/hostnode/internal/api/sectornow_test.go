package api_test

import (
	"context"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hostnode/hostnode/actors/port"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/api"
	"github.com/hostnode/hostnode/events"
	files "github.com/hostnode/hostnode/storage/sectors"
)

// ticketProvider is a contract of sectors that gives tickets.
type ticketProvider struct{ silentProvider }

func (ticketProvider) Config(context.Context) (events.SectorConfig, error) {
	return events.SectorConfig{
		TicketValid: 200, PeriodBlocks: 60, Deadlines: 6,
		Rewards: map[string]events.Amount{events.ProvesPossession: events.NewAmount(3)},
	}, nil
}

func (ticketProvider) Sector(_ context.Context, number uint64) (on events.SectorOnChain, err error) {
	if number == 1 {
		on = events.SectorOnChain{
			Block: head, SectorFacts: events.SectorFacts{Active: true}, Size: 2048, Proves: events.ProvesPossession,
			Activation: 100, Expiration: 9000, Deadline: 1, Partition: 2, NextPeriod: 8, Deposit: events.NewAmount(77),
		}
	}
	return on, nil
}

func (ticketProvider) Head(context.Context) (events.Head, error) { return head, nil }

func (ticketProvider) Ticket(context.Context, uint64) (events.Hash, uint64, error) {
	return events.Hash{1}, head.Number - 10, nil
}

// halfSealer reports half of PreCommit1 as done, and then hangs.
type halfSealer struct{ port.Sealer }

func (halfSealer) AddPiece(
	_ context.Context, _ events.SectorRef, _ events.Bytes, _ events.SectorPiece, data io.Reader,
) error {
	_, err := io.Copy(io.Discard, data)
	return err
}

func (halfSealer) Pack(context.Context, events.SectorRef, []events.SectorPiece) ([]events.SectorPiece, error) {
	return nil, nil
}

func (halfSealer) PreCommit1(
	ctx context.Context, _ events.SectorRef, _ events.Hash, _ []events.SectorPiece, told events.SectorProgress,
) ([]byte, error) {
	told(0.5)
	<-ctx.Done()
	return nil, context.Cause(ctx)
}

func TestTheProgressOfAStepIsShownWhileItRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		pieces, err := files.OpenPieces(dir+"/pieces", nil)
		if err != nil {
			t.Fatal(err)
		}
		live := sealingWith(t, ticketProvider{}, halfSealer{}, pieces)
		piece := imported(t, live, dir, "a", 2000)
		if _, err := live.PlacePiece(t.Context(), api.Placing{Piece: piece, By: "alice"}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if _, err := live.BeginSector(t.Context(), api.NewSector{By: "alice"}); err != nil {
			t.Fatal(err)
		}
		began := time.Now() // It stands still in this bubble.
		want := []api.SectorNow{{SectorNumber: 1, Progress: 0.5, CallSince: began, CallMoved: began}}
		all := ask(t, live.Sectors)
		if diff := cmp.Diff(want, all.Now); diff != "" || all.Provider.Sectors[0].Step != "PreCommit1" {
			t.Errorf("%s\n%+v", diff, all)
		}
		one, err := live.Sector(t.Context(), 1)
		if err != nil || one.Now == nil || *one.Now != want[0] || one.Proves != "possession" {
			t.Errorf("%+v, %v", one.Now, err)
		}
		there := api.SectorChain{
			Block: head.Number, Expiration: 9000, Deadline: 1, Partition: 2, NextPeriod: 8, LastProven: 7*60 + 10,
			Deposit: "77", RewardPerPeriod: "6144",
		}
		if one.Chain == nil || *one.Chain != there {
			t.Errorf("by the contract it is %+v", one.Chain)
		}
		if two, err := live.Sector(t.Context(), 2); err == nil && two.Chain != nil {
			t.Errorf("the contract has it: %+v", two.Chain)
		}
		if two, err := live.Sector(t.Context(), 2); err != nil || two.Now != nil {
			t.Errorf("%+v, %v", two.Now, err)
		}
		if past, err := (asking{live}).At(t.Context(), api.When{}); err != nil {
			t.Error(err)
		} else if was := ask(t, past.Sectors); was.Now != nil {
			t.Errorf("the past: %+v", was.Now)
		}
	})
}
