package projections

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/snapshot"
	"github.com/hostnode/hostnode/events/storetest"
	"github.com/hostnode/hostnode/messages"
	views "github.com/hostnode/hostnode/projections/catalog"
	"github.com/hostnode/hostnode/projections/internal/history"
)

func open(t *testing.T, store events.Store, cfg Config) *Projector {
	t.Helper()
	p, err := Open(ctx, store, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func same(t *testing.T, want, got *Views) {
	t.Helper()
	if diff := cmp.Diff(printed(t, tables(t, want)), printed(t, tables(t, got))); diff != "" {
		t.Fatalf("the views differ (-want +got):\n%s", diff)
	}
}

func TestAProjectorStartsFromItsCheckpoint(t *testing.T) {
	store, w := aDay(t)
	cfg := Config{Dir: filepath.Join(t.TempDir(), "views")}
	p := open(t, store, cfg)
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	saved := p.AsOf()
	w.Life(7, 2)
	p = open(t, store, cfg)
	if s := p.Status(); s.StartedFrom != saved || s.Ignored != "" || s.AsOf <= saved {
		t.Fatalf("status %+v, saved at %d", s, saved)
	}
	same(t, built(t, store), p.views)
	left, err := os.ReadDir(cfg.Dir)
	if err != nil || len(left) != 1 {
		t.Fatalf("files %v, error %v", left, err)
	}
}

func TestCheckpointsAreSavedWhileReading(t *testing.T) {
	store, _ := aDay(t)
	cfg := Config{Dir: t.TempDir(), CheckpointEvery: 10}
	p := open(t, store, cfg)
	if s := p.Status(); s.SavedAt < 10 || s.SavedAt%10 != 0 || s.SaveError != "" {
		t.Fatalf("status %+v", s)
	}
}

// TestAnUnusableCheckpointIsIgnored damages every byte of the file once.
func TestAnUnusableCheckpointIsIgnored(t *testing.T) {
	store := storetest.NewMemory()
	w := history.New(t, store, me)
	w.Start()
	w.Offer(1)
	want := built(t, store)
	dir := t.TempDir()
	path := filepath.Join(dir, checkpointFile)
	kept := snapshot.File{Path: path, Schema: want.scope.Schema(), Most: 1 << 20}
	if err := kept.Save(want.anchor, must(snapshot.Encode(want.State))); err != nil {
		t.Fatal(err)
	}
	file := must(os.ReadFile(path))
	for i := range file {
		bad := bytes.Clone(file)
		bad[i] ^= 0x41
		if err := os.WriteFile(path, bad, 0o600); err != nil {
			t.Fatal(err)
		}
		v := NewViews(Scope{})
		found, err := kept.Load(ctx, store, v.State)
		if err != nil || found.Usable && alike(want, v) != "" {
			t.Fatalf("byte %d: damage passed as %s: %v", i, bad, err)
		}
	}
	for name, bad := range map[string]string{
		"empty": "", "cut off": string(file[:len(file)/2]), "no object": "[]",
		"another schema": strings.Replace(string(file), "hostnode-views/", "hostnode-views/1", 1),
		"another format": strings.Replace(string(file), "hostnode-views", "litestream", 1),
	} {
		if err := os.WriteFile(path, []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
		p := open(t, store, Config{Dir: dir})
		if s := p.Status(); s.StartedFrom != 0 || s.Ignored == "" {
			t.Fatalf("%s: status %+v", name, s)
		}
		same(t, want, p.views)
	}
}

func TestACheckpointOfAnotherStoreOrScopeIsIgnored(t *testing.T) {
	store, _ := aDay(t)
	dir := t.TempDir()
	if err := open(t, store, Config{Dir: dir}).Close(); err != nil {
		t.Fatal(err)
	}
	short := storetest.NewMemory()
	history.New(t, short, me).Start()
	other := storetest.NewMemory()
	long := history.New(t, other, events.Address{0xbb})
	long.Offer(10)
	for n := range uint64(10) {
		long.Life(n, 1)
	}
	for name, c := range map[string]struct {
		store events.Store
		scope Scope
	}{
		"a shorter store": {short, Scope{}},
		"a longer store":  {other, Scope{}},
		"another host":    {store, Scope{Host: events.Address{0xbb}}},
		"other limits":    {store, Scope{Limits: Limits{ClosedSales: 1}}},
	} {
		p := open(t, c.store, Config{Dir: dir, Scope: c.scope})
		if s := p.Status(); s.StartedFrom != 0 || s.Ignored == "" {
			t.Fatalf("%s: status %+v", name, s)
		}
	}
}

func TestAProjectorWithoutADiskStillProjects(t *testing.T) {
	store, _ := aDay(t)
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	p := open(t, store, Config{Dir: file, CheckpointEvery: 10})
	if s := p.Status(); s.SaveError == "" || s.SavedAt != 0 {
		t.Fatalf("status %+v", s)
	}
	same(t, built(t, store), p.views)
}

func TestAFollowingProjectorSeesWhatIsAppended(t *testing.T) {
	store, w := aDay(t)
	p := open(t, store, Config{})
	p.Follow(t.Context())
	var readers sync.WaitGroup
	stop := make(chan struct{})
	for range 2 {
		readers.Go(func() {
			for {
				if s, err := p.Snapshot(); err != nil || len(s.Tables) != 12+len(views.Machines()) {
					t.Errorf("%d views, error %v", len(s.Tables), err)
				}
				select {
				case <-stop:
					return
				default:
				}
			}
		})
	}
	for n := range uint64(20) {
		w.Life(100+n, 1)
	}
	head, err := store.Head(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.WaitFor(ctx, head); err != nil {
		t.Fatal(err)
	}
	close(stop)
	readers.Wait()
	if !p.Status().Following {
		t.Fatalf("status %+v", p.Status())
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if s := p.Status(); s.Following || s.Error != "" {
		t.Fatalf("status after close %+v", s)
	}
	same(t, built(t, store), p.views)
}

func TestAStoreThatClosesEndsTheFollowing(t *testing.T) {
	store, _ := aDay(t)
	p := open(t, store, Config{})
	p.Follow(t.Context())
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	p.done.Wait()
	if s := p.Status(); s.Following || !strings.Contains(s.Error, events.ErrClosed.Error()) {
		t.Fatalf("status %+v", s)
	}
}

func TestAnEventThatCannotBeReadIsPassedOverAndSaid(t *testing.T) {
	store, _ := aDay(t)
	v := NewViews(Scope{})
	for r, err := range store.ReadAll(ctx, 0, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if r.Type == "HostStopped" {
			r.Meta.Version = 9
		}
		v.Apply(r)
	}
	problems, skipped := v.Problems()
	if skipped != 1 || len(problems) != 1 || problems[0].Type != "HostStopped" {
		t.Fatalf("%d skipped: %v", skipped, problems)
	}
	if hosts := v.Hosts().Hosts; len(hosts) != 1 || hosts[0].Starts != 2 || hosts[0].Stops != 0 {
		t.Fatalf("hosts %+v", hosts)
	}
}

func TestATimelineTellsTheWholeSale(t *testing.T) {
	store, w := aDay(t)
	slot := events.SlotIDOf(w.Request(2).ID, 1)
	line, err := ReadTimeline(ctx, store, me, slot, nil)
	if err != nil {
		t.Fatal(err)
	}
	var told []string
	for i, m := range line.Moments {
		if m.Revision != uint64(i) || m.At.IsZero() || m.Attempt != 1 {
			t.Fatalf("moment %d: %+v", i, m)
		}
		told = append(told, m.Phase+": "+m.Type)
	}
	want := []string{
		"Preparing: SaleStarted", "SlotReserving: CapacityReserved", "Downloading: SlotReserved",
		"InitialProving: SlotStored", "Filling: InitialProofMade", "Filled: SlotFilled",
		"Proving: DataLifetimeExtended", "Proving: ProofDue", "Proving: ProofMissed",
		"Proving: CollateralSlashed", "Proving: ProofDue", "Proving: ProofSubmitted", "Payout: RequestEnded",
		"Finished: PayoutReceived", "Finished: DataDeleted", "Finished: SaleSettled",
	}
	if diff := cmp.Diff(want, told); diff != "" {
		t.Fatalf("timeline (-want +got):\n%s", diff)
	}
	if _, err := ReadTimeline(ctx, store, me, events.SlotID{1}, nil); !errors.Is(err, events.ErrStreamNotFound) {
		t.Fatalf("unknown sale: %v", err)
	}
}

func TestATransactionMinedAgainCostsWhatItCostThere(t *testing.T) {
	store := storetest.NewMemory()
	w := history.New(t, store, me)
	w.Receipt("fill:1#0")
	stream := events.TxStream(me)
	w.Append(stream, "", &messages.TxMined{Key: "fill:1#0", Succeeded: true, Receipt: &messages.Receipt{
		TxHash: events.Hash{1}.String(), BlockHash: events.Hash{2}.String(), FeeWei: "7", Block: 9,
	}})
	v := built(t, store)
	txs, earned := v.Transactions().Transactions, v.Earnings().Earnings
	if len(txs) != 1 || txs[0].FeeWei.String() != "7" || txs[0].Attempts != 1 || txs[0].Outcome != OutcomeSucceeded {
		t.Fatalf("transactions %+v", txs)
	}
	if earned[0].FeesWei != "7" || earned[0].Transactions != 1 {
		t.Fatalf("earnings %+v", earned)
	}
}

func TestWhatIsOverIsKeptUpToTheLimits(t *testing.T) {
	store := storetest.NewMemory()
	w := history.New(t, store, me)
	w.Offer(2)
	for n := range uint64(5) {
		w.Life(n+1, 1)
	}
	v := NewViews(Scope{Limits: Limits{ClosedSales: 2, ClosedReservations: 3, ClosedTransactions: 4}})
	for r, err := range store.ReadAll(ctx, 0, 0) {
		if err != nil {
			t.Fatal(err)
		}
		v.Apply(r)
	}
	sales, txs := v.Sales().Sales, v.Transactions().Transactions
	if len(sales) != 2 || sales[1].Request != w.Request(5).ID.String() || len(txs) != 4 {
		t.Fatalf("%d sales, %d transactions", len(sales), len(txs))
	}
	if n := len(v.Reservations().Closed); n != 3 || len(v.hosts[me.String()].txs.Done) != 4 {
		t.Fatalf("%d reservations, %d keys", n, len(v.hosts[me.String()].txs.Done))
	}
	if e := v.Earnings().Earnings[0]; e.Sales.Finished != 5 || e.Rewards != "5000000" || e.Proofs.Submitted != 5 {
		t.Fatalf("earnings %+v", e)
	}
}

// FuzzCheckpoint reads anything as the state in a checkpoint: nothing panics,
// and an accepted checkpoint is saved again unchanged.
func FuzzCheckpoint(f *testing.F) {
	store := storetest.NewMemory()
	w := history.New(f, store, me)
	w.Offer(1)
	w.Fill(w.Begin(w.Request(1)))
	w.Enqueue(w.Request(2))
	v := built(f, store)
	f.Add(must(snapshot.Encode(v.State)))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, text []byte) {
		v := NewViews(Scope{})
		if snapshot.Decode(text, v.State) != nil {
			return
		}
		if _, err := v.Snapshot(); err != nil { // A year that JSON does not know.
			return
		}
		if diff := alike(v, reloaded(t, v)); diff != "" {
			t.Fatalf("what was saved is not what is read:\n%s", diff)
		}
	})
}
