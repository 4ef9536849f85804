package downtime_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hostnode/hostnode/actors/chainview"
	room "github.com/hostnode/hostnode/actors/downtime"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/actors/shell/shelltest"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/downtime"
	"github.com/hostnode/hostnode/events/storetest"
	"github.com/hostnode/hostnode/projections/audit"
)

var (
	me    = events.Address{0xd0}
	start = time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)
	codec = events.NewCodec(downtime.Table())
)

// fleet is a host that watches nodes. Record, nodes and chain outlive its lives.
type fleet struct {
	t     *testing.T
	store *storetest.Memory
	// wrap changes the store of a life; nil: it does not.
	wrap   func(events.Store) events.Store
	rules  downtime.Service
	online map[events.Node]bool // what probes find
	fault  error                // why none can be asked
	market *fakeMarket
	now    time.Time
	live   bool // blocks are the newest

	rt       *shell.Runtime
	part     *shell.Part
	standing *room.Standing
	told     []room.Notice
	notNear  []events.Node
	broken   []error
}

// fakeMarket finds what it is told to.
type fakeMarket struct {
	settled  time.Time
	findings []room.Finding
}

func (m *fakeMarket) Settled(context.Context) (time.Time, error) { return m.settled, nil }

func (m *fakeMarket) Findings(_ context.Context, from, until time.Time) (found []room.Finding, err error) {
	for _, f := range m.findings {
		if !f.Time.Before(from) && f.Time.Before(until) {
			found = append(found, f)
		}
	}
	return found, nil
}

func inTime(t *testing.T, story func(f *fleet)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f := &fleet{
			t: t, store: storetest.NewMemory(), rules: downtime.DocumentRules(), now: start,
			online: map[events.Node]bool{"a": true, "b": true}, live: true,
		}
		f.begin()
		story(f)
		f.kill()
		report, err := audit.Run(context.Background(), f.store, audit.Options{})
		if err != nil || !report.Clean() {
			t.Errorf("the audit: %v, %v", report.Findings, err)
		}
		if len(f.broken) > 0 {
			t.Errorf("broken: %v", f.broken)
		}
		time.Sleep(time.Minute) // Lets the actor library's last timers expire.
	})
}

// Nodes implements Prober.
func (f *fleet) Nodes() []events.Node { return slices.Sorted(maps.Keys(f.online)) }

// Probe implements Prober.
func (f *fleet) Probe(context.Context) (map[events.Node]room.Answer, error) {
	out := map[events.Node]room.Answer{}
	for name, online := range f.online {
		out[name] = room.Answer{Online: online, Proven: online}
	}
	return out, f.fault
}

func (f *fleet) begin() {
	f.rt = shell.NewRuntime(context.Background(), shelltest.QuietLog())
	var store events.Store = f.store
	if f.wrap != nil {
		store = f.wrap(store)
	}
	base := &shell.Base{
		RT: f.rt, Log: shelltest.QuietLog(), Clock: shell.GuardClock(shelltest.Clock{}, f.rt),
		Store: store, Codec: codec, Me: me, Epoch: 1, Node: "test",
		StoreWatch: shell.NewStoreWatch(shelltest.Clock{}, shelltest.QuietLog(), shelltest.NoYield),
		RetryAfter: time.Second, RetryMost: time.Minute, SnapshotEvery: -1, Yield: shelltest.NoYield,
	}
	d := room.Deps{
		Base: base, Prober: f, Rules: f.rules, Every: 10 * time.Minute, Gap: 25 * time.Minute,
		Decide: downtime.Decide, Standing: new(room.Standing), Tell: func(n room.Notice) { f.told = append(f.told, n) },
		NotNear: func(n events.Node) { f.notNear = append(f.notNear, n) },
		Broken:  func(err error) { f.broken = append(f.broken, err) },
	}
	if f.market != nil {
		d.Market, d.Prober = f.market, nil
	}
	f.standing, f.part = d.Standing, shell.NewPart(room.Name)
	f.part.Began(f.rt.Root(room.Name, room.New(d)))
	f.block(0)
}

func (f *fleet) kill() {
	synctest.Wait()
	f.rt.Kill()
}

