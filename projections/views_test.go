package projections

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/storetest"
	"github.com/hostnode/hostnode/messages"
	"github.com/hostnode/hostnode/projections/internal/history"
)

var me = events.Address{0xaa}

// built are the views of a store, from the first event.
func built(t history.T, store events.Store) *Views {
	t.Helper()
	v := NewViews(Scope{})
	for r, err := range store.ReadAll(ctx, 0, 0) {
		if err != nil {
			t.Fatalf("read: %v", err)
		}
		v.Apply(r)
	}
	return v
}

// aDay is a history in which everything that the views show happens.
func aDay(t testing.TB) (*storetest.Memory, *history.Writer) {
	store := storetest.NewMemory()
	w := history.New(t, store, me)
	w.Start()
	w.Offer(10)
	w.Life(1, 3)
	slashed := w.Begin(w.Request(2))
	w.Fill(slashed)
	w.Miss(slashed, 1, 100_000)
	w.Prove(slashed, 2)
	w.Finish(slashed, 100_000)
	w.Stop()
	w.Start()
	hosting := w.Begin(w.Request(3))
	w.Fill(hosting)
	w.Due(hosting, 5)
	w.Enqueue(w.Request(4))
	w.BeginSector(1)
	w.SealSector(1)
	w.BeginSector(2)
	w.Did(2, &messages.SectorPackingFailed{Reason: "a piece is not what its commitment says"})
	return store, w
}

// tables are all views with their names.
func tables(t testing.TB, v *Views) (all []any) {
	t.Helper()
	type table struct {
		Name string
		Rows json.RawMessage
	}
	s, err := v.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range s.Tables {
		all = append(all, table{one.Name, one.JSON})
	}
	return all
}

func printed(t testing.TB, v any) string {
	t.Helper()
	text, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestCheckpointOfADayIsThatDay(t *testing.T) {
	store, _ := aDay(t)
	v := built(t, store)
	back := reloaded(t, v)
	if diff := cmp.Diff(printed(t, tables(t, v)), printed(t, tables(t, back))); diff != "" {
		t.Fatalf("the views differ (-saved +loaded):\n%s", diff)
	}
	if diff := alike(v, back); diff != "" {
		t.Fatalf("(-saved +loaded):\n%s", diff)
	}
	if !strings.Contains(printed(t, back.Sales()), `"phase": "Proving"`) {
		t.Fatalf("no sale is proving:\n%s", printed(t, back.Sales()))
	}
}

var rewrite = flag.Bool("rewrite", false, "write the golden files anew")

// TestViewsPrintAsEver pins the JSON that the API and --json return.
func TestViewsPrintAsEver(t *testing.T) {
	store, _ := aDay(t)
	got := printed(t, tables(t, built(t, store))) + "\n"
	path := filepath.Join("testdata", "a_day.json")
	if *rewrite {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Fatalf("%s differs (-want +got); if that is meant, run with -rewrite and read the diff:\n%s", path, diff)
	}
}

// For a slot in repair less is taken than the contract holds. The difference is earned with the
// fill, even if the collateral is lost later, but not if the fill is taken back.
func TestTheRewardForARepairIsEarnedWithItsFill(t *testing.T) {
	store := storetest.NewMemory()
	w := history.New(t, store, me)
	w.Start()
	w.Offer(10)
	w.RepairReward = events.NewAmount(13_107)
	paid, lost, reverted := w.Begin(w.Request(1)), w.Begin(w.Request(2)), w.Begin(w.Request(3))
	w.Fill(paid)
	w.Finish(paid, 131_072)
	w.Fill(lost)
	w.MustSale(lost, w.Facts(lost, false, events.SlotRepair, events.RequestStarted))
	w.Settle(lost)
	w.Fill(reverted)
	w.MustSale(reverted, w.Facts(reverted, false, events.SlotFree, events.RequestNew))
	v := reloaded(t, built(t, store))
	e := v.Earnings().Earnings[0]
	if e.Rewards != "1000000" || e.RepairRewards != "26214" || e.Net != "895142" {
		t.Errorf("rewards %s, for repairs %s, net %s", e.Rewards, e.RepairRewards, e.Net)
	}
	want := map[string][2]string{
		paid.String(): {"13107", "1013107"}, lost.String(): {"13107", "-117965"}, reverted.String(): {"", "0"},
	}
	for _, s := range v.Sales().Sales {
		if got := [2]string{s.RepairReward, s.NetEarning}; got != want[s.Slot] {
			t.Errorf("slot %s: reward for the repair and net %v, want %v", s.Slot, got, want[s.Slot])
		}
	}
}

func TestARewardThatWentElsewhereIsShownWithItsRecipient(t *testing.T) {
	store := storetest.NewMemory()
	w := history.New(t, store, me)
	w.Start()
	w.Offer(10)
	w.Life(1, 0)
	slot := w.Begin(w.Request(2))
	w.Fill(slot)
	treasury := events.Address{0x77}
	w.FinishTo(slot, 131072, treasury)
	v := reloaded(t, built(t, store))
	e := v.Earnings().Earnings[0]
	if e.Rewards != "2000000" || e.RewardsElsewhere != "1000000" || e.Net != "2000000" {
		t.Errorf("rewards %s, of them elsewhere %s, net %s", e.Rewards, e.RewardsElsewhere, e.Net)
	}
	to := map[string]string{}
	for _, s := range v.Sales().Sales {
		to[s.RewardRecipient] += s.Reward
	}
	want := map[string]string{"": "1000000", treasury.String(): "1000000"}
	if diff := cmp.Diff(want, to); diff != "" {
		t.Errorf("rewards by recipient (-want +got)\n%s", diff)
	}
}
