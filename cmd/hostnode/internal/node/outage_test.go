package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/hostnode/hostnode/actors/health"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/alerts"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/config"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/datadir"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/keys"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/stores"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/esdb"
	"github.com/hostnode/hostnode/events/storetest"
)

// waiting is the start of a host in a data directory, on a chain that is not embedded.
func waiting(t *testing.T) *Process {
	t.Helper()
	c := config.Default()
	c.DataDir, c.Prover.KeysDir = t.TempDir(), t.TempDir()
	c.Chain.Endpoint, c.Chain.Contract = "ws://127.0.0.1:1", events.Address{3}.String()
	dir, err := datadir.Open(c.DataDir, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = dir.Close() })
	log := logrus.NewEntry(quiet())
	p := &Process{Dir: dir, config: c, log: log, alerts: alerts.NewDesk(alerts.Config{}, "", ""), cancel: func() {}}
	p.start = newStart(time.Now(), c.DataDir, health.Typed{}, p.alerts, log)
	return p
}

// used makes a directory one that an account was used with.
func used(t *testing.T, p *Process, account events.Address) {
	t.Helper()
	err := p.Dir.Own(account)
	if err == nil {
		err = os.MkdirAll(p.Dir.Outbox(), 0o700)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(p.Dir.Outbox(), events.TxStream(account)+".outbox"), nil, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestNothingIsProvenWithoutWhatItTakes(t *testing.T) {
	for name, c := range map[string]struct {
		dir  func(*testing.T, *Process)
		want error
	}{
		"a directory that was never used": {func(*testing.T, *Process) {}, nil},
		"without the account's key": {func(t *testing.T, p *Process) {
			used(t, p, events.Address{1})
		}, ErrKeyLost},
		"the key of another account": {func(t *testing.T, p *Process) {
			used(t, p, events.Address{1})
			if _, err := keys.Create(p.Dir.KeyFile(), ""); err != nil {
				t.Fatal(err)
			}
		}, datadir.ErrOtherAccount},
	} {
		t.Run(name, func(t *testing.T) {
			p := waiting(t)
			c.dir(t, p)
			if err := p.prove(t.Context()); !errors.Is(err, c.want) {
				t.Fatalf("%v, want %v", err, c.want)
			}
			p.startProving(t.Context())
			<-p.proving.done
			if nothing := p.start.facts().Outage.Nothing; (nothing == "") != (c.want == nil) {
				t.Errorf("told: %q", nothing)
			}
			if p.stopProving(); p.start.facts().Outage.Nothing != "" {
				t.Error("it is told when the store is back")
			}
		})
	}
}

func TestAChainOfOurOwnStandsStillAndNeedsNoProofs(t *testing.T) {
	p := waiting(t)
	p.config.Chain.Endpoint = ""
	if p.startProving(t.Context()); p.proving != nil {
		t.Error("it is proven")
	}
}

// The proving begins with the first answer that says that the store is away, or without an
// answer for a while. It goes on when the store answers, because the start is not over, until it
// is stopped for the node.
func TestProvingBeginsWhenTheStoreIsAwayAndGoesOnUntilTheNodeIsOpened(t *testing.T) {
	away := fmt.Errorf("append: %w", events.ErrAway)
	refused := errors.New("refused")
	for name, c := range map[string]struct {
		answer func(ask int) error
		began  bool
		want   error
		// settings: it is known only afterwards that nothing helps.
		settings bool
	}{
		"it answers": {func(int) error { return nil }, false, nil, false},
		"it is away": {func(ask int) error {
			if ask == 1 {
				return away
			}
			return nil
		}, true, nil, false},
		"it says nothing for long": {func(int) error {
			time.Sleep(2 * storePatience)
			return nil
		}, true, nil, false},
		"it refuses":                {func(int) error { return refused }, false, refused, false},
		"the settings keep it away": {func(int) error { return fmt.Errorf("%w: %w", away, esdb.ErrSettings) }, false, esdb.ErrSettings, true},
	} {
		t.Run(name, func(t *testing.T) {
			p := waiting(t)
			used(t, p, events.Address{1}) // Its key is lost, so that it reports that it began.
			synctest.Test(t, func(t *testing.T) {
				asked, began := 0, false
				err := p.untilRecordAnswers(t.Context(), func() error {
					asked++
					defer func() {
						synctest.Wait()
						began = began || p.start.facts().Outage.Nothing != ""
					}()
					return c.answer(asked)
				})
				if goesOn := p.proving != nil; !errors.Is(err, c.want) || began != c.began || goesOn != (began || c.settings) {
					t.Errorf("%v; it began: %v; it goes on: %v", err, began, goesOn)
				}
				p.stopProving()
				if f := p.start.facts(); f.Outage.Nothing != "" || err == nil && f.Record.Away {
					t.Errorf("told %+v", f)
				}
			})
		})
	}
}

// unwilling is a store that can be read and takes nothing at first.
type unwilling struct {
	events.Store
	refuses int
}

func (u *unwilling) Append(
	ctx context.Context, stream string, expected events.Expected, batch []events.NewEvent,
) (events.AppendResult, error) {
	if u.refuses--; u.refuses >= 0 {
		return events.AppendResult{}, fmt.Errorf("not ready: %w", events.ErrAway)
	}
	return u.Store.Append(ctx, stream, expected, batch)
}

// A server without a quorum answers like that.
func TestAStoreThatTakesNothingIsWaitedForBeforeTheHostBegins(t *testing.T) {
	p, me := waiting(t), events.Address{1}
	used(t, p, me)
	store := &unwilling{storetest.NewMemory(), 2}
	p.Store = &stores.Opened{Store: store}
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		err := p.mayBegin(t.Context(), me, false)
		if waited := time.Since(began); err != nil || store.refuses >= 0 || waited != 2*dialPause {
			t.Errorf("after %s: %v", waited, err)
		}
	})
}

