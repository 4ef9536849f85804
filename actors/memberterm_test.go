package actors_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/messages"
)

// keepingStore answers whoever reads, and keeps appends with events of some types: they have no answer before release,
// and may be written then.
type keepingStore struct {
	events.Store
	mu    sync.Mutex
	keeps func(name string) bool // nil: none
	kept  []func() error
	freed chan struct{} // closed by release
}

// keep says which events are kept from now on.
func (s *keepingStore) keep(which func(name string) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keeps, s.freed = which, make(chan struct{})
}

// release keeps nothing any more. What was kept is written, if it still fits, or is lost.
func (s *keepingStore) release(written bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, write := range s.kept {
		if written {
			_ = write()
		}
	}
	s.keeps, s.kept = nil, nil
	close(s.freed)
}

func (s *keepingStore) Append(
	ctx context.Context, stream string, e events.Expected, batch []events.NewEvent,
) (events.AppendResult, error) {
	s.mu.Lock()
	keeps, freed := s.keeps, s.freed
	if keeps == nil || !slices.ContainsFunc(batch, func(n events.NewEvent) bool { return keeps(n.Type) }) {
		s.mu.Unlock()
		return s.Store.Append(ctx, stream, e, batch)
	}
	s.kept = append(s.kept, func() error {
		_, err := s.Store.Append(context.WithoutCancel(ctx), stream, e, batch)
		return err
	})
	s.mu.Unlock()
	select {
	case <-freed:
	case <-ctx.Done():
	}
	return events.AppendResult{}, errors.Join(events.ErrAway, ctx.Err())
}

func everything(string) bool { return true }

func terms(name string) bool { return name == "TermTaken" }

// keeping puts such a store in front of a member that starts; it keeps nothing yet.
func (m *membersRig) keeping(name events.Member) *keepingStore {
	one := m.members[name]
	s := &keepingStore{Store: one.store}
	one.crowd = s
	return s
}

// A store may answer whoever reads, and take nothing that is written, without saying so. Such a member must not keep
// the place of those that could own, and must end when it is told to.
func TestACandidateWhoseStoreTakesNothingLetsOthersTryAndCanBeStopped(t *testing.T) {
	withMembers(t, []events.Member{"north"}, func(m *membersRig) {
		for _, name := range three[1:] {
			m.add(name, m.world.Beside())
		}
		store := m.keeping("south")
		for _, name := range three[1:] {
			m.begin(name)
			m.offers(name)
		}
		m.world.Post(longer(1, 3))
		m.mineUntil("each member proves", func() bool { return m.count("ProofSubmitted") >= 6 })
		store.keep(everything)
		m.kill("north")
		m.mine(40)
		if !m.members["west"].account.Owns() || m.cluster.Holder() != "west" {
			m.Fatalf("%q has the place, and west does not own", m.cluster.Holder())
		}
		began := time.Now()
		err := m.members["south"].host.Stop(m.Context())
		if took := time.Since(began); took > 2*shell.StopPatience || !errors.Is(err, shell.ErrStoreAway) {
			m.Errorf("the stop took %s: %v", took, err)
		}
		m.kill("south")
		store.release(false)
		m.begin("south")
		m.kill("west")
		m.mineUntil("south owns", func() bool { return m.members["south"].account.Owns() })
	})
}

// It is the same for a candidate that is stopped before it has given up.
func TestAStopEndsTheWaitForATermThatTheStoreDoesNotTake(t *testing.T) {
	withMembers(t, nil, func(m *membersRig) {
		m.add("north", m.world)
		m.keeping("north").keep(terms)
		m.begin("north")
		time.Sleep(time.Second)
		began := time.Now()
		err := m.members["north"].host.Stop(m.Context())
		if took := time.Since(began); took > time.Second || err != nil {
			m.Errorf("the stop took %s: %v", took, err)
		}
	})
}

// Nobody knows what became of an append without an answer. It counts as taken until the record shows that it was not.
func TestATermOfWhichNobodyKnowsWhetherItWasTakenIsEnded(t *testing.T) {
	for name, c := range map[string]struct {
		keeps        func(name string) bool
		taken, ended int
	}{
		"it is stored after it was given up":        {everythingButTheStart, 2, 1},
		"something else was stored in the meantime": {terms, 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			withMembers(t, nil, func(m *membersRig) {
				m.add("north", m.world)
				store := m.keeping("north")
				store.keep(c.keeps)
				m.begin("north")
				m.mine(12)
				if holder := m.cluster.Holder(); c.ended > 0 && holder != "" {
					m.Errorf("%s has the place, and its store takes nothing", holder)
				}
				store.release(true)
				m.mineUntil("it owns", func() bool { return m.members["north"].account.Owns() })
				taken, ended := all[*messages.TermTaken](m.rig), all[*messages.TermEnded](m.rig)
				if len(taken) != c.taken || len(ended) != c.ended {
					m.Errorf("terms %v, ends %v", taken, ended)
				}
			})
		})
	}
}

func everythingButTheStart(name string) bool { return name != "HostStarted" }

// A slot that no member takes, because none answers, is left alone for ten minutes. When another member is here, or
// owns, it need not wait.
func TestSlotsThatWaitForAMemberAreJudgedAgainWhenOneComes(t *testing.T) {
	for name, comes := range map[string]func(m *membersRig){
		"a member was started again": func(m *membersRig) {
			m.links(false, [2]events.Member{"north", "south"})
			m.kill("south")
			m.begin("south")
		},
		"another one owns": func(m *membersRig) { m.kill("north") },
	} {
		t.Run(name, func(t *testing.T) {
			withMembers(t, nil, func(m *membersRig) {
				m.add("north", m.world)
				m.add("south", m.world.Beside())
				m.begin("north")
				m.begin("south")
				m.offers("south")
				m.links(true, [2]events.Member{"north", "south"})
				m.world.Post(longer(1, 1))
				m.mineUntil("it is put back", func() bool { return m.count("SlotReleased") == 1 })
				m.mine(10)
				comes(m)
				m.mine(30)
				if m.count("SlotFilled") != 1 {
					m.Errorf("it is not sold; the record holds %v", m.names())
				}
			})
		})
	}
}
