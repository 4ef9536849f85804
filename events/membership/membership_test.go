package membership_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/membership"
	"github.com/hostnode/hostnode/messages"
)

var began = events.Unix(1_700_000_000)

func after(minutes int) time.Time { return began.Add(time.Duration(minutes) * time.Minute) }

// started is a start on a machine with the member's name.
func started(minutes int, epoch uint64, member string) *messages.HostStarted {
	node := member
	if member == "" {
		node = "cellar"
	}
	return &messages.HostStarted{
		At: events.TimeToMessage(after(minutes)), Epoch: epoch, Member: member, Node: node, Version: "1.0.0",
	}
}

func withLedger(e *messages.HostStarted) *messages.HostStarted {
	e.HostLedger = true
	return e
}

func inCluster(e *messages.HostStarted, name string) *messages.HostStarted {
	e.Cluster = name
	return e
}

func stopped(minutes int, epoch uint64) *messages.HostStopped {
	return &messages.HostStopped{At: events.TimeToMessage(after(minutes)), Epoch: epoch}
}

func beat(minutes int, epoch uint64) *messages.HostHeartbeat {
	return &messages.HostHeartbeat{At: events.TimeToMessage(after(minutes)), Epoch: epoch}
}

func taken(minutes int, epoch, term uint64, member string) *messages.TermTaken {
	return &messages.TermTaken{At: events.TimeToMessage(after(minutes)), Epoch: epoch, Term: term, Member: member}
}

func ended(minutes int, epoch, term uint64) *messages.TermEnded {
	return &messages.TermEnded{At: events.TimeToMessage(after(minutes)), Epoch: epoch, Term: term}
}

func fold(all ...membership.Event) (s membership.State) {
	for _, e := range all {
		s = membership.Evolve(s, e)
	}
	return s
}

func TestAStartIsRefusedWhereItWouldDisturbOrLeaveSomethingBehind(t *testing.T) {
	const used, unused = true, false
	starting := func(member, node string, directory bool) membership.Starting {
		s := membership.Starting{Member: events.Member(member), Node: node, UsedDirectory: directory}
		if member != "" {
			s.Cluster = "home"
		}
		return s
	}
	for name, c := range map[string]struct {
		given []membership.Event
		start membership.Starting
		at    int
		want  error
		says  string
	}{
		"a new host": {nil, starting("", "cellar", unused), 0, nil, ""},
		"a new host with members": {
			nil, starting("north", "north", unused), 0, nil, "",
		},
		"one process, killed here": {
			[]membership.Event{started(0, 1, "")}, starting("", "cellar", used), 1, nil, "",
		},
		"one process, which lives elsewhere": {
			[]membership.Event{started(0, 1, ""), beat(5, 1)},
			starting("", "attic", used), 19,
			membership.ErrElsewhere, "of the host as one process, was at 2023-11-14T22:13:20Z on \"cellar\"",
		},
		"one process, silent for long": {
			[]membership.Event{started(0, 1, ""), beat(5, 1)}, starting("", "attic", used), 21, nil, "",
		},
		"one process, with a new directory": {
			[]membership.Event{started(0, 1, "")},
			starting("", "cellar", unused), 1000,
			membership.ErrElsewhere, "never been used",
		},
		"one process that stopped, with a new directory": {
			[]membership.Event{started(0, 1, ""), stopped(1, 1)}, starting("", "attic", unused), 1, nil, "",
		},
		"the first member, where the one process stopped": {
			[]membership.Event{started(0, 1, ""), stopped(1, 1)}, starting("north", "cellar", used), 1, nil, "",
		},
		"the first member, where the one process was killed": {
			[]membership.Event{started(0, 1, "")}, starting("north", "cellar", used), 1, nil, "",
		},
		"the first member, while the one process lives": {
			[]membership.Event{started(0, 1, "")},
			starting("north", "attic", used), 14,
			membership.ErrElsewhere, "if it is gone, start again after 2023-11-14T22:28:20Z",
		},
		"the first member, without the data of the one process": {
			[]membership.Event{started(0, 1, ""), stopped(1, 1)},
			starting("south", "attic", unused), 1000,
			membership.ErrFirstMember, "start a member with that directory first, then south",
		},
		"the second member": {
			[]membership.Event{started(0, 1, ""), stopped(1, 1), withLedger(started(2, 2, "north"))},
			starting("south", "attic", unused), 3, nil, "",
		},
		"the second member, although the one process was only killed": {
			[]membership.Event{started(0, 1, ""), withLedger(started(2, 2, "north"))},
			starting("south", "attic", unused), 3, nil, "",
		},
		"a member that was killed": {
			[]membership.Event{started(0, 1, "north"), started(1, 2, "south")}, starting("north", "north", used), 2, nil, "",
		},
		"a second process of a member's name": {
			[]membership.Event{started(0, 1, "north"), started(1, 2, "south")},
			starting("north", "attic", used), 2,
			membership.ErrElsewhere, "of member north",
		},
		"a member's name with another directory": {
			[]membership.Event{started(0, 1, "north")},
			starting("north", "north", unused), 1000,
			membership.ErrElsewhere, "never been used",
		},
		"a member whose cluster has another name": {
			[]membership.Event{inCluster(started(0, 1, "north"), "hmoe"), stopped(1, 1)},
			starting("south", "south", unused), 1000,
			membership.ErrOtherCluster, `by the record its name is "hmoe", and cluster.name of member south is "home"`,
		},
		"a member of a cluster of this name": {
			[]membership.Event{inCluster(started(0, 1, "north"), "home"), started(0, 2, "west")},
			starting("south", "south", unused), 1, nil, "",
		},
		"a member of a host whose members have not said which cluster it is": {
			[]membership.Event{started(0, 1, "north")}, starting("south", "south", unused), 1, nil, "",
		},
		"a member of a cluster that was given another name": {
			[]membership.Event{inCluster(started(0, 1, "north"), "hmoe"), inCluster(started(0, 2, "west"), "home")},
			starting("south", "south", unused), 1, nil, "",
		},
		"the first member of a new cluster, after the host was one process again": {
			[]membership.Event{
				inCluster(withLedger(started(1, 2, "north")), "hmoe"), stopped(2, 2), started(3, 3, ""), stopped(4, 3),
			},
			starting("north", "north", used), 5, nil, "",
		},
		"one process where there are members": {
			[]membership.Event{started(0, 1, "north"), started(1, 2, "south"), stopped(3, 1), stopped(3, 2)},
			starting("", "north", used), 1000,
			membership.ErrHasMembers, "this host has members: north, south; set cluster.name and cluster.member",
		},
		"one process where the only member has a ledger of its own": {
			[]membership.Event{started(0, 1, "north"), stopped(1, 1)},
			starting("", "north", used), 1000,
			membership.ErrHasMembers, "set cluster.name",
		},
		"a cluster of one goes back": {
			[]membership.Event{started(0, 1, ""), withLedger(started(1, 2, "north")), stopped(2, 2)},
			starting("", "north", used), 3, nil, "",
		},
		"a cluster of one goes back before it has stopped": {
			[]membership.Event{started(0, 1, ""), withLedger(started(1, 2, "north"))},
			starting("", "north", used), 1000,
			membership.ErrHasMembers, "north, last heard at 2023-11-14T22:14:20Z, has not stopped",
		},
		"one process again, after it went back and was killed": {
			[]membership.Event{withLedger(started(1, 2, "north")), stopped(2, 2), started(3, 3, "")},
			starting("", "cellar", used), 4, nil, "",
		},
		"a member, while the host went back to one process": {
			[]membership.Event{withLedger(started(1, 2, "north")), stopped(2, 2), started(3, 3, "")},
			starting("north", "north", used), 4, membership.ErrElsewhere, "one process",
		},
	} {
		t.Run(name, func(t *testing.T) {
			err := membership.MayStart(fold(c.given...), c.start, after(c.at))
			if !errors.Is(err, c.want) || err != nil && !strings.Contains(err.Error(), c.says) {
				t.Fatalf("got %v, want %v with %q", err, c.want, c.says)
			}
		})
	}
}

