package porttest

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/hostnode/hostnode/actors/port"
	"github.com/hostnode/hostnode/events"
)

// RepoWorld is a repo into which a test can put slots. Each belongs to one test.
type RepoWorld struct {
	Repo port.Repo
	// Put stores a new complete slot at each call, with a lifetime until the given time.
	Put func(until time.Time) events.SlotID
	// Download fetches another slot through the Content port.
	Download func() error
}

// Repo runs the suite of the repo's port.
func Repo(t *testing.T, newWorld func(t *testing.T) RepoWorld) {
	for name, test := range map[string]func(*testing.T, RepoWorld){
		"deleting what is not there is success": deleteNothing,
		"a deleted slot is gone":                deleteSlot,
		"a lifetime is only ever raised":        lifetimes,
		"a lifetime deletes nothing":            lifetimeIsALowerBound,
		"a limit is for what is not there yet":  limits,
		"a scrub passes over each slot once":    scrubs,
		"a check is about one slot":             checks,
	} {
		t.Run(name, func(t *testing.T) { test(t, newWorld(t)) })
	}
}

var now = events.Unix(2_000_000_000)

func stored(t *testing.T, w RepoWorld, id events.SlotID) (events.StoredSlot, bool) {
	t.Helper()
	all, err := w.Repo.Stored(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(all, func(s events.StoredSlot) bool { return s.Slot == id })
	if i < 0 {
		return events.StoredSlot{}, false
	}
	return all[i], true
}

func deleteNothing(t *testing.T, w RepoWorld) {
	if err := w.Repo.Delete(t.Context(), events.SlotID{9}); err != nil {
		t.Fatal(err)
	}
	if err := w.Repo.Extend(t.Context(), events.SlotID{9}, now); !errors.Is(err, events.ErrNoSuchSlot) {
		t.Fatalf("extending what is not there: %v", err)
	}
}

func deleteSlot(t *testing.T, w RepoWorld) {
	a, b := w.Put(now), w.Put(now)
	if s, ok := stored(t, w, a); !ok || !s.Complete || s.Data == 0 {
		t.Fatalf("a complete slot is %+v", s)
	}
	for range 2 {
		if err := w.Repo.Delete(t.Context(), a); err != nil {
			t.Fatal(err)
		}
	}
	if s, ok := stored(t, w, a); ok {
		t.Fatalf("after its deletion the slot is %+v", s)
	}
	if _, ok := stored(t, w, b); !ok {
		t.Fatal("another slot is gone as well")
	}
	if err := w.Repo.Extend(t.Context(), a, now); !errors.Is(err, events.ErrNoSuchSlot) {
		t.Fatalf("extending a deleted slot: %v", err)
	}
}

func lifetimes(t *testing.T, w RepoWorld) {
	id := w.Put(now)
	for _, step := range []struct{ until, want time.Time }{
		{now.Add(time.Hour), now.Add(time.Hour)},
		{now.Add(time.Minute), now.Add(time.Hour)},
		{now.Add(time.Hour), now.Add(time.Hour)},
	} {
		if err := w.Repo.Extend(t.Context(), id, step.until); err != nil {
			t.Fatal(err)
		}
		if s, _ := stored(t, w, id); !s.Until.Equal(step.want) {
			t.Fatalf("extended until %s, kept until %s, want %s", step.until, s.Until, step.want)
		}
	}
}

func lifetimeIsALowerBound(t *testing.T, w RepoWorld) {
	id := w.Put(events.Unix(1))
	if s, ok := stored(t, w, id); !ok || !s.Complete {
		t.Fatalf("a slot past its lifetime is %+v, there: %t", s, ok)
	}
}

func scrubs(t *testing.T, w RepoWorld) {
	w.Put(now)
	w.Put(now)
	if p := w.Repo.ScrubProgress(); p != (events.ScrubProgress{}) {
		t.Fatalf("before the first pass it has come to %+v", p)
	}
	for pass := range 2 {
		seen := map[events.SlotID]events.Bytes{}
		began := now.Add(time.Duration(pass) * time.Hour)
		for {
			piece, err := w.Repo.Scrub(t.Context(), began, 1)
			if err != nil || piece.Damage != nil {
				t.Fatalf("a sound slot: %+v, %v", piece, err)
			}
			if p := w.Repo.ScrubProgress(); p != piece.Progress {
				t.Fatalf("the progress is %+v, the piece says %+v", p, piece.Progress)
			}
			if piece.Ended {
				break
			}
			if !piece.Progress.Began.Equal(began) {
				t.Fatalf("the pass began at %s", piece.Progress.Began)
			}
			seen[piece.Slot] += piece.Bytes
		}
		if len(seen) != 2 {
			t.Fatalf("slots of the pass: %v", seen)
		}
		want := events.ScrubProgress{LastBegan: began, LastEnded: began}
		if p := w.Repo.ScrubProgress(); p != want {
			t.Fatalf("after the pass it is %+v, want %+v", p, want)
		}
	}
}

func checks(t *testing.T, w RepoWorld) {
	id := w.Put(now)
	w.Put(now)
	for at, steps := uint64(0), 0; ; steps++ {
		c, err := w.Repo.Check(t.Context(), id, at, 1)
		if err != nil || c.Damage != nil || c.Next <= at || c.Next > c.Blocks {
			t.Fatalf("step %d from block %d: %+v, %v", steps, at, c, err)
		}
		if at = c.Next; at == c.Blocks {
			break
		}
	}
	if p := w.Repo.ScrubProgress(); p != (events.ScrubProgress{}) {
		t.Fatalf("the scrub has come to %+v", p)
	}
	if _, err := w.Repo.Check(t.Context(), events.SlotID{0xff, 31: 0xff}, 0, 1); !errors.Is(err, events.ErrNoSuchSlot) {
		t.Fatalf("a slot that is not here: %v", err)
	}
}

func limits(t *testing.T, w RepoWorld) {
	id := w.Put(now)
	w.Repo.Limit(1)
	if err := w.Download(); !errors.Is(err, events.ErrQuotaExceeded) {
		t.Fatalf("a download beyond the limit: %v", err)
	}
	if err := w.Repo.Extend(t.Context(), id, now.Add(time.Hour)); err != nil {
		t.Fatalf("extending what was there before the limit: %v", err)
	}
	if s, ok := stored(t, w, id); !ok || !s.Complete {
		t.Fatalf("what was there before the limit is %+v, there: %t", s, ok)
	}
	w.Repo.Limit(0)
	if err := w.Download(); err != nil {
		t.Fatalf("a download without a limit: %v", err)
	}
}

// ProverWorld is a prover with one stored slot.
type ProverWorld struct {
	Prover port.Prover
	Job    events.ProofJob
	// Accepts reports whether the contract would take the proof.
	Accepts func(events.ProofJob, events.Proof) bool
}

// Prover runs the suite of the prover's port.
func Prover(t *testing.T, newWorld func(t *testing.T) ProverWorld) {
	t.Run("a proof is for its challenge and can be made again", func(t *testing.T) {
		w := newWorld(t)
		for range 2 {
			r, err := w.Prover.Prove(t.Context(), w.Job)
			if err != nil || r.Challenge != w.Job.Challenge || r.Proof.Invalid() || !w.Accepts(w.Job, r.Proof) {
				t.Fatalf("proved %+v, %v", r, err)
			}
		}
		other := w.Job
		other.Challenge[31] ^= 1
		r, err := w.Prover.Prove(t.Context(), other)
		if err != nil || !w.Accepts(other, r.Proof) || w.Accepts(w.Job, r.Proof) {
			t.Fatalf("the proof for another challenge is %+v, %v", r, err)
		}
	})
	t.Run("a slot that is not stored cannot be proven", func(t *testing.T) {
		w := newWorld(t)
		w.Job.Slot[0] ^= 1
		if _, err := w.Prover.Prove(t.Context(), w.Job); !errors.Is(err, events.ErrNoSuchSlot) {
			t.Fatalf("proving an unknown slot: %v", err)
		}
	})
	t.Run("the key has a name", func(t *testing.T) {
		w := newWorld(t)
		if h := w.Prover.KeyHash(); h == "" || h != w.Prover.KeyHash() {
			t.Fatalf("the key's hash is %q", h)
		}
	})
}
