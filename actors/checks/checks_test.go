package checks_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.uber.org/goleak"

	"github.com/hostnode/hostnode/actors/checks"
	"github.com/hostnode/hostnode/actors/sectors"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/actors/shell/shelltest"
	"github.com/hostnode/hostnode/events"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const slotBlocks = 64 // four parts

// disk is what checks read. Its slots and sectors have 4 MiB.
type disk struct {
	damage map[uint64]*events.DamageError // of a slot, by the first block of the part that finds it
	fails  map[uint64]error               // by the first block of the part
	sector map[events.Bytes]sectors.Checked
	kept   error // what Kept says from the second call on
	asked  int
	read   []string
	told   []events.DamageError
}

func (d *disk) slot(_ context.Context, slot events.SlotID, from uint64, most events.Bytes) (events.Checked, error) {
	d.read = append(d.read, fmt.Sprintf("slot %d/%d", slot[0], from))
	next := min(from+uint64(most/events.BlockSize), slotBlocks)
	return events.Checked{Next: next, Blocks: slotBlocks, Damage: d.damage[from]}, d.fails[from]
}

func (d *disk) part(_ context.Context, c sectors.Check) (sectors.Checked, error) {
	d.read = append(d.read, fmt.Sprintf("sector %d/%d", c.Number, c.From))
	if c, ok := d.sector[c.From]; ok {
		return c, nil
	}
	size := slotBlocks * events.BlockSize
	if c.From == size {
		return sectors.Checked{Next: size, Size: size, Over: true, Proves: "possession"}, nil
	}
	return sectors.Checked{Next: c.From + 1<<20, Size: size}, nil
}

// with runs a test with the checks of a host that reads a part each second.
func with(t *testing.T, d *disk, test func(t *testing.T, c *checks.Checks, rt *shell.Runtime)) {
	t.Helper()
	shelltest.Bubble(t, func(t *testing.T, rt *shell.Runtime) {
		test(t, checks.New(checks.Deps{
			Base:           &shell.Base{RT: rt, Log: rt.Log, Clock: shelltest.Clock{}, Yield: shelltest.NoYield, Epoch: 7},
			BytesPerSecond: 1 << 20, Slot: d.slot, Sector: d.part,
			Kept: func(context.Context, checks.Subject) error {
				if d.asked++; d.asked > 1 {
					return d.kept
				}
				return nil
			},
			Damage: func(_ events.SlotID, found events.DamageError) { d.told = append(d.told, found) },
		}), rt)
	})
}

