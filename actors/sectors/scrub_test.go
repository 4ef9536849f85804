package sectors_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hostnode/hostnode/actors/sectors"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/sector"
	"github.com/hostnode/hostnode/messages"
	provers "github.com/hostnode/hostnode/prover/sealer"
)

// The scrub finds a single wrong byte, whichever leaves the challenges meet, and reports it as they do. A
// restart goes on where the pass was.
func TestTheScrubFindsDamageThatNoChallengeMet(t *testing.T) {
	inReality(t, func(r *realHost) {
		r.kill()
		change := r.change
		r.change = func(d *sectors.Deps) {
			change(d)
			d.ScrubEvery, d.ScrubBytesPerSecond = time.Minute, 1<<20
		}
		r.start()
		n, sound := r.create(r.piece("a", 500), r.piece("b", 1000)), r.create(r.piece("c", 500))
		r.until("proving", func() bool { return r.in(n, sector.Proving)() && r.in(sound, sector.Proving)() })
		began := time.Now()
		r.until("a pass", func() bool { return r.disk.ScrubProgress().LastBegan.After(began) })
		if p := r.disk.ScrubProgress(); p.LastEnded.Before(p.LastBegan) || r.count(n, "SectorFaulty")+r.count(sound, "SectorFaulty") > 0 {
			t.Fatalf("%+v", p)
		}
		r.disk.Change(ref(n), events.SectorUnsealed, func(b []byte) []byte { b[1100] ^= 1; return b })
		r.until("found", func() bool { return r.count(n, "SectorFaulty") == 1 })
		for _, e := range r.events(n) {
			if f, ok := e.(*messages.SectorFaulty); ok && !strings.HasPrefix(f.GetReason(), "the scrub: ") {
				t.Errorf("a challenge was faster: %s", f.GetReason())
			}
		}
		r.until("recovered", func() bool { return r.count(n, "SectorRecovered") == 1 && r.in(n, sector.Proving)() })
		ended := r.disk.ScrubProgress().LastEnded
		r.until("two more passes", func() bool { return r.disk.ScrubProgress().LastEnded.After(ended.Add(2 * time.Minute)) })
		if r.count(n, "SectorFaulty") != 1 || r.count(sound, "SectorFaulty") != 0 {
			t.Error("what is sound again, or was never damaged, is reported")
		}
	})
}

func TestTheScrubGoesOnAfterARestart(t *testing.T) {
	inReality(t, func(r *realHost) {
		n, after := r.create(r.piece("a", 500)), r.create(r.piece("b", 500))
		r.until("proving", func() bool { return r.in(n, sector.Proving)() && r.in(after, sector.Proving)() })
		r.kill()
		if err := r.disk.SetScrubProgress(events.SectorScrub{Began: time.Now(), Sector: n, Offset: size}); err != nil {
			t.Fatal(err)
		}
		r.damage(events.SectorUnsealed, flipped) // This pass has read that one already.
		change := r.change
		r.change = func(d *sectors.Deps) {
			change(d)
			d.ScrubEvery, d.ScrubBytesPerSecond = 1000*time.Hour, 1<<20
		}
		r.start()
		time.Sleep(time.Second)
		synctest.Wait()
		if p := r.disk.ScrubProgress(); p.LastEnded.IsZero() || !p.Began.IsZero() {
			t.Errorf("%+v", p)
		}
		if r.count(n, "SectorFaulty") > 0 {
			t.Error("it began with the first sector")
		}
	})
}

// A sealer with nothing to compare data with is asked once.
func TestWithoutAVerifierNothingIsScrubbed(t *testing.T) {
	inReality(t, func(r *realHost) {
		r.kill()
		r.change = func(d *sectors.Deps) {
			d.Sealer, d.Files, d.Pieces, d.ScrubEvery = provers.NewSim(r.disk, 0), r.disk, r, time.Minute
		}
		r.world.verifies = func(string, events.SectorOnChain, uint64, events.Hash, []byte) bool { return true }
		r.start()
		n := r.create(r.piece("a", 500))
		r.until("proving", r.in(n, sector.Proving))
		for range 30 {
			r.mine(1)
		}
		if p := r.disk.ScrubProgress(); !p.Began.IsZero() {
			t.Errorf("%+v", p)
		}
	})
}
