package actors_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/hostnode/hostnode/actors"
	"github.com/hostnode/hostnode/actors/health"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/events/catalog"
	"github.com/hostnode/hostnode/events/membership"
	"github.com/hostnode/hostnode/messages"
)

// alive are the hosts that have not ended.
func alive(hosts ...*actors.Host) (n int) {
	for _, h := range hosts {
		select {
		case <-h.Done():
		default:
			n++
		}
	}
	return n
}

// another starts a second process of the same account over the same record.
func (r *rig) another(node string) (*actors.Host, error) {
	cfg := r.cfg
	cfg.Node = node
	return actors.Start(context.Background(), cfg, r.ports, silent())
}

// mustEnd checks that a host ended because it was taken over, says by whom, and wrote nothing
// after the other process.
func (r *rig) mustEnd(h *actors.Host, where string) {
	r.Helper()
	select {
	case <-h.Done():
	default:
		r.Fatalf("two processes run; the record holds %v", r.names())
	}
	if err := h.Err(); !errors.Is(err, shell.ErrTakenOver) || !strings.Contains(err.Error(), where) {
		r.Fatalf("it ended with %v, and should name %q", err, where)
	}
	before := len(r.names())
	if err := h.Stop(r.Context()); err != nil {
		r.Fatalf("stopping what was taken over: %v", err)
	}
	if n := len(r.names()); n != before {
		r.Fatalf("it wrote %v behind the other process", r.names()[before:])
	}
}

func TestAHostSaysThatItLives(t *testing.T) {
	inWorld(t, func(r *rig) {
		r.cfg.Heartbeat = time.Minute
		r.start()
		time.Sleep(3*time.Minute + time.Second)
		synctest.Wait()
		if n := r.count("HostHeartbeat"); n != 3 {
			r.Fatalf("%d heartbeats in three minutes", n)
		}
		if err := r.host.Stop(r.Context()); err != nil || r.count("HostStopped") != 1 {
			r.Fatalf("stop behind heartbeats: %v; the record holds %v", err, r.names())
		}
	})
}

// This is an early take-over, or a copy of a used data directory: a second process begins while
// the first one runs.
func TestAnOlderProcessEndsWhenItHearsOfANewerOne(t *testing.T) {
	inWorld(t, func(r *rig) {
		r.cfg.SnapshotEvery = -1 // So that only the heartbeat tells.
		told := r.listen()
		r.start()
		newer, err := r.another("attic")
		if err != nil {
			r.Fatal(err)
		}
		defer newer.Kill()
		synctest.Wait()
		if alive(r.host, newer) != 2 {
			r.Fatal("the test wants to see both, before the heartbeat")
		}
		time.Sleep(5*time.Minute + time.Second)
		synctest.Wait()
		r.mustEnd(r.host, `"attic"`)
		if alive(newer) != 1 {
			r.Fatalf("the newer one ended, too: %v", newer.Err())
		}
		alerts := told.of(health.AlertTakenOver)
		if len(alerts) != 1 || alerts[0].Hint == "" {
			r.Fatalf("alerts: %+v", alerts)
		}
	})
}

func TestAnOlderProcessEndsAtOnceWhenItFollowsTheLog(t *testing.T) {
	inWorld(t, func(r *rig) {
		r.start()
		newer, err := r.another("attic")
		if err != nil {
			r.Fatal(err)
		}
		defer newer.Kill()
		synctest.Wait()
		r.mustEnd(r.host, `"attic"`)
	})
}

func TestAnOlderProcessEndsWhenAnyOfItsStreamsMoved(t *testing.T) {
	inWorld(t, func(r *rig) {
		r.cfg.SnapshotEvery = -1
		r.start()
		newer, err := r.another("attic")
		if err != nil {
			r.Fatal(err)
		}
		defer newer.Kill()
		synctest.Wait()
		if err := newer.Ledger(r.Context(), capacity.SetQuota{At: time.Now(), Bytes: 1 << 30}); err != nil {
			r.Fatal(err)
		}
		err = r.host.Ledger(r.Context(), capacity.SetQuota{At: time.Now(), Bytes: 1 << 29})
		if err == nil {
			r.Fatal("the older process decided beside the newer one")
		}
		synctest.Wait()
		r.mustEnd(r.host, `"attic"`)
	})
}

// The older process comes back, as after a long pause of its machine, when the
// newer one has stopped already.
func TestAnOlderProcessBehindAStopEnds(t *testing.T) {
	inWorld(t, func(r *rig) {
		r.cfg.SnapshotEvery = -1
		r.start()
		newer, err := r.another("attic")
		if err != nil {
			r.Fatal(err)
		}
		synctest.Wait()
		if err := newer.Stop(r.Context()); err != nil {
			r.Fatal(err)
		}
		time.Sleep(5*time.Minute + time.Second)
		synctest.Wait()
		r.mustEnd(r.host, "stopped at")
	})
}

// An older process that stops must not record that after a newer one has begun: the record
// would say that nobody runs.
func TestAStopOfAnOlderProcessIsNotRecorded(t *testing.T) {
	inWorld(t, func(r *rig) {
		r.cfg.SnapshotEvery = -1
		r.start()
		newer, err := r.another("attic")
		if err != nil {
			r.Fatal(err)
		}
		defer newer.Kill()
		synctest.Wait()
		if err := r.host.Stop(r.Context()); !errors.Is(err, shell.ErrTakenOver) {
			r.Fatalf("stop: %v", err)
		}
		if r.count("HostStopped") != 0 {
			r.Fatalf("the record holds %v", r.names())
		}
	})
}

