package serverviews_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/serverviews"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/esdb"
	"github.com/hostnode/hostnode/events/storetest"
	"github.com/hostnode/hostnode/events/wire"
	"github.com/hostnode/hostnode/projections/js"
)

// slotRow is the place of hostnode-slot among all of them.
const slotRow = 6

func connect(t *testing.T, url string) *serverviews.Server {
	t.Helper()
	s, err := serverviews.Connect(esdb.Config{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	serverviews.Hurry(s)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func install(t *testing.T, s *serverviews.Server) []serverviews.Change {
	t.Helper()
	changes, err := s.Install(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return changes
}

// all returns the same change for each projection.
func all(done serverviews.Done) []serverviews.Change {
	var changes []serverviews.Change
	for _, p := range js.All() {
		changes = append(changes, serverviews.Change{Name: p.Name, Done: done})
	}
	return changes
}

func TestInstallingTwiceChangesNothing(t *testing.T) {
	f := &fakeServer{}
	s := connect(t, serveFake(t, f))
	if diff := cmp.Diff(all(serverviews.Installed), install(t, s)); diff != "" {
		t.Fatal(diff)
	}
	f.calls()
	if diff := cmp.Diff(all(serverviews.Unchanged), install(t, s)); diff != "" {
		t.Fatal(diff)
	}
	if told := f.calls(); len(told) > 0 {
		t.Fatalf("the second time it called %v", told)
	}
	rows, err := s.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range js.All() {
		want := serverviews.Row{
			Name: p.Name, Version: p.Version, Installed: p.Version, State: "Running", Current: true,
			Position: "C:1700/P:1700", Progress: 99.5,
		}
		if diff := cmp.Diff(want, rows[i]); diff != "" {
			t.Fatal(diff)
		}
	}
}

func TestAnotherSourceIsReplacedAndBeginsAnew(t *testing.T) {
	f := &fakeServer{}
	s := connect(t, serveFake(t, f))
	install(t, s)
	f.calls()
	f.with("hostnode-slot", func(p *fakeProjection) {
		p.query = strings.Replace(p.query, fmt.Sprintf("version %d", js.All()[slotRow].Version), "version 7", 1)
	})
	rows, err := s.Status(t.Context())
	if err != nil || rows[slotRow].Installed != 7 || rows[slotRow].Current {
		t.Fatalf("%+v, error %v", rows, err)
	}
	if got := install(t, s)[slotRow].Done; got != serverviews.Updated {
		t.Fatalf("it was %s", got)
	}
	want := []string{"disable hostnode-slot", "update hostnode-slot", "reset hostnode-slot", "enable hostnode-slot"}
	if diff := cmp.Diff(want, f.calls()); diff != "" {
		t.Fatal(diff)
	}
	f.with("hostnode-slot", func(p *fakeProjection) {
		if p.query != js.All()[slotRow].Query || p.state != "Running" || p.resets != 1 {
			t.Errorf("%s, %d resets", p.state, p.resets)
		}
	})
}

func TestWhatStoppedOrFaultedIsStarted(t *testing.T) {
	f := &fakeServer{}
	s := connect(t, serveFake(t, f))
	install(t, s)
	f.with("hostnode-availability", func(p *fakeProjection) { p.state = "Stopped" })
	f.with("hostnode-reservation", func(p *fakeProjection) { p.state, p.reason = "Faulted", "no number" })
	rows, err := s.Status(t.Context())
	if err != nil || rows[1].Current || rows[3].Current || rows[3].Reason != "no number" || !rows[2].Current {
		t.Fatalf("%+v, error %v", rows, err)
	}
	got := install(t, s)
	if got[1].Done != serverviews.Started || got[3].Done != serverviews.Started || got[2].Done != serverviews.Unchanged {
		t.Fatalf("%+v", got)
	}
	if rows, err = s.Status(t.Context()); err != nil || !rows[0].Current || !rows[2].Current {
		t.Fatalf("%+v, error %v", rows, err)
	}
}

// TestAProjectionThatFaultsOnAColdEngineIsStartedAgain: it faults seconds after it was started.
func TestAProjectionThatFaultsOnAColdEngineIsStartedAgain(t *testing.T) {
	const slow = "The hostnode-slot projection failed to process event.\nTimeoutException: Projection script took too " +
		"long to execute (took: 00:00:00.3, allowed: 00:00:00.2500000\n   at Jint.Engine()"
	for _, c := range []struct {
		faults int
		reason string
		says   string
		early  bool
		silent int
	}{
		{0, "", "", false, 0},
		{1, slow, "", false, 0},
		{1, slow, "", false, 7},
		{3, slow, "", false, 0},
		{4, slow, "--projection-execution-timeout", false, 0},
		{1, "no number\n   at Jint.Engine()", "no number", false, 0},
		{1, "no number", "no number", false, 7},
		{1, "", "no reason is given", false, 0},
		{3, "", "", true, 0},
		{4, "", "--projection-compilation-timeout", true, 0},
	} {
		f := &fakeServer{faulting: c.faults, reason: c.reason, early: c.early, silent: c.silent}
		s := connect(t, serveFake(t, f))
		_, err := s.Install(t.Context())
		if errors.Is(err, serverviews.ErrFaulted) != (c.says != "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%d faults for %.20q: %v, want %q", c.faults, c.reason, err, c.says)
		}
		if err != nil && strings.Contains(err.Error(), "Jint.Engine") {
			t.Errorf("a stack trace is shown: %v", err)
		}
		rows, err := s.Status(t.Context())
		if err != nil || rows[slotRow].Current != (c.says == "") || strings.Contains(rows[slotRow].Reason, "\n") {
			t.Errorf("%d faults: %+v, %v", c.faults, rows, err)
		}
	}
}

// TestWhatTheServerSaysAtLengthIsCut: a position names every stream that is read, and a reason ends
// with a stack trace.
func TestWhatTheServerSaysAtLengthIsCut(t *testing.T) {
	f := &fakeServer{}
	s := connect(t, serveFake(t, f))
	install(t, s)
	f.with("hostnode-slot", func(p *fakeProjection) {
		p.state, p.position = "Faulted", strings.Repeat("$ce-sale: 1234567; ", 40)
		p.reason = "The projection failed to process an event.\nno number\n   at Jint.Engine()\n   at Core.Run()"
	})
	rows, err := s.Status(t.Context())
	if err != nil || len([]rune(rows[slotRow].Position)) != 60 || !strings.HasPrefix(rows[slotRow].Position, "$ce-sale: 1234567; ") {
		t.Errorf("position %q, error %v", rows[slotRow].Position, err)
	}
	if rows[slotRow].Reason != "The projection failed to process an event. no number" {
		t.Errorf("reason %q", rows[slotRow].Reason)
	}
}

func TestAProjectionThatSomebodyMadeMeanwhileIsReplaced(t *testing.T) {
	f := &fakeServer{racing: "hostnode-reservation"}
	s := connect(t, serveFake(t, f))
	if got := install(t, s)[3].Done; got != serverviews.Updated {
		t.Fatalf("it was %s", got)
	}
}

func TestRemovingLeavesNothingOfOursAndAllOfOthers(t *testing.T) {
	f := &fakeServer{}
	s := connect(t, serveFake(t, f))
	install(t, s)
	f.with("hostnode-slot", func(p *fakeProjection) { p.state = "Faulted" })
	for _, want := range []serverviews.Done{serverviews.Removed, serverviews.Absent} {
		got, err := s.Remove(t.Context())
		if diff := cmp.Diff(all(want), got); err != nil || diff != "" {
			t.Fatalf("error %v\n%s", err, diff)
		}
	}
	if len(f.all) != 1 || f.all["$by_category"] == nil {
		t.Fatalf("%d projections are left", len(f.all))
	}
	for stream := range f.left { // The definitions must stay.
		if of, ours := strings.CutPrefix(stream, "$projections-hostnode-"); ours && strings.Contains(of, "-") {
			t.Errorf("%s is left", stream)
		}
	}
	if !f.left["$projections-$all"] {
		t.Error("a stream of others was deleted")
	}
	rows, err := s.Status(t.Context())
	if err != nil || len(rows) != len(js.All()) || rows[0].There() {
		t.Fatalf("%+v, error %v", rows, err)
	}
	if diff := cmp.Diff(all(serverviews.Installed), install(t, s)); diff != "" {
		t.Fatal(diff)
	}
}

// TestANameWhoseDefinitionWasDeletedIsSaidToBeStuck: earlier builds deleted it.
func TestANameWhoseDefinitionWasDeletedIsSaidToBeStuck(t *testing.T) {
	f := &fakeServer{}
	s := connect(t, serveFake(t, f))
	f.lost["$projections-hostnode-slot"] = true
	changes, err := s.Install(t.Context())
	if !errors.Is(err, serverviews.ErrStuck) || !strings.Contains(err.Error(), "restart the server") || len(changes) != slotRow {
		t.Fatalf("%v, error %v", changes, err)
	}
}

// TestAProjectionThatBreaksTheListIsFoundByName: the server's list of all ends with an error as soon as
// somebody's projection has faulted before its first checkpoint.
func TestAProjectionThatBreaksTheListIsFoundByName(t *testing.T) {
	f := &fakeServer{}
	s := connect(t, serveFake(t, f))
	f.with("$by_category", func(p *fakeProjection) { p.state, p.early = "Faulted", true })
	if diff := cmp.Diff(all(serverviews.Installed), install(t, s)); diff != "" {
		t.Fatal(diff)
	}
	f.with("hostnode-slot", func(p *fakeProjection) { p.state, p.early = "Faulted", true })
	rows, err := s.Status(t.Context())
	if err != nil || !rows[0].Current || rows[slotRow].State != "Faulted" ||
		!strings.Contains(rows[slotRow].Reason, "first checkpoint") {
		t.Fatalf("%+v, error %v", rows, err)
	}
	if got := install(t, s); got[slotRow].Done != serverviews.Started || got[0].Done != serverviews.Unchanged {
		t.Fatalf("%+v", got)
	}
	f.with("hostnode-slot", func(p *fakeProjection) { p.state, p.early = "Faulted", true })
	got, err := s.Remove(t.Context())
	if diff := cmp.Diff(all(serverviews.Removed), got); err != nil || diff != "" {
		t.Fatalf("error %v\n%s", err, diff)
	}
}

// TestADefinitionThatIsNotShownIsTakenForAnother: better once too often than
// states of two forms.
func TestADefinitionThatIsNotShownIsTakenForAnother(t *testing.T) {
	f := &fakeServer{}
	s := connect(t, serveFake(t, f))
	install(t, s)
	f.mu.Lock()
	f.hidden = true
	f.mu.Unlock()
	rows, err := s.Status(t.Context())
	if err != nil || rows[0].Installed != 0 || rows[0].Current || !rows[0].There() {
		t.Fatalf("%+v, error %v", rows, err)
	}
	if diff := cmp.Diff(all(serverviews.Updated), install(t, s)); diff != "" {
		t.Fatal(diff)
	}
}

func TestAUserWithoutTheRightIsTold(t *testing.T) {
	s := connect(t, serveFake(t, &fakeServer{locked: true}))
	for _, ask := range asks(s) {
		if err := ask(t.Context()); !errors.Is(err, events.ErrDenied) {
			t.Fatalf("error %v", err)
		}
	}
}

func asks(s *serverviews.Server) []func(context.Context) error {
	return []func(context.Context) error{
		func(ctx context.Context) error { _, err := s.Status(ctx); return err },
		func(ctx context.Context) error { _, err := s.Install(ctx); return err },
		func(ctx context.Context) error { _, err := s.Remove(ctx); return err },
	}
}

// TestAServerWithoutProjectionsIsSaidToHaveNone asks a server that knows no
// projections at all, our own, which says so, and one that was started without them.
func TestAServerWithoutProjectionsIsSaidToHaveNone(t *testing.T) {
	own, err := wire.New(wire.Config{Store: storetest.NewMemory(), Anonymous: wire.RoleAdmin})
	if err != nil {
		t.Fatal(err)
	}
	for _, ask := range asks(connect(t, serveFake(t, &fakeServer{absent: true}))) {
		if err := ask(t.Context()); !errors.Is(err, serverviews.ErrNoProjections) {
			t.Errorf("HTTP 404: error %v", err)
		}
	}
	bare := grpc.NewServer()
	for _, server := range []struct {
		serve func(net.Listener) error
		stop  func()
	}{
		{own.Serve, func() { _ = own.Close() }},
		{bare.Serve, bare.Stop},
	} {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		served := make(chan error, 1)
		go func() { served <- server.serve(listener) }()
		s := connect(t, "esdb://"+listener.Addr().String()+"?tls=false")
		for _, ask := range asks(s) {
			if err := ask(t.Context()); !errors.Is(err, serverviews.ErrNoProjections) {
				t.Errorf("error %v", err)
			}
		}
		server.stop()
		<-served
	}
}

func TestAServerThatDoesNotAnswerIsAway(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	url := "esdb://" + listener.Addr().String() + "?tls=false&maxDiscoverAttempts=1&discoveryInterval=1"
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := connect(t, url).Status(t.Context()); !errors.Is(err, events.ErrAway) {
		t.Fatalf("error %v", err)
	}
}

// TestACallThatHangsIsLeft: the client may wait for a node without regard to its context, and
// may panic.
func TestACallThatHangsIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hang := make(chan struct{})
		began := time.Now()
		err := serverviews.Call(t.Context(), func(context.Context) error { <-hang; return nil })
		if !errors.Is(err, events.ErrAway) || time.Since(began) > time.Minute {
			t.Fatalf("error %v after %s", err, time.Since(began))
		}
		close(hang)
	})
	err := serverviews.Call(t.Context(), func(context.Context) error { panic("nil pointer") })
	if !errors.Is(err, events.ErrAway) || !strings.Contains(err.Error(), "nil pointer") {
		t.Fatalf("error %v", err)
	}
}

func TestABadConnectionStringIsRefused(t *testing.T) {
	if _, err := serverviews.Connect(esdb.Config{URL: "http://127.0.0.1"}); !errors.Is(err, esdb.ErrURL) {
		t.Fatalf("error %v", err)
	}
}