func TestTheHostsLedgerGoesToTheFirstMemberWithTheDataOfTheOneProcess(t *testing.T) {
	one := []membership.Event{started(0, 1, ""), stopped(1, 1)}
	north := append(one[:2:2], withLedger(started(2, 2, "north")))
	for name, c := range map[string]struct {
		given  []membership.Event
		member events.Member
		used   bool
		want   bool
	}{
		"a new host":                         {nil, "north", false, false},
		"a new host in a used directory":     {nil, "north", true, false},
		"the first member":                   {one, "north", true, true},
		"the first member, without the data": {one, "north", false, false},
		"no member":                          {one, "", true, false},
		"the same member again":              {north, "north", true, true},
		"it lost its directory":              {north, "north", false, true},
		"the second member":                  {north, "south", true, false},
		"the same member, after it went back": {
			append(north[:3:3], stopped(3, 2), started(4, 3, "")), "north", true, true,
		},
	} {
		if got := membership.HoldsHostLedger(fold(c.given...), c.member, c.used); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestAProcessIsReplacedByALaterStart(t *testing.T) {
	for name, c := range map[string]struct {
		given  []membership.Event
		epoch  uint64
		member events.Member
		want   bool
	}{
		"it is the newest":         {[]membership.Event{started(0, 1, "north")}, 1, "north", false},
		"another member began":     {[]membership.Event{started(0, 1, "north"), started(1, 2, "south")}, 1, "north", false},
		"the member began again":   {[]membership.Event{started(0, 1, "north"), started(1, 2, "north")}, 1, "north", true},
		"one process began again":  {[]membership.Event{started(0, 1, ""), started(1, 2, "")}, 1, "", true},
		"the first member joined":  {[]membership.Event{started(0, 1, ""), started(1, 2, "north")}, 1, "", true},
		"the host is one process":  {[]membership.Event{started(0, 1, "north"), started(1, 2, "")}, 1, "north", true},
		"it is newer than the one": {[]membership.Event{started(0, 1, ""), started(1, 2, "north")}, 2, "north", false},
	} {
		if got := membership.Replaced(fold(c.given...), c.epoch, c.member); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestATermLastsUntilItsOwnerIsGoneOrAnotherTakesTheNext(t *testing.T) {
	given := []membership.Event{started(0, 1, "north"), started(0, 2, "south"), taken(1, 1, 1, "north")}
	for name, c := range map[string]struct {
		then    membership.Event
		owner   events.Member // of a term that lasts
		deposed bool          // start 1 of its term 1
	}{
		"nothing":                        {beat(2, 1), "north", false},
		"another takes the next":         {taken(2, 2, 2, "south"), "south", true},
		"another's older term is late":   {taken(2, 2, 1, "south"), "north", false},
		"it is given back":               {ended(2, 1, 1), "", true},
		"another gives back what it had": {ended(2, 2, 1), "north", false},
		"the owner stops":                {stopped(2, 1), "", true},
		"another stops":                  {stopped(2, 2), "north", false},
		"the owner starts again":         {started(2, 3, "north"), "", true},
		"another starts again":           {started(2, 3, "south"), "north", false},
		"the host is one process":        {started(2, 3, ""), "", true},
	} {
		t.Run(name, func(t *testing.T) {
			s := fold(append(given[:3:3], c.then)...)
			term, lasts := membership.Owner(s)
			if lasts != (c.owner != "") || lasts && term.Member != c.owner {
				t.Errorf("the owner is %+v, %v", term, lasts)
			}
			if got := membership.Deposed(s, 1, 1); got != c.deposed {
				t.Errorf("deposed: %v", got)
			}
		})
	}
	if membership.Deposed(fold(given[:2]...), 1, 1) {
		t.Error("it is deposed before the term is in the record")
	}
}

func TestATermIsTakenOnce(t *testing.T) {
	s := fold(started(0, 1, "north"), started(0, 2, "south"))
	e := membership.TakeTerm(s, 1, "north", after(1))
	if e.GetTerm() != 1 || e.GetEpoch() != 1 || e.GetMember() != "north" || !e.GetAt().AsTime().Equal(after(1)) {
		t.Fatalf("%v", e)
	}
	s = membership.Evolve(s, e)
	if e := membership.TakeTerm(s, 1, "north", after(2)); e != nil {
		t.Errorf("the owner takes %v", e)
	}
	if e := membership.TakeTerm(s, 2, "south", after(2)); e.GetTerm() != 2 {
		t.Errorf("another takes %v", e)
	}
	s = membership.Evolve(s, ended(3, 1, 1))
	if e := membership.TakeTerm(s, 1, "north", after(4)); e.GetTerm() != 2 {
		t.Errorf("who gave it back takes %v", e)
	}
}

func TestTheHostIsItsMembersOrTheOneProcessThatStartedLast(t *testing.T) {
	all := []membership.Event{
		started(0, 1, ""), started(1, 2, "north"), started(2, 3, "east"), started(3, 4, "north"), started(4, 5, ""),
	}
	for i, want := range [][]uint64{nil, {1}, {2}, {3, 2}, {3, 4}, {5}} {
		var got []uint64
		for _, p := range fold(all[:i]...).Host() {
			got = append(got, p.Epoch)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("after %d starts: %s", i, diff)
		}
	}
}

func TestWhatAProcessWritesIsHeardOfIt(t *testing.T) {
	at := events.TimeToMessage(after(7))
	for _, e := range []membership.Event{
		beat(7, 1), taken(7, 1, 1, "north"), ended(7, 1, 1), &messages.WorkQuarantined{At: at, Epoch: 1},
		&messages.QuarantineEnded{At: at, Epoch: 1}, &messages.RecordWentBack{At: at, Epoch: 1}, stopped(7, 1),
	} {
		s := fold(started(0, 1, "north"), started(0, 2, "south"), e)
		north, _ := s.Process("north")
		south, _ := s.Process("south")
		if !north.Heard.Equal(after(7)) || !south.Heard.Equal(began) {
			t.Errorf("%T: north was heard at %s, south at %s", e, north.Heard, south.Heard)
		}
	}
	s := fold(started(0, 1, "north"), started(1, 2, "north"), beat(7, 1))
	if p, _ := s.Process("north"); !p.Heard.Equal(after(1)) {
		t.Errorf("what a replaced process wrote counts for its successor: %s", p.Heard)
	}
}

func TestFoldingChangesNoEarlierState(t *testing.T) {
	all := []membership.Event{
		started(0, 1, ""), stopped(1, 1), withLedger(started(2, 2, "north")), taken(3, 2, 1, "north"), started(4, 3, "east"),
		beat(5, 2), started(6, 4, "north"), ended(7, 2, 1), stopped(8, 3),
	}
	for i := range all {
		before := fold(all[:i]...)
		membership.Evolve(before, all[i])
		if diff := cmp.Diff(fold(all[:i]...), before); diff != "" {
			t.Errorf("event %d: %s", i, diff)
		}
	}
}
