package embedded

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/hostnode/hostnode/events"
)

// cutPower writes under load, cuts the power at a random time, opens what the disk has kept and
// returns what is wrong with it.
func cutPower(t *testing.T, cfg Config, rng *rand.Rand) string {
	t.Helper()
	disk := vfs.NewCrashableMem()
	cfg.FS = disk
	s, _ := mustOpen(t, "store", cfg)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	acks := newAcknowledged()
	writers := load(ctx, s, "w", 8, acks)
	// What a subscriber has seen must not be taken back either.
	writers.Go(func() {
		for r, err := range s.Subscribe(ctx, 0) {
			if err != nil {
				return
			}
			acks.add(r.Position, place{r.Stream, r.Revision, r.ID})
		}
	})
	before := acks.wait(1 + rng.IntN(400))
	kept := disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: rng.IntN(101), RNG: rng})
	cancel()
	writers.Wait()
	mustClose(t, s)

	again, report, err := Open("store", Config{FS: kept, CacheBytes: smallCache})
	if err != nil {
		return err.Error()
	}
	defer mustClose(t, again)
	if report.Clean || report.Created {
		t.Fatalf("the report after a power cut: %+v", report)
	}
	problem, err := missing(t.Context(), again, before)
	if err != nil {
		return err.Error()
	}
	return problem
}

func seeded(n uint64) *rand.Rand { return rand.New(rand.NewPCG(n, n)) }

func TestPowerCutTakesNothingThatWasAcknowledged(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for round := range 25 {
		if problem := cutPower(t, Config{}, rng); problem != "" {
			t.Fatalf("round %d: %s", round, problem)
		}
	}
}

func TestPowerCutTestFailsWithoutSync(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	dirty := 0
	for range 10 {
		if cutPower(t, Config{noSync: true}, rng) != "" {
			dirty++
		}
	}
	if dirty == 0 {
		t.Fatal("ten power cuts without any sync lost nothing: the test proves nothing")
	}
}

// tornStore has events 0..9 acknowledged, and one more in its log of which the
// last bytes are missing. It returns the disk and the path of the log.
func tornStore(t *testing.T, cut int) (*vfs.MemFS, string) {
	t.Helper()
	disk := vfs.NewCrashableMem()
	s, _ := mustOpen(t, "store", Config{FS: disk})
	for n := range 10 {
		mustAppend(t, s, "a-1", n)
	}
	torn := disk.CrashClone(vfs.CrashCloneCfg{})
	copyFile(t, disk, torn, "store/"+markFile, -1)
	mustAppend(t, s, "a-1", 10)
	path := "store/pebble/" + newestLog(t, disk)
	copyFile(t, disk, torn, path, len(fileBytes(t, disk, path))-cut)
	mustClose(t, s)
	return torn, path
}

func newestLog(t testing.TB, fsys vfs.FS) string {
	t.Helper()
	tail, err := readLogTail(fsys, "store/pebble")
	if err != nil || tail.File == "" {
		t.Fatalf("no log: %+v, %v", tail, err)
	}
	return tail.File
}

func TestTornTailIsRepairedAndReported(t *testing.T) {
	disk, path := tornStore(t, 40)
	s, report := mustOpen(t, "store", Config{FS: disk})
	defer mustClose(t, s)
	if report.Clean || report.Last != 10 || report.Acknowledged != 10 || report.Lost != 0 {
		t.Fatalf("report: %+v", report)
	}
	if report.Tail.Dropped == 0 || report.Tail.Records == 0 ||
		"store/pebble/"+report.Tail.File != path {
		t.Fatalf("the unfinished write is not reported: %+v", report.Tail)
	}
	all, err := collect(s.ReadAll(t.Context(), 0, 0))
	if err != nil || len(all) != 10 {
		t.Fatalf("%d events, %v, want 10", len(all), err)
	}
	if result := mustAppend(t, s, "a-1", 10); result.Position != 11 || result.Revision != 10 {
		t.Fatalf("the next append: %+v", result)
	}
}

func TestTailThatIsWholeIsNotCalledTorn(t *testing.T) {
	disk, _ := tornStore(t, 0)
	s, report := mustOpen(t, "store", Config{FS: disk})
	defer mustClose(t, s)
	if report.Tail.Dropped != 0 || report.Last != 11 || report.Clean {
		t.Fatalf("report: %+v", report)
	}
}

func TestLossOfAcknowledgedEventsIsRefusedUntilAccepted(t *testing.T) {
	disk := vfs.NewCrashableMem()
	s, _ := mustOpen(t, "store", Config{FS: disk})
	for n := range 10 {
		mustAppend(t, s, "a-1", n)
	}
	kept := disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: rand.New(rand.NewPCG(1, 1))})
	path := "store/pebble/" + newestLog(t, kept)
	copyFile(t, kept, kept, path, len(fileBytes(t, kept, path))-40)
	mustClose(t, s)

	_, _, err := Open("store", Config{FS: kept})
	_ = wantDamaged(t, err)
	s, report := mustOpen(t, "store", Config{FS: kept, AcceptLoss: true})
	if report.Lost != 1 || report.Last != 9 || report.Acknowledged != 10 {
		t.Fatalf("report: %+v", report)
	}
	mustClose(t, s)
	s, report = mustOpen(t, "store", Config{FS: kept})
	defer mustClose(t, s)
	if !report.Clean || report.Lost != 0 || report.Last != 9 {
		t.Fatalf("report after the loss was accepted: %+v", report)
	}
}

func TestReportOfAnOrderlyLife(t *testing.T) {
	disk := vfs.NewMem()
	s, report := mustOpen(t, "deep/in/store", Config{FS: disk})
	if want := (Report{Created: true, Clean: true}); report != want {
		t.Fatalf("new: %+v, want %+v", report, want)
	}
	mustAppend(t, s, "a-1", 1)
	mustClose(t, s)
	s, report = mustOpen(t, "deep/in/store", Config{FS: disk})
	mustClose(t, s)
	report.Tail = LogTail{}
	if want := (Report{Clean: true, Last: 1, Acknowledged: 1}); report != want {
		t.Fatalf("closed in order: %+v, want %+v", report, want)
	}
}

func wantDamaged(t testing.TB, err error) *DamagedError {
	t.Helper()
	d, ok := errors.AsType[*DamagedError](err)
	if !ok || !errors.Is(err, events.ErrDamaged) {
		t.Fatalf("error %v, want damage", err)
	}
	return d
}
