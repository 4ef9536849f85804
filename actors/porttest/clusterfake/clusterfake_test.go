package clusterfake_test

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hostnode/hostnode/actors/port"
	"github.com/hostnode/hostnode/actors/porttest"
	"github.com/hostnode/hostnode/actors/porttest/clusterfake"
	"github.com/hostnode/hostnode/events"
)

const lease = 5 * time.Second

func TestFakeCluster(t *testing.T) {
	porttest.Cluster(t, func(t *testing.T, test func(*testing.T, porttest.ClusterWorld)) {
		synctest.Test(t, func(t *testing.T) {
			h, of := threeMembers(t)
			test(t, porttest.ClusterWorld{
				Members: []events.Member{"m1", "m2", "m3"}, Lease: lease, Largest: clusterfake.Largest,
				Of:   func(m events.Member) port.Cluster { return of[m] },
				Kill: h.Kill, Cut: h.Cut, Heal: h.Heal,
				Start: func(m events.Member) { of[m] = h.Start(m) },
			})
		})
	})
}

func threeMembers(t *testing.T) (*clusterfake.Host, map[events.Member]*clusterfake.Member) {
	h, of := clusterfake.New(lease), map[events.Member]*clusterfake.Member{}
	for _, m := range []events.Member{"m1", "m2", "m3"} {
		of[m] = h.Start(m)
		t.Cleanup(func() { h.Kill(m) })
	}
	return h, of
}

func TestWhoNoticesLateHoldsTheLeaseBesideAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, of := threeMembers(t)
		h.Late(time.Minute)
		first, err := of["m1"].Campaign(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		h.Expire("m1")
		second, err := of["m2"].Campaign(t.Context())
		if err != nil || first.Err() != nil || second.Err() != nil || h.Holder() != "m2" {
			t.Fatalf("%v; the first one's lease: %v, the second one's: %v, held by %s",
				err, first.Err(), second.Err(), h.Holder())
		}
		if seen := of["m2"].Seen(); !slices.Equal(seen, []events.Member{"m2", "m3"}) {
			t.Fatalf("m2 sees %v", seen)
		}
		begun := time.Now()
		<-first.Done()
		synctest.Wait()
		if took := time.Since(begun); took != time.Minute || second.Err() != nil {
			t.Fatalf("m1 noticed after %s; the second one's lease: %v", took, second.Err())
		}
		if seen := of["m2"].Seen(); !slices.Equal(seen, []events.Member{"m1", "m2", "m3"}) {
			t.Fatalf("once m1 has noticed, m2 sees %v", seen)
		}
	})
}

func TestQuestionsAreLostLateAndTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, of := threeMembers(t)
		var heard atomic.Int32
		of["m2"].Serve(func(context.Context, events.Member, []byte) ([]byte, error) {
			heard.Add(1)
			return nil, nil
		})
		ask := func() (time.Duration, error) {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			begun := time.Now()
			_, err := of["m1"].Call(ctx, "m2", nil)
			synctest.Wait()
			return time.Since(begun), err
		}
		for _, test := range []struct {
			name  string
			set   clusterfake.Delivery
			from  events.Member // its link to the other is cut
			to    events.Member
			heard int32
			took  time.Duration
			away  bool
		}{
			{name: "undisturbed", heard: 1},
			{name: "late", set: clusterfake.Delivery{Delay: time.Second}, heard: 1, took: time.Second},
			{name: "twice", set: clusterfake.Delivery{Twice: true}, heard: 2},
			{name: "lost", set: clusterfake.Delivery{Lost: true}, took: 10 * time.Second, away: true},
			{name: "answer lost", set: clusterfake.Delivery{AnswerLost: true}, heard: 1, took: 10 * time.Second, away: true},
			{name: "cut there", from: "m1", to: "m2", took: 10 * time.Second, away: true},
			{name: "cut back", from: "m2", to: "m1", heard: 1, took: 10 * time.Second, away: true},
			{name: "another link cut", from: "m1", to: "m3", heard: 1},
		} {
			heard.Store(0)
			h.Deliver(func(events.Member, events.Member, []byte) clusterfake.Delivery { return test.set })
			h.CutLink(test.from, test.to)
			took, err := ask()
			h.HealLink(test.from, test.to)
			if heard.Load() != test.heard || took != test.took || errors.Is(err, events.ErrMemberAway) != test.away {
				t.Errorf("%s: heard %d times, %s, %v", test.name, heard.Load(), took, err)
			}
		}
	})
}