// meetingStore lets all reads of the host's stream finish before the first append.
type meetingStore struct {
	events.Store
	arrived sync.WaitGroup
}

func (s *meetingStore) Append(
	ctx context.Context, stream string, e events.Expected, batch []events.NewEvent,
) (events.AppendResult, error) {
	if batch[0].Type == "HostStarted" {
		s.arrived.Done()
		s.arrived.Wait()
	}
	return s.Store.Append(ctx, stream, e, batch)
}

func TestOfTwoProcessesThatBeginAtOnceOneRuns(t *testing.T) {
	for name, second := range map[string]string{"on two nodes": "attic", "with the same name": "test"} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(r *rig) {
				store := &meetingStore{Store: r.store}
				store.arrived.Add(2)
				r.ports.Store = store
				type outcome struct {
					host *actors.Host
					err  error
				}
				all := make(chan outcome, 2)
				for i, node := range []string{"test", second} {
					go func() {
						time.Sleep(time.Duration(i)) // No two clocks are the same to the nanosecond.
						h, err := r.another(node)
						all <- outcome{h, err}
					}()
				}
				running, refused := 0, 0
				for range 2 {
					o := <-all
					switch {
					case o.err == nil:
						running++
						defer o.host.Kill()
					case errors.Is(o.err, shell.ErrTakenOver):
						refused++
					default:
						r.Errorf("start: %v", o.err)
					}
				}
				if running != 1 || refused != 1 || r.count("HostStarted") != 1 {
					r.Fatalf("%d run, %d were refused; the record holds %v", running, refused, r.names())
				}
			})
		})
	}
}

// crowdedStore lets another member begin just before this process appends its start for the first time, and
// then whenever it reads on.
type crowdedStore struct {
	events.Store
	r      *rig
	others int    // who have not begun yet
	in     string // the name of their cluster
	ours   *messages.HostStarted
}

func (s *crowdedStore) begins(ctx context.Context, stream string) {
	if s.ours == nil || s.others == 0 {
		return
	}
	s.others--
	other := proto.CloneOf(s.ours)
	other.Member, other.Epoch = fmt.Sprint("other-", s.others), uint64(s.r.count("HostStarted"))+1
	other.Cluster = s.in
	name, version, data, err := catalog.Codec().Encode(other)
	if err != nil {
		s.r.Fatal(err)
	}
	if _, err := s.Store.Append(ctx, stream, events.Any(), []events.NewEvent{{
		ID: events.NewEventID(stream, other.GetMember(), 0), Type: name, Data: data,
		Meta: events.Metadata{Version: version, Node: other.GetMember(), Epoch: other.GetEpoch()},
	}}); err != nil {
		s.r.Fatal(err)
	}
}

func (s *crowdedStore) Append(
	ctx context.Context, stream string, e events.Expected, batch []events.NewEvent,
) (events.AppendResult, error) {
	if batch[0].Type == "HostStarted" {
		b := batch[0]
		m, err := shell.DecodeAs[*messages.HostStarted](catalog.Codec(), events.Recorded{Type: b.Type, Data: b.Data, Meta: b.Meta})
		if err != nil {
			return events.AppendResult{}, err
		}
		if s.ours == nil {
			s.ours = m
			s.begins(ctx, stream)
		}
	}
	return s.Store.Append(ctx, stream, e, batch)
}

func (s *crowdedStore) ReadStream(
	ctx context.Context, stream string, q events.ReadStream,
) iter.Seq2[events.Recorded, error] {
	if q.From > 0 && events.Category(stream) == events.CategoryHost {
		s.begins(ctx, stream)
	}
	return s.Store.ReadStream(ctx, stream, q)
}

func TestMembersThatBeginAtOnceHaveEpochsOfTheirOwn(t *testing.T) {
	withMembers(t, []events.Member{"north"}, func(r *membersRig) {
		r.kill("north")
		store := &crowdedStore{Store: r.store, r: r.rig, others: 5}
		r.members["north"].crowd = store
		r.begin("north")
		var epochs []uint64
		for e, err := range r.store.ReadAll(r.Context(), 0, 0) {
			if err != nil {
				r.Fatal(err)
			}
			if m, err := shell.DecodeAs[*messages.HostStarted](catalog.Codec(), e); err == nil {
				epochs = append(epochs, m.GetEpoch())
			}
		}
		if want := []uint64{1, 2, 3, 4, 5, 6, 7}; !slices.Equal(epochs, want) || store.others > 0 {
			r.Fatalf("epochs %v, want %v; %d did not begin", epochs, want, store.others)
		}
	})
}

// A member of a cluster with another name would look for the others elsewhere, and take the term from them. It may
// begin at the same moment as the first one.
func TestAMemberOfAClusterWithAnotherNameIsRefused(t *testing.T) {
	withMembers(t, nil, func(m *membersRig) {
		m.add("north", m.world)
		m.cfg.ClusterName = "home"
		store := &crowdedStore{Store: m.store, r: m.rig, others: 1, in: "hmoe"}
		ports := m.world.Ports(store)
		ports.Cluster = clusterOf{m.cluster.Start("north"), m}
		if _, err := actors.Start(m.Context(), m.cfg, ports, silent()); !errors.Is(err, membership.ErrOtherCluster) {
			m.Fatalf("beside one that was faster: %v", err)
		}
		m.cfg.TakeOver = true // The name was changed, and all have stopped.
		m.begin("north")
		m.cfg.TakeOver = false
		m.add("south", m.world.Beside())
		m.begin("south")
		if names := m.names(); m.count("HostStarted") != 3 {
			m.Errorf("the record holds %v", names)
		}
	})
}