// A leader that is cut off goes on serving reads; the host has not begun.
func TestAStoreThatDoesNotTakeTheStartOfTheHostIsAway(t *testing.T) {
	for begun, want := range map[bool]error{false: events.ErrAway, true: nil} {
		if err := answers(t.Context(), storetest.NewMemory(), begun); !errors.Is(err, want) {
			t.Errorf("begun %t: %v, want %v", begun, err, want)
		}
	}
}

func TestAStartTellsWhatIsProvenMeanwhile(t *testing.T) {
	p := waiting(t)
	p.start.waits(events.ErrAway)
	p.start.proves(health.OutageFacts{
		Proves: true, Slots: 2, Proofs: 5, Trouble: []health.SlotTrouble{{Slot: events.SlotID{7}, Reason: "no data"}},
	})
	p.start.waitsMeanwhile(errors.New("refused"))
	p.start.waitsMeanwhile(nil) // The chain answers, and the store does not.
	w := health.Judge(p.start.facts())
	if w.Proving != health.No || len(w.Causes) < 2 || !strings.Contains(w.Causes[0].Reason, "proofs handed in 5") ||
		!strings.Contains(w.Causes[1].Reason, "no data") {
		t.Errorf("%+v", w)
	}
	p.start.waitsMeanwhile(fmt.Errorf("the chain has mined 3: %w", events.ErrAway))
	if w := health.Judge(p.start.facts()); !strings.Contains(w.Causes[0].Reason, "nothing is proven meanwhile: the chain has mined 3") {
		t.Errorf("%+v", w)
	}
}

// A host that has begun and waits to read its record does not prove yet, whatever its store says.
func TestWhatIsHostedIsProvenUntilTheHostHasBooted(t *testing.T) {
	for name, c := range map[string]struct {
		answers func(ask int) error // nil: the store says nothing
		booted  int                 // at this question
		atOnce  bool
		keeps   int           // how often it began
		begins  time.Duration // when
	}{
		"it boots at once":    {func(int) error { return nil }, 1, false, 0, 0},
		"the store answers":   {func(int) error { return nil }, 5, false, 1, bootLook},
		"it is away":          {func(int) error { return events.ErrAway }, 5, false, 1, bootLook},
		"it comes back":       {func(ask int) error { return []error{events.ErrAway, nil}[min(ask-1, 1)] }, 6, false, 1, bootLook},
		"for two seconds":     {func(ask int) error { return []error{events.ErrAway, nil}[ask/2%2] }, 9, false, 1, bootLook},
		"it says nothing":     {nil, 4, false, 1, bootLook},
		"it was proven until": {func(int) error { return nil }, 4, true, 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				looked, asked, keeps, running := 0, 0, 0, 0
				var waits error
				var told health.OutageFacts
				var begins time.Duration
				start := time.Now()
				untilBooted(t.Context(), c.atOnce, func(context.Context) bool {
					looked++
					synctest.Wait()
					if keeps > 0 && running == 0 {
						t.Error("nothing is proven, and the host has not booted")
					}
					return looked == c.booted
				}, func(ctx context.Context) error {
					if asked++; c.answers == nil {
						<-ctx.Done()
						return ctx.Err()
					}
					return c.answers(asked)
				}, func(ctx context.Context) error {
					keeps, running = keeps+1, running+1
					defer func() { running-- }()
					begins, told = time.Since(start), health.OutageFacts{Proves: true}
					<-ctx.Done()
					return ctx.Err()
				}, func(err error) { waits = err }, func(f health.OutageFacts) { told = f })
				if keeps != c.keeps || begins != c.begins || running != 0 || waits != nil || told.Proves {
					t.Errorf("it began %d times, after %v, %d run still; told %v, %+v", keeps, begins, running, waits, told)
				}
			})
		})
	}
}
