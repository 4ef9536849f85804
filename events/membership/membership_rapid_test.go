package membership_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/membership"
)

// process is one that believes it runs, and how much of the stream it has read.
type process struct {
	epoch  uint64
	member events.Member
	read   int
	term   uint64 // that it believes to have; 0: none
}

// TestWhoeverAppendsAtTheRevisionThatItKnowsHasTheOnlyTerm lets processes of several members act on
// what they have read of the stream, which may be old. Only an append at the end of the stream
// succeeds. Then epochs are unique, terms grow by one, each has one owner, and of all processes
// that have read the whole stream at most one believes to be the owner.
func TestWhoeverAppendsAtTheRevisionThatItKnowsHasTheOnlyTerm(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var stream []membership.Event
		var running []*process
		minutes := 0
		add := func(known int, e membership.Event) bool {
			if known != len(stream) {
				return false
			}
			stream = append(stream, e)
			return true
		}
		one := func() *process { return rapid.SampledFrom(running).Draw(t, "process") }
		some := func(t *rapid.T) {
			if len(running) == 0 {
				t.Skip("nobody runs")
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"start": func(t *rapid.T) {
				minutes++
				known := rapid.IntRange(max(0, len(stream)-1), len(stream)).Draw(t, "known")
				member := rapid.SampledFrom([]string{"", "north", "south", "west"}).Draw(t, "member")
				p := &process{epoch: fold(stream[:known]...).Epoch + 1, member: events.Member(member), read: known + 1}
				if add(known, started(minutes, p.epoch, member)) {
					running = append(running, p)
				}
			},
			"read": func(t *rapid.T) {
				some(t)
				p := one()
				p.read = rapid.IntRange(p.read, len(stream)).Draw(t, "read")
			},
			"take": func(t *rapid.T) {
				some(t)
				minutes++
				p := one()
				s := fold(stream[:p.read]...)
				if membership.Replaced(s, p.epoch, p.member) {
					return
				}
				if e := membership.TakeTerm(s, p.epoch, p.member, after(minutes)); e != nil && add(p.read, e) {
					p.term, p.read = e.GetTerm(), len(stream)
				}
			},
			"end": func(t *rapid.T) {
				some(t)
				minutes++
				p := one()
				s := fold(stream[:p.read]...)
				if p.term == 0 || membership.Deposed(s, p.epoch, p.term) {
					return
				}
				if add(p.read, ended(minutes, p.epoch, p.term)) {
					p.read = len(stream)
				}
			},
			"stop": func(t *rapid.T) {
				some(t)
				minutes++
				p := one()
				if add(p.read, stopped(minutes, p.epoch)) {
					p.read = len(stream)
				}
			},
			"": func(t *rapid.T) { check(t, stream, running) },
		})
	})
}

func check(t *rapid.T, stream []membership.Event, running []*process) {
	var s membership.State
	epochs := map[uint64]bool{}
	for _, e := range stream {
		before := s
		s = membership.Evolve(s, e)
		if s.Epoch != before.Epoch {
			if epochs[s.Epoch] || s.Epoch != before.Epoch+1 {
				t.Fatalf("start %d after %d", s.Epoch, before.Epoch)
			}
			epochs[s.Epoch] = true
		}
		if s.Term.Number != before.Term.Number && s.Term.Number != before.Term.Number+1 {
			t.Fatalf("term %d after %d", s.Term.Number, before.Term.Number)
		}
		if s.Term.Number == before.Term.Number && s.Term.Epoch != before.Term.Epoch {
			t.Fatalf("term %d has two owners", s.Term.Number)
		}
	}
	owners := 0
	for _, p := range running {
		if p.term > 0 && !membership.Deposed(s, p.epoch, p.term) {
			owners++
			if membership.Replaced(s, p.epoch, p.member) {
				t.Fatalf("start %d of %q is replaced and not deposed", p.epoch, p.member)
			}
			if term, lasts := membership.Owner(s); !lasts || term.Epoch != p.epoch {
				t.Fatalf("start %d is not deposed, and the owner is %+v", p.epoch, term)
			}
		}
	}
	if owners > 1 {
		t.Fatalf("%d processes have the term", owners)
	}
}
