package api_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	"github.com/hostnode/hostnode/actors"
	"github.com/hostnode/hostnode/actors/health"
	"github.com/hostnode/hostnode/actors/port"
	"github.com/hostnode/hostnode/actors/porttest/clusterfake"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/api"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/catalog"
	"github.com/hostnode/hostnode/events/storetest"
	"github.com/hostnode/hostnode/messages"
	"github.com/hostnode/hostnode/projections"
)

// membersOf records events at the end of their streams and asks for the members.
func membersOf(t *testing.T, store events.Store, streams map[string][]proto.Message) api.Members {
	t.Helper()
	for stream, all := range streams {
		for i, m := range all {
			name, version, data, err := catalog.Codec().Encode(m)
			if err != nil {
				t.Fatal(err)
			}
			_, err = store.Append(t.Context(), stream, events.Any(), []events.NewEvent{{
				ID: events.NewEventID(stream, string(data), i), Type: name, Data: data,
				Meta: events.Metadata{Version: version},
			}})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	p, err := projections.Open(t.Context(), store, projections.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	return ask(t, api.NewStandby(api.StandbyConfig{
		Facts: func() health.Facts { return health.Facts{Account: me.String()} }, Store: store, Projector: p,
		Source: api.Source{Now: fixed},
	}).Members)
}

func TestMembersAreListedWithTheirSpaceTheirSalesAndTheTerm(t *testing.T) {
	store := storetest.NewMemory()
	defer store.Close()
	at := func(before time.Duration) time.Time { return fixed().Add(-before) }
	start := func(before time.Duration, epoch uint64, member string, ledger bool) *messages.HostStarted {
		return &messages.HostStarted{
			At: events.TimeToMessage(at(before)), Epoch: epoch, ChainId: 1, Genesis: events.Hash{1}.String(),
			Contract: me.String(), Version: "v1", Node: "node", Member: member, HostLedger: ledger,
		}
	}
	quota := func(bytes events.Bytes) *messages.QuotaSet {
		return &messages.QuotaSet{At: events.TimeToMessage(fixed()), Bytes: uint64(bytes)}
	}
	// Three slots: one that the host sold when it was one process, one that south sells at the first
	// attempt, and one that south sold and north sells again.
	life := benchLife(t)
	begin := func(slot byte, attempt uint32, member string) *messages.SaleStarted {
		m, err := catalog.Codec().Decode(events.Recorded{Type: life[0].Type, Data: life[0].Data, Meta: life[0].Meta})
		if err != nil {
			t.Fatal(err)
		}
		e := m.(*messages.SaleStarted)
		e.SlotId, e.Attempt, e.Member = events.SlotID{slot}.String(), attempt, member
		return e
	}
	ignored := &messages.SaleIgnored{At: events.TimeToMessage(fixed()), Reason: "the slot is taken"}
	settled := &messages.SaleSettled{At: events.TimeToMessage(fixed()), CollateralReturned: "0", CollateralLost: "0"}
	got := membersOf(t, store, map[string][]proto.Message{
		events.HostStream(me): {
			start(time.Hour, 1, "", false), &messages.HostStopped{At: events.TimeToMessage(at(time.Hour)), Epoch: 1},
			start(50*time.Minute, 2, "north", true), start(40*time.Minute, 3, "south", false),
			&messages.TermTaken{At: events.TimeToMessage(at(30 * time.Minute)), Epoch: 3, Term: 1, Member: "south"},
			&messages.TermTaken{At: events.TimeToMessage(at(20 * time.Minute)), Epoch: 2, Term: 2, Member: "north"},
			&messages.HostHeartbeat{At: events.TimeToMessage(at(15 * time.Minute)), Epoch: 2},
		},
		events.LedgerStream(me, ""):                {quota(20 << 30)},
		events.LedgerStream(me, "south"):           {quota(8 << 30)},
		events.SaleStream(me, events.SlotID{0x51}): {begin(0x51, 1, "")},
		events.SaleStream(me, events.SlotID{0x52}): {begin(0x52, 1, "south")},
		events.SaleStream(me, events.SlotID{0x53}): {begin(0x53, 1, "south"), ignored, settled, begin(0x53, 2, "north")},
	})
	want := api.Members{
		AsOf: got.AsOf, Cluster: true, Term: &api.Term{Number: 2, Member: "north", Since: at(20 * time.Minute)},
		Members: []api.Member{
			{
				Name: "north", Epoch: 2, Version: "v1", Node: "node", State: api.MemberRunning, Since: at(50 * time.Minute),
				HeardAt: at(15 * time.Minute), Ledger: events.CapacityStream(me),
				Space: api.Space{Quota: 20 << 30, Unallocated: 20 << 30}, Sales: 2,
				Owner: true, OwnerSince: at(20 * time.Minute),
			},
			{
				Name: "south", Epoch: 3, Version: "v1", Node: "node", State: api.MemberSilent, Since: at(40 * time.Minute),
				HeardAt: at(30 * time.Minute), Ledger: events.LedgerStream(me, "south"),
				Space: api.Space{Quota: 8 << 30, Unallocated: 8 << 30}, Sales: 1,
			},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatal(diff)
	}
	got = membersOf(t, store, map[string][]proto.Message{
		events.HostStream(me): {
			&messages.HostStopped{At: events.TimeToMessage(at(10 * time.Minute)), Epoch: 2}, start(time.Minute, 4, "", false),
		},
	})
	if len(got.Members) != 1 || got.Cluster || got.Members[0].Epoch != 4 || got.Members[0].Sales != 3 ||
		got.Members[0].Ledger != events.CapacityStream(me) || got.Term.Ended != at(10*time.Minute) {
		t.Fatalf("after it went back: %+v", got)
	}
}

func TestAHostThatNeverStartedHasNoMembers(t *testing.T) {
	if got := ask(t, offline(t, me).Members); len(got.Members) > 0 || got.Cluster || got.Term != nil {
		t.Fatalf("%+v", got)
	}
}

// ownAccount is an account of which nobody sends anything.
type ownAccount struct{ port.Account }

func (ownAccount) Own(context.Context) error { return nil }
func (ownAccount) Disown() error             { return nil }
func (ownAccount) Lost() <-chan struct{}     { return nil }

// member starts a member of a host on a quiet market.
func member(t *testing.T, store events.Store, of *clusterfake.Host, name events.Member) (*api.Live, func()) {
	live, _, kill := runningPorts(t, store, 10<<20, func(p *actors.Ports) {
		p.Cluster, p.Account = of.Start(name), ownAccount{}
	}, func(cfg *api.LiveConfig) { cfg.Member = name })
	return live, func() { of.Kill(name); kill() }
}

// What the cluster knows of a member that was killed is in the list of members as it is in the status, long before the
// record says so; and its space is not on sale any more.
func TestAKilledMemberIsSilentInTheListAndInTheStatus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, cluster := storetest.NewMemory(), clusterfake.New(5*time.Second)
		north, killNorth := member(t, store, cluster, "north")
		defer killNorth()
		south, killSouth := member(t, store, cluster, "south")
		states := func() (all []string) {
			for _, m := range ask(t, north.Members).Members {
				all = append(all, m.Name+" "+m.State)
			}
			return all
		}
		if _, err := south.AddAvailability(t.Context(), offer()); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		s := ask(t, north.Status)
		if !s.Selling || s.Here == nil || s.Here.Selling || s.Here.Reason != "nothing is on offer" ||
			!slices.Equal(states(), []string{"north running", "south running"}) {
			t.Fatalf("%+v, %+v; %v", s.Standing, s.Here, states())
		}
		killSouth()
		<-time.After(20 * time.Second)
		s = ask(t, north.Status)
		if s.Selling || !strings.Contains(s.Reason, "do not sell: south (does not seem to be alive)") ||
			!slices.Equal(states(), []string{"north running", "south silent"}) {
			t.Fatalf("%+v; %v", s.Standing, states())
		}
	})
}