// restart kills the host, and starts it after a while.
func (f *fleet) restart(after time.Duration) {
	f.kill()
	f.now = f.now.Add(after)
	f.begin()
}

// block is a new block some time after the last one.
func (f *fleet) block(after time.Duration) {
	f.now = f.now.Add(after)
	f.part.Tell(chainview.HeadMoved{Head: events.Head{Number: uint64(f.now.Unix()), Time: f.now}, Live: f.live})
	if f.wrap != nil {
		time.Sleep(time.Minute) // What has failed is tried again.
	}
	synctest.Wait()
}

// day ends before the audit of midnight.
const day = 24*time.Hour - 5*time.Minute

// pass has time pass, with a block each five minutes.
func (f *fleet) pass(d time.Duration) {
	for range d / (5 * time.Minute) {
		f.block(5 * time.Minute)
	}
}

func (f *fleet) order(o room.Order) (downtime.Status, error) {
	return shell.Ask[downtime.Status](f.part, o).Wait(f.t.Context())
}

// state folds what is recorded of a node.
func (f *fleet) state(node events.Node) (s downtime.State) {
	f.t.Helper()
	for r, err := range f.store.ReadStream(context.Background(), events.NodeStream(me, node), events.ReadStream{}) {
		if errors.Is(err, events.ErrStreamNotFound) {
			break
		}
		if err != nil {
			f.t.Fatal(err)
		}
		e, err := codec.Decode(r)
		if err != nil {
			f.t.Fatal(err)
		}
		s = downtime.Evolve(s, e.(downtime.Event))
	}
	return s
}

// want compares the status of nodes.
func (f *fleet) want(status map[events.Node]downtime.Status) {
	f.t.Helper()
	got := map[events.Node]downtime.Status{}
	for name := range status {
		got[name] = f.state(name).Status
		if barred := f.standing.Barred(name); barred != (got[name] == downtime.Suspended || got[name] == downtime.Disqualified) {
			f.t.Errorf("node %s is %s, and barred is %t", name, got[name], barred)
		}
	}
	if diff := cmp.Diff(status, got); diff != "" {
		f.t.Errorf("at %s (-want +got):\n%s", f.now, diff)
	}
}

// heard counts notices whose text contains words.
func (f *fleet) heard(words string) (n int) {
	for _, m := range f.told {
		if strings.Contains(m.Text+" "+m.Hint, words) {
			n++
		}
	}
	return n
}

// Example A of the document: a day online, then away. The tenth window of 48 is more than a fifth.
func TestANodeThatStaysAwayIsWarnedSuspendedAndDisqualified(t *testing.T) {
	inTime(t, func(f *fleet) {
		f.pass(day)
		f.online["b"] = false
		f.pass(4*time.Hour + 35*time.Minute)
		f.want(map[events.Node]downtime.Status{"a": downtime.Active, "b": downtime.Active})
		if f.heard("9 of 48 windows offline, 1 more") != 0 || f.heard("7 more and you are suspended") != 1 {
			t.Errorf("warnings: %+v", f.told)
		}
		f.pass(30 * time.Minute)
		f.want(map[events.Node]downtime.Status{"a": downtime.Active, "b": downtime.Suspended})
		if f.heard("node b is suspended: 10 of 48 windows offline: 0.208333, at most 20.00 % may be") != 1 {
			t.Errorf("notices: %+v", f.told)
		}
		f.pass(36 * time.Hour)
		f.want(map[events.Node]downtime.Status{"a": downtime.Active, "b": downtime.Disqualified})
		f.online["b"] = true
		f.pass(24 * time.Hour)
		f.want(map[events.Node]downtime.Status{"a": downtime.Active, "b": downtime.Disqualified})
		status, err := f.order(room.Order{Node: "b", Force: &downtime.Force{
			To: downtime.Active, By: "anna", Reason: "a new machine",
		}})
		if err != nil || status != downtime.Active {
			t.Errorf("%v, %v", status, err)
		}
		f.want(map[events.Node]downtime.Status{"b": downtime.Active})
	})
}

