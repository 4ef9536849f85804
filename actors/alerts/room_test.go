package alerts_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	room "github.com/hostnode/hostnode/actors/alerts"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/actors/shell/shelltest"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/alert"
	"github.com/hostnode/hostnode/events/storetest"
	"github.com/hostnode/hostnode/projections/audit"
)

var codec = events.NewCodec(alert.Table())

// host is a host with alerts. Its record and its channels outlive its lives.
type host struct {
	t     *testing.T
	store *storetest.Memory
	rt    *shell.Runtime
	part  *shell.Part

	mu    sync.Mutex
	away  map[string]bool // channels that take nothing
	asked int
	took  []string
}

func (h *host) Deliver(_ context.Context, channel string, a alert.Alert) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.asked++; h.away[channel] {
		return errors.New("the answer is 500")
	}
	h.took = append(h.took, fmt.Sprintf("%s: %s %s open %t since %s", channel, a.Kind, a.Severity, a.Open(),
		a.Since.UTC().Format(time.DateTime)))
	return nil
}

// taken is what was delivered, and how often that was tried.
func (h *host) taken() (took []string, asked int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.took), h.asked
}

// set changes the world.
func (h *host) set(do func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	do()
}

func (h *host) start() {
	h.rt = shell.NewRuntime(context.Background(), shelltest.QuietLog())
	h.part = shell.NewPart(room.Name)
	h.part.Began(h.rt.Root(room.Name, room.New(room.Deps{
		Base: &shell.Base{
			RT: h.rt, Log: shelltest.QuietLog(), Clock: shell.GuardClock(shelltest.Clock{}, h.rt), Store: h.store,
			Codec: codec, Me: events.Address{0xd1}, Epoch: 1, Node: "test",
			StoreWatch: shell.NewStoreWatch(shelltest.Clock{}, shelltest.QuietLog(), shelltest.NoYield),
			RetryAfter: time.Second, RetryMost: time.Minute, SnapshotEvery: -1, Yield: shelltest.NoYield,
		},
		Channels: []string{"command", "webhook"}, Deliver: h.Deliver, Decide: alert.Decide,
		Broken: func(err error) { h.t.Errorf("the record: %v", err) },
	})))
	synctest.Wait()
}

func (h *host) order(o room.Order) (room.Answer, error) {
	answer, err := shell.Ask[room.Answer](h.part, o).Wait(h.t.Context())
	synctest.Wait()
	return answer, err
}

func (h *host) do(o room.Order) {
	h.t.Helper()
	if _, err := h.order(o); err != nil {
		h.t.Fatal(err)
	}
}

func inTime(t *testing.T, test func(h *host)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		h := &host{t: t, store: storetest.NewMemory(), away: map[string]bool{}}
		h.start()
		test(h)
		h.rt.Kill()
		time.Sleep(time.Minute) // The actor library's last timers run out.
		report, err := audit.Run(t.Context(), h.store, audit.Options{})
		if err != nil || len(report.Findings) > 0 {
			t.Errorf("the audit finds %v: %v", report.Findings, err)
		}
	})
}

var full = alert.Key{Kind: "disk-full"}

// A webhook that answers 500 for an hour, while the host is killed and started again, gets each alert once, with its
// first time; the other channel waits for nothing.
func TestAChannelThatIsAwayGetsEachAlertOnceAlsoAfterARestart(t *testing.T) {
	inTime(t, func(h *host) {
		began := time.Now().UTC().Format(time.DateTime)
		h.set(func() { h.away["webhook"] = true })
		h.do(room.Order{Raise: &alert.Raise{Key: full, Severity: alert.Warning, Text: "full", Delivered: []string{"command"}}})
		time.Sleep(20 * time.Minute)
		h.do(room.Order{Raise: &alert.Raise{Key: full, Severity: alert.Warning, Text: "full"}})
		h.rt.Kill()
		time.Sleep(time.Minute)
		h.start()
		time.Sleep(39 * time.Minute)
		h.set(func() { h.away["webhook"] = false })
		time.Sleep(time.Hour)
		want := []string{"webhook: disk-full warning open true since " + began}
		took, asked := h.taken()
		if diff := cmp.Diff(want, took); diff != "" {
			t.Fatalf("delivered (-want +got):\n%s", diff)
		}
		if asked > 10 {
			t.Errorf("the webhook was asked %d times in two hours", asked)
		}
		h.do(room.Order{Clear: &alert.Clear{Key: full, Reason: "room again"}})
		time.Sleep(time.Minute)
		want = append(want, "command: disk-full warning open false since "+began,
			"webhook: disk-full warning open false since "+began)
		if diff := cmp.Diff(map[string]bool{want[0]: true, want[1]: true, want[2]: true}, set(first(h.taken()))); diff != "" {
			t.Errorf("delivered in the end (-want +got):\n%s", diff)
		}
	})
}

func first(took []string, _ int) []string { return took }

func set(all []string) map[string]bool {
	found := map[string]bool{}
	for _, one := range all {
		found[one] = true
	}
	return found
}

func TestWhatIsMutedOrAcknowledgedIsNotDelivered(t *testing.T) {
	inTime(t, func(h *host) {
		h.do(room.Order{Mute: &alert.SetMute{Mute: alert.Mute{
			Kind: full.Kind, Until: time.Now().Add(time.Hour), By: "anna", Reason: "a new disk",
		}}})
		h.set(func() { h.away["command"], h.away["webhook"] = true, true })
		h.do(room.Order{Raise: &alert.Raise{Key: full, Severity: alert.Warning, Text: "full"}})
		h.do(room.Order{Raise: &alert.Raise{Key: alert.Key{Kind: "no-owner"}, Severity: alert.Critical, Text: "nobody"}})
		h.do(room.Order{Acknowledge: &alert.Acknowledge{Number: 2, By: "anna", Note: "I know"}})
		h.set(func() { clear(h.away) })
		time.Sleep(59 * time.Minute)
		if took, _ := h.taken(); len(took) > 0 {
			t.Fatalf("delivered: %v", took)
		}
		time.Sleep(2 * time.Minute) // The mute ends.
		if took, _ := h.taken(); len(took) != 2 {
			t.Errorf("delivered after the mute: %v", took)
		}
		for want, o := range map[error]room.Order{
			room.ErrOrder: {}, alert.ErrNoAlert: {Acknowledge: &alert.Acknowledge{Number: 9, By: "anna", Note: "?"}},
			alert.ErrNoMute: {Unmute: &alert.Unmute{Kind: "x", By: "anna"}},
		} {
			if _, err := h.order(o); !errors.Is(err, want) {
				t.Errorf("%+v: %v, want %v", o, err, want)
			}
		}
	})
}