func begin(t *testing.T, c *checks.Checks, of checks.Subject) checks.Check {
	t.Helper()
	k, err := c.Begin(t.Context(), of)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func show(t *testing.T, c *checks.Checks, id string) checks.Check {
	t.Helper()
	synctest.Wait()
	k, err := c.Of(id)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func TestACheckEndsWithWhatItFound(t *testing.T) {
	const all = slotBlocks * events.BlockSize
	slot, sector := checks.Subject{Slot: events.SlotID{1}}, checks.Subject{Sector: 3}
	block := func(n ...uint64) *events.DamageError {
		return &events.DamageError{Blocks: n, Reason: fmt.Sprint("bad ", n)}
	}
	var many []uint64
	for n := range uint64(300) {
		many = append(many, n)
	}
	for name, test := range map[string]struct {
		disk disk
		of   checks.Subject
		want checks.Check
		told int
	}{
		"a sound slot": {of: slot, want: checks.Check{State: checks.Fine, Done: all, Of: all}},
		"damaged blocks, of which all are found": {
			disk{damage: map[uint64]*events.DamageError{0: block(2), 48: block(50, 51)}}, slot, checks.Check{
				State: checks.Damaged, Done: all, Of: all, Blocks: []uint64{2, 50, 51}, Found: 3, Reason: "bad [2]",
			}, 2,
		},
		"more damaged blocks than are named": {
			disk{damage: map[uint64]*events.DamageError{0: block(many...)}}, slot, checks.Check{
				State: checks.Damaged, Done: all, Of: all, Blocks: many[:checks.MaxBlocks], Found: 300,
				Reason: fmt.Sprint("bad ", many),
			}, 1,
		},
		"all is damaged": {
			disk{damage: map[uint64]*events.DamageError{16: {Whole: true, Reason: "no roots"}}},
			slot,
			checks.Check{State: checks.Damaged, Done: all / 2, Of: all, Reason: "no roots"},
			1,
		},
		"a slot that must be here and is not": {
			disk{fails: map[uint64]error{16: events.ErrNoSuchSlot}}, slot, checks.Check{
				State: checks.Damaged, Done: all / 4, Of: all, Reason: events.ErrNoSuchSlot.Error(),
			}, 1,
		},
		"a slot whose sale has ended meanwhile": {
			disk{fails: map[uint64]error{16: events.ErrNoSuchSlot}, kept: sectors.ErrNotAtRest}, slot, checks.Check{
				State: checks.Failed, Done: all / 4, Of: all, Reason: sectors.ErrNotAtRest.Error(),
			}, 0,
		},
		"a disk that is away after damage was found": {
			disk{
				damage: map[uint64]*events.DamageError{0: block(2)}, fails: map[uint64]error{16: events.ErrDiskAway},
			}, slot, checks.Check{
				State: checks.Damaged, Done: all / 4, Of: all, Blocks: []uint64{2}, Found: 1,
				Reason: "bad [2]; then: " + events.ErrDiskAway.Error(),
			}, 1,
		},
		"a sound sector": {of: sector, want: checks.Check{State: checks.Fine, Done: all, Of: all, Proves: "possession"}},
		"a damaged sector": {
			disk{sector: map[events.Bytes]sectors.Checked{1 << 20: {Next: all, Size: all, Damaged: "bad leaf"}}},
			sector,
			checks.Check{State: checks.Damaged, Done: all, Of: all, Reason: "bad leaf"},
			0,
		},
		"a wrong proof": {
			disk{sector: map[events.Bytes]sectors.Checked{all: {Next: all, Size: all, Over: true, Wrong: "a lie"}}},
			sector,
			checks.Check{State: checks.ProofWrong, Done: all, Of: all, Reason: "a lie"},
			0,
		},
		"a sealer that reads nothing": {
			disk{sector: map[events.Bytes]sectors.Checked{0: {Size: all}}}, sector, checks.Check{
				State: checks.Failed, Reason: events.ErrSealerLies.Error() + ": it read from byte 0 to 0 of 4194304",
			}, 0,
		},
	} {
		t.Run(name, func(t *testing.T) {
			with(t, &test.disk, func(t *testing.T, c *checks.Checks, _ *shell.Runtime) {
				began := begin(t, c, test.of)
				if began.ID != "7-1" || began.State != checks.Waiting {
					t.Fatalf("it began as %+v", began)
				}
				pass(time.Minute)
				got := show(t, c, began.ID)
				test.want.ID, test.want.Subject = began.ID, test.of
				times := cmpopts.IgnoreFields(checks.Check{}, "Asked", "Began", "Ended")
				if diff := cmp.Diff(test.want, got, times); diff != "" {
					t.Error(diff)
				}
				if got.Ended.Before(got.Began) || got.Began.IsZero() || !got.State.Over() || len(test.disk.told) != test.told {
					t.Errorf("began %s, ended %s; the sale was told %v", got.Began, got.Ended, test.disk.told)
				}
			})
		})
	}
}

func TestOneCheckRunsAtOnceAtItsPaceAndTheSameSubjectIsTheSameCheck(t *testing.T) {
	d := &disk{}
	with(t, d, func(t *testing.T, c *checks.Checks, _ *shell.Runtime) {
		one := begin(t, c, checks.Subject{Slot: events.SlotID{1}})
		two := begin(t, c, checks.Subject{Sector: 3})
		pass(2500 * time.Millisecond)
		if k := show(t, c, one.ID); k.State != checks.Running || k.Done != 3<<20 || k.Of != 4<<20 {
			t.Fatalf("after two and a half seconds: %+v", k)
		}
		if k := show(t, c, two.ID); k.State != checks.Waiting || !k.Began.IsZero() {
			t.Fatalf("the second one: %+v", k)
		}
		if again := begin(t, c, one.Subject); again.ID != one.ID {
			t.Fatalf("one that runs, again: %+v", again)
		}
		if again := begin(t, c, two.Subject); again.ID != two.ID {
			t.Fatalf("one that waits, again: %+v", again)
		}
		pass(time.Minute)
		if all := c.All(); len(all) != 2 || all[0].ID != two.ID || all[0].State != checks.Fine ||
			all[0].Began.Before(all[1].Ended) {
			t.Fatalf("at the end: %+v", all)
		}
		if again := begin(t, c, one.Subject); again.ID == one.ID {
			t.Fatal("one that is over was not begun again")
		}
		pass(time.Minute)
		if !slices.Equal(d.read[:4], []string{"slot 1/0", "slot 1/16", "slot 1/32", "slot 1/48"}) || len(d.read) != 13 {
			t.Fatalf("read: %v", d.read)
		}
	})
}

func TestACancelledCheckReadsNoMoreAndLetsTheNextRun(t *testing.T) {
	d := &disk{damage: map[uint64]*events.DamageError{0: {Blocks: []uint64{2}, Reason: "bad"}}}
	with(t, d, func(t *testing.T, c *checks.Checks, _ *shell.Runtime) {
		runs := begin(t, c, checks.Subject{Slot: events.SlotID{1}})
		waits := begin(t, c, checks.Subject{Slot: events.SlotID{2}})
		last := begin(t, c, checks.Subject{Sector: 3})
		synctest.Wait()
		for _, one := range []struct{ id, reason string }{
			{waits.ID, "by the operator"}, {runs.ID, "bad; then: by the operator"},
		} {
			for range 2 { // The second time it is over.
				if k, err := c.Cancel(one.id); err != nil || k.State != checks.Cancelled || k.Reason != one.reason {
					t.Fatalf("cancelled: %+v, %v", k, err)
				}
			}
		}
		pass(time.Minute)
		if k := show(t, c, last.ID); k.State != checks.Fine {
			t.Fatalf("the next one: %+v", k)
		}
		if k, err := c.Cancel(last.ID); err != nil || k.State != checks.Fine {
			t.Fatalf("cancelled at its end: %+v, %v", k, err)
		}
		if _, err := c.Cancel("7-9"); !errors.Is(err, checks.ErrUnknown) {
			t.Fatalf("an unknown check: %v", err)
		}
		if len(d.read) != 6 || d.read[1] != "sector 3/0" || len(d.told) != 1 {
			t.Fatalf("read: %v, told: %v", d.read, d.told)
		}
	})
}

func TestACheckEndsWithTheHost(t *testing.T) {
	with(t, &disk{}, func(t *testing.T, c *checks.Checks, rt *shell.Runtime) {
		k := begin(t, c, checks.Subject{Slot: events.SlotID{1}})
		synctest.Wait()
		rt.Kill()
		if k := show(t, c, k.ID); k.State != checks.Cancelled || k.Reason != "the host stopped" || k.Done != 1<<20 {
			t.Fatalf("%+v", k)
		}
	})
}

func TestChecksAreBounded(t *testing.T) {
	with(t, &disk{}, func(t *testing.T, c *checks.Checks, _ *shell.Runtime) {
		begun := 0
		for round := range 3 {
			for n := range checks.MaxOpen {
				begin(t, c, checks.Subject{Sector: uint64(round*checks.MaxOpen + n + 1)})
				begun++
			}
			if _, err := c.Begin(t.Context(), checks.Subject{Sector: 9999}); !errors.Is(err, shell.ErrOverloaded) {
				t.Fatalf("one more than may be open: %v", err)
			}
			pass(time.Hour)
		}
		all := c.All()
		if len(all) != checks.MaxEnded || all[0].ID != fmt.Sprintf("7-%d", begun) {
			t.Fatalf("remembered are %d, the newest is %s of %d", len(all), all[0].ID, begun)
		}
		if _, err := c.Of("7-1"); !errors.Is(err, checks.ErrUnknown) {
			t.Fatalf("the oldest: %v", err)
		}
	})
}

func TestWhatIsNotKeptIsNotChecked(t *testing.T) {
	d := &disk{kept: sectors.ErrNotAtRest, asked: 1}
	with(t, d, func(t *testing.T, c *checks.Checks, _ *shell.Runtime) {
		if _, err := c.Begin(t.Context(), checks.Subject{Sector: 3}); !errors.Is(err, sectors.ErrNotAtRest) {
			t.Fatalf("error %v", err)
		}
		if all := c.All(); len(all) != 0 {
			t.Fatalf("begun: %v", all)
		}
	})
}

func TestAPanicFailsTheCheckAndNoOther(t *testing.T) {
	d := &disk{}
	with(t, d, func(t *testing.T, c *checks.Checks, _ *shell.Runtime) {
		c.Slot = func(context.Context, events.SlotID, uint64, events.Bytes) (events.Checked, error) { panic("a bug") }
		one, two := begin(t, c, checks.Subject{Slot: events.SlotID{1}}), begin(t, c, checks.Subject{Sector: 3})
		pass(time.Minute)
		if k := show(t, c, one.ID); k.State != checks.Failed || k.Reason != "panic: a bug" {
			t.Fatalf("%+v", k)
		}
		if k := show(t, c, two.ID); k.State != checks.Fine {
			t.Fatalf("the next one: %+v", k)
		}
	})
}

// pass lets time pass, and what happens then end.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}