func TestANodeThatIsBackInTimeIsNotNearASuspension(t *testing.T) {
	inTime(t, func(f *fleet) {
		f.pass(day)
		f.online["b"] = false
		f.pass(4*time.Hour + 35*time.Minute)
		if n := len(f.told); n == 0 || !f.told[n-1].Warning || f.told[n-1].Node != "b" {
			t.Errorf("warnings: %+v", f.told)
		}
		f.notNear, f.online["b"] = nil, true
		f.pass(day)
		f.want(map[events.Node]downtime.Status{"b": downtime.Active})
		if !slices.Contains(f.notNear, "b") {
			t.Errorf("not near a suspension any more: %v", f.notNear)
		}
	})
}

func TestANodeThatIsBackIsReinstated(t *testing.T) {
	inTime(t, func(f *fleet) {
		f.pass(day)
		f.online["b"] = false
		f.pass(5 * time.Hour)
		f.online["b"] = true
		f.pass(19*time.Hour + 5*time.Minute)
		f.want(map[events.Node]downtime.Status{"b": downtime.Suspended})
		f.pass(30 * time.Minute)
		f.want(map[events.Node]downtime.Status{"b": downtime.Active})
	})
}

// What nobody watched is nobody's fault: no block came, the host did not run, or nothing here reached the network.
func TestNobodyIsPunishedForWhatNobodySaw(t *testing.T) {
	absence := func(f *fleet) {
		f.online["b"] = false
		f.pass(3*time.Hour + 40*time.Minute) // It would be suspended soon.
	}
	for name, sleep := range map[string]func(f *fleet){
		"no block": func(f *fleet) { f.block(12 * time.Hour) },
		"killed":   func(f *fleet) { f.restart(12 * time.Hour) },
		"catching up": func(f *fleet) {
			f.live = false
			f.pass(12 * time.Hour)
			f.live = true
		},
		"no network": func(f *fleet) {
			f.fault = errors.New("the network is down")
			f.pass(12 * time.Hour)
			f.fault = nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			inTime(t, func(f *fleet) {
				f.pass(day)
				absence(f)
				offline := f.state("b").Judge(f.now).Offline
				sleep(f)
				f.pass(20 * time.Minute)
				s := f.state("b")
				if v := s.Judge(f.now); s.Status != downtime.Active || v.Offline > offline {
					t.Errorf("%s, %s; %d windows were offline before", s.Status, v, offline)
				}
				if len(s.Voids) == 0 || s.Voids[0].Until.Sub(s.Voids[0].From) < 12*time.Hour {
					t.Errorf("void is %+v", s.Voids)
				}
				f.online["b"] = true
				f.pass(24 * time.Hour)
				f.want(map[events.Node]downtime.Status{"a": downtime.Active, "b": downtime.Active})
			})
		})
	}
}

// A crash loses what was seen of the window that was open. An online audit among that would have saved it.
func TestAWindowInWhichTheHostCrashedDoesNotCount(t *testing.T) {
	inTime(t, func(f *fleet) {
		f.pass(10 * time.Minute)
		f.online["b"] = false
		f.restart(time.Minute)
		f.pass(25 * time.Minute)
		s := f.state("b")
		if v := s.Judge(f.now); v.Offline != 0 || v.Void != 1 {
			t.Errorf("%+v, windows %+v, void %+v", v, s.Windows, s.Voids)
		}
	})
}

// Most nodes are offline at once: the fault is here.
func TestAWindowInWhichMostAreOfflineIsVoidAndTold(t *testing.T) {
	inTime(t, func(f *fleet) {
		f.kill()
		f.online = map[events.Node]bool{"a": true, "b": true, "c": true, "d": true, "e": true}
		f.begin()
		f.pass(day)
		for _, name := range []events.Node{"a", "b", "c"} {
			f.online[name] = false
		}
		f.pass(10 * time.Hour)
		f.want(map[events.Node]downtime.Status{"a": downtime.Active, "e": downtime.Active})
		if n := f.heard("void for all: 3 of 5 nodes were offline at once"); n != 1 {
			t.Errorf("told %d times: %+v", n, f.told)
		}
	})
}

func proof(node events.Node, n int, at time.Time, is downtime.Outcome) room.Finding {
	return room.Finding{Node: node, Audit: downtime.Audit{
		ID: fmt.Sprintf("proof:%s:%d", node, n), Source: downtime.Proof, Outcome: is, Time: at,
	}}
}

