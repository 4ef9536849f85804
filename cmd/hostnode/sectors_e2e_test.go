//go:build e2e

package main

import (
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/demo"
)

// resultOf has, for each step that makes calls, the events with its result, and how long the step may take with a
// sector of 64 MiB. WaitCommit is not among them: on the demonstration's chain the contract has the proof before the
// answer to its message is there, so the sector does not wait for it.
var resultOf = map[string]struct {
	events []string
	takes  time.Duration
}{
	"OpenSpace":       {[]string{"SectorOpened"}, 10 * time.Millisecond},
	"AddPiece":        {[]string{"SectorPieceAdded"}, 200 * time.Millisecond},
	"Pack":            {[]string{"SectorPacked"}, 20 * time.Millisecond},
	"GetTicket":       {[]string{"SectorTicket"}, 10 * time.Millisecond},
	"PreCommit1":      {[]string{"SectorPreCommit1"}, 300 * time.Millisecond},
	"PreCommit2":      {[]string{"SectorPreCommit2"}, 10 * time.Millisecond},
	"SendPreCommit":   {[]string{"SectorPreCommitted"}, 100 * time.Millisecond},
	"WaitSeed":        {[]string{"SectorSeedReady"}, time.Second},
	"Commit":          {[]string{"SectorProofReady"}, 20 * time.Millisecond},
	"SendCommit":      {[]string{"SectorCommitted", "SectorRetryCommitWait"}, 100 * time.Millisecond},
	"Finalize":        {[]string{"SectorFinalized"}, 10 * time.Millisecond},
	"DeclareFault":    {[]string{"SectorFaultReported"}, 100 * time.Millisecond},
	"WaitFault":       {[]string{"SectorFaultedFinal"}, 100 * time.Millisecond},
	"Restore":         {[]string{"SectorRestored"}, 300 * time.Millisecond},
	"DeclareRecovery": {[]string{"SectorRecoveryDeclared"}, 100 * time.Millisecond},
	"WaitRecovery":    {[]string{"SectorRecovered"}, time.Second},
	"Terminate":       {[]string{"SectorTerminating", "SectorTerminated"}, 100 * time.Millisecond},
	"WaitFinality":    {[]string{"SectorRemove"}, time.Second},
	"Remove":          {[]string{"SectorRemoved"}, 10 * time.Millisecond},
	"ReleaseSpace":    {[]string{"SectorReleased"}, 10 * time.Millisecond},
	"Settle":          {[]string{"SectorSettled"}, 50 * time.Millisecond},
}

// The moments of a step at which the host is killed: when it is scheduled, and nothing or little is done yet; somewhere
// in it, or after it when its result is not recorded yet; and when its result is in the record. The next step is
// scheduled with the result, so the time before a step belongs to the step before.
const (
	atIntent = iota
	inEffect
	atResult
	manyMoments
)

// reaper kills the host once at each moment of each step, as far as there are occasions.
type reaper struct {
	t    *testing.T
	r    *rand.Rand
	most int
	done map[string][manyMoments]bool
	n    int
}

func (k *reaper) killAt(l demo.SectorLine) bool {
	if k.n >= k.most {
		return false
	}
	for step, result := range resultOf {
		moment := atResult
		switch {
		case l.Event == "SectorStepScheduled" && l.Step == step:
			// One of the moments that are left, by chance: many steps come only once.
			if moment = k.r.IntN(atResult); k.done[step][moment] {
				moment = atResult - 1 - moment
			}
		case !slices.Contains(result.events, l.Event):
			continue
		}
		done := k.done[step]
		if done[moment] {
			return false
		}
		done[moment] = true
		k.done[step] = done
		k.n++
		pause := time.Duration(0)
		if moment == inEffect {
			pause = time.Duration(k.r.Int64N(int64(result.takes)))
			<-time.After(pause)
		}
		k.t.Logf("kill %d: %s of sector %d, moment %d, after %s", k.n, step, l.Sector, moment, pause)
		return true
	}
	return false
}

// left are the moments at which the host was not killed yet.
func (k *reaper) left() (all []string) {
	for step := range resultOf {
		for moment, done := range k.done[step] {
			if !done {
				all = append(all, fmt.Sprintf("%s/%d", step, moment))
			}
		}
	}
	slices.Sort(all)
	return all
}

// sealWithKills runs the demonstration of sectors, and kills the host at least so many times. The end must not show
// any of it.
func sealWithKills(t *testing.T, k *reaper, file string, least int) {
	t.Helper()
	out := &tail{}
	c := smallConfig(t, t.TempDir())
	sum, err := demo.RunSectors(t.Context(), demo.SectorOptions{
		Options: demo.Options{Config: c, File: file, Binary: program(t), Out: out}, Days: 5, KillAt: k.killAt,
	})
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	within := map[string]bool{}
	for _, kill := range sum.Kills {
		for _, in := range kill.In {
			step, _, _ := strings.Cut(in, " ")
			within[step] = true
		}
	}
	t.Logf("%d kills, in %d different steps; %d proofs, %.0f s", len(sum.Kills), len(within), sum.Proofs, sum.Seconds)
	if len(sum.Kills) < least || len(within) < least/3 {
		t.Errorf("the host was killed %d times, in %d steps; want %d times and a third as many steps",
			len(sum.Kills), len(within), least)
	}
	for _, r := range sum.Sectors {
		if r.DaysMissed > 0 && len(r.DeclaredFrom) == 0 { // A fault that is found in a window may cost that window.
			t.Errorf("sector %d (%s) missed %d days", r.Sector, r.Role, r.DaysMissed)
		}
		for _, step := range r.Steps {
			want := uint32(1)
			if step.Step == "AddPiece" {
				want = 2
			}
			if step.Attempts != want { // A kill is no failure, and what was begun goes on under its key.
				t.Errorf("sector %d (%s): %s took %d attempts", r.Sector, r.Role, step.Step, step.Attempts)
			}
		}
	}
}

func newReaper(t *testing.T, most int) *reaper {
	return &reaper{t: t, r: chance(t), most: most, done: map[string][manyMoments]bool{}}
}

func TestCIHostKilledInStepsOfSectorsGoesOn(t *testing.T) { sealWithKills(t, newReaper(t, 6), "", 5) }

// Sectors of 64 MiB, so that steps last. A step that comes once in a demonstration has one occasion to be killed in
// before its result, so it takes several until the host was killed at each moment of each step.
func TestHostKilledAtEachMomentOfEachStepOfSectorsGoesOn(t *testing.T) {
	file := filepath.Join(t.TempDir(), "data")
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.CopyN(f, rand.NewChaCha8([32]byte{1}), 8*(32<<20)/128*127); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	const most = 8
	k := newReaper(t, math.MaxInt)
	for round := 0; round < most && (round == 0 || len(k.left()) > 0); round++ {
		sealWithKills(t, k, file, 0)
		t.Logf("after %d demonstrations and %d kills these are left: %v", round+1, k.n, k.left())
	}
	if left := k.left(); len(left) > 0 {
		t.Errorf("the host was never killed at %v", left)
	}
}