func TestWhatTheMarketShowsIsReadAgainAfterASleep(t *testing.T) {
	inTime(t, func(f *fleet) {
		f.kill()
		f.market = &fakeMarket{settled: start}
		host := events.Node(events.Address{7}.String())
		for n := range 96 {
			at := start.Add(time.Duration(n)*30*time.Minute + 5*time.Minute)
			is := downtime.Online
			if n >= 48 && n < 58 {
				is = downtime.Offline
			}
			f.market.findings = append(f.market.findings, proof(host, n, at, is))
		}
		f.begin()
		settle := func(d time.Duration) {
			for range d / (5 * time.Minute) {
				f.market.settled = f.now.Add(-10 * time.Minute)
				f.block(5 * time.Minute)
			}
		}
		settle(24 * time.Hour)
		f.kill()
		f.now = f.now.Add(5*time.Hour + 15*time.Minute)
		f.market.settled = f.now.Add(-10 * time.Minute)
		f.begin()
		f.want(map[events.Node]downtime.Status{host: downtime.Suspended})
		if s := f.state(host); s.Judge(f.now).Windows < 45 || len(s.Voids) > 0 {
			t.Errorf("%s; void %+v", s.Judge(f.now), s.Voids)
		}
		// A reorganisation showed a proof that had been missing, in the window that was read last.
		last := f.market.findings[57]
		last.Outcome = downtime.Online
		f.market.findings[57] = last
		settle(time.Hour)
		f.want(map[events.Node]downtime.Status{host: downtime.Active})
	})
}

// Who is answered may rely on it at once.
func TestANodeIsBarredWhenTheOrderIsAnswered(t *testing.T) {
	inTime(t, func(f *fleet) {
		f.pass(time.Hour)
		for n := range 100 {
			to := []downtime.Status{downtime.Suspended, downtime.Active}[n%2]
			_, err := f.order(room.Order{Node: "a", Force: &downtime.Force{To: to, By: "anna", Reason: "a trial"}})
			if barred := f.standing.Barred("a"); err != nil || barred != (to == downtime.Suspended) {
				t.Fatalf("to %s: barred is %t, %v", to, barred, err)
			}
		}
	})
}

func TestAnOrderAboutANodeThatIsNotWatched(t *testing.T) {
	inTime(t, func(f *fleet) {
		if _, err := f.order(room.Order{Node: "c", Force: &downtime.Force{To: downtime.Exited, By: "anna", Reason: "sold"}}); !errors.Is(err, downtime.ErrNotJoined) {
			t.Errorf("error %v", err)
		}
		if _, err := f.order(room.Order{Node: "a", Force: &downtime.Force{To: downtime.Suspended}}); !errors.Is(err, downtime.ErrUnexplained) {
			t.Errorf("error %v", err)
		}
	})
}

// failing is a store of which each third append fails; then half of them are stored all the same.
type failing struct {
	events.Store
	n *atomic.Int64
}

var errDisk = errors.New("the disk is busy")

func (s failing) Append(
	ctx context.Context, stream string, e events.Expected, batch []events.NewEvent,
) (events.AppendResult, error) {
	switch s.n.Add(1) % 6 {
	case 0:
		return events.AppendResult{}, errDisk
	case 3:
		r, err := s.Store.Append(ctx, stream, e, batch)
		return r, errors.Join(err, errDisk)
	}
	return s.Store.Append(ctx, stream, e, batch)
}

// Whatever fails or is lost, the verdicts are the same.
func TestAStoreThatFailsChangesNoVerdict(t *testing.T) {
	inTime(t, func(f *fleet) {
		f.kill()
		n := new(atomic.Int64)
		f.wrap = func(s events.Store) events.Store { return failing{s, n} }
		f.begin()
		f.pass(day)
		f.online["b"] = false
		f.pass(5*time.Hour + 5*time.Minute)
		f.want(map[events.Node]downtime.Status{"a": downtime.Active, "b": downtime.Suspended})
		if s := f.state("a"); s.Judge(f.now).Windows != 48 {
			t.Errorf("windows: %+v", s.Judge(f.now))
		}
	})
}
