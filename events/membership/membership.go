// Package membership is the pure core of what a host's stream says of its processes: its members,
// and which of them has the term.
//
// All members of a host append to its stream, each at exactly the revision that it knows, and
// read on when another one was faster. So all agree on the order of starts and of terms. The
// rules:
//
//  1. An epoch names one process: it counts the starts of all members together.
//  2. A process is replaced by a later start of the same member, and ends. A process without a
//     member is the whole host, so any later start replaces it, and it replaces every member.
//  3. Terms are numbered. The process that takes the next number is the owner: it runs what runs
//     once per host. The term ends when another one is taken, when the owner gives it back or
//     stops, or when the owner's member starts again, because then its process is gone.
//  4. A host that has members is not run by a process without one, unless its only member has the
//     host's ledger and has stopped. A host that one process ran gets its first member where the
//     data of that process is; that member goes on with the host's ledger.
//  5. The cluster's name is the one that members started with. Those of another name would look for each other
//     elsewhere, and each group would take the term from the other, so a member with another name is refused.
//
// The package has no clock and does no I/O. The lease that lets a member try to take the term is
// none of its business.
package membership

import (
	"cmp"
	"slices"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/messages"
)

// Event is an event of a host's stream.
type Event = messages.HostEvent

// Process is the newest process of a member. Its times are by the clock of its machine.
type Process struct {
	// Member is empty: the host was one process.
	Member        events.Member
	Epoch         uint64
	Version, Node string
	// Since is when it started, Heard the last time that it wrote to the host's stream, Stopped
	// when it stopped in good order; zero: it runs, or was killed.
	Since, Heard, Stopped time.Time
	// HostLedger says that the member's ledger is the host's (events.CapacityStream).
	HostLedger bool
	// Settings are those of the member that are not the defaults, as far as they are recorded, in the order of their
	// keys.
	Settings []Setting
}

// Term is a time in which one process runs what runs once per host.
type Term struct {
	Number uint64 // 1 for the first
	Epoch  uint64 // of the owner's process
	Member events.Member
	// Since is when it was taken, Ended when it ended without another one; zero: it has not.
	Since, Ended time.Time
}

// State is what a host's stream says of its processes. The zero State is that of an empty stream.
// Evolve does not change the State that it gets.
type State struct {
	// Processes has the newest one of each member, in the order of their names; the one without a
	// member comes first.
	Processes []Process
	// Epoch is the newest; the next start has the number after it.
	Epoch uint64
	// Term is the newest; its Number is 0 as long as none was taken.
	Term Term
	// Cluster is the name of the members' cluster; empty: not known.
	Cluster string
}

// Process returns the newest process of a member; false: it never started.
func (s State) Process(member events.Member) (Process, bool) {
	i, found := s.find(member)
	if !found {
		return Process{}, false
	}
	return s.Processes[i], true
}

// Members returns the newest process of each member, without the one that has none.
func (s State) Members() []Process {
	if _, single := s.Process(""); single {
		return s.Processes[1:]
	}
	return s.Processes
}

// Host returns the processes that are the host now: the one without a member if it started last,
// otherwise the newest of each member.
func (s State) Host() []Process {
	if one, single := s.Process(""); single && one.Epoch == s.Epoch {
		return []Process{one}
	}
	return s.Members()
}

func (s State) find(member events.Member) (int, bool) {
	return slices.BinarySearchFunc(s.Processes, member, func(p Process, m events.Member) int {
		return cmp.Compare(p.Member, m)
	})
}

// Evolve folds one event.
func Evolve(s State, e Event) State {
	switch e := e.(type) {
	case *messages.HostStarted:
		return s.start(e)
	case *messages.HostStopped:
		at := events.TimeFromMessage(e.GetAt())
		s = s.change(e.GetEpoch(), func(p *Process) { p.Heard, p.Stopped = at, at })
		return s.endTerm(e.GetEpoch() == s.Term.Epoch, at)
	case *messages.TermTaken:
		s = s.heard(e)
		if e.GetTerm() > s.Term.Number {
			s.Term = Term{
				Number: e.GetTerm(), Epoch: e.GetEpoch(), Member: events.Member(e.GetMember()),
				Since: events.TimeFromMessage(e.GetAt()),
			}
		}
		return s
	case *messages.TermEnded:
		own := e.GetTerm() == s.Term.Number && e.GetEpoch() == s.Term.Epoch
		return s.heard(e).endTerm(own, events.TimeFromMessage(e.GetAt()))
	case *messages.SettingsChanged:
		s = s.heard(e)
		return s.change(e.GetEpoch(), func(p *Process) { p.set(e.GetChanges()) })
	case *messages.HostHeartbeat, *messages.WorkQuarantined, *messages.QuarantineEnded, *messages.RecordWentBack:
		return s.heard(e.(signs))
	}
	return s
}

func (s State) start(e *messages.HostStarted) State {
	at := events.TimeFromMessage(e.GetAt())
	p := Process{
		Member: events.Member(e.GetMember()), Epoch: e.GetEpoch(), Version: e.GetVersion(), Node: e.GetNode(),
		Since: at, Heard: at, HostLedger: e.GetHostLedger(),
	}
	s.Epoch = max(s.Epoch, p.Epoch)
	if p.Member == "" || e.GetCluster() != "" { // A member of an older version does not say.
		s.Cluster = e.GetCluster()
	}
	s = s.endTerm(p.replaces(s.Term.Member), at)
	i, found := s.find(p.Member)
	s.Processes = slices.Clone(s.Processes)
	if found {
		p.HostLedger = p.HostLedger || s.Processes[i].HostLedger
		p.Settings = s.Processes[i].Settings
		s.Processes[i] = p
	} else {
		s.Processes = slices.Insert(s.Processes, i, p)
	}
	return s
}

// replaces reports whether a start ends the process of a member that started before it.
func (p Process) replaces(member events.Member) bool {
	return p.Member == member || p.Member == "" || member == ""
}

func (s State) endTerm(ends bool, at time.Time) State {
	if ends && s.Term.Number > 0 && s.Term.Ended.IsZero() {
		s.Term.Ended = at
	}
	return s
}

// signs is an event that a running process wrote.
type signs interface {
	Event
	GetEpoch() uint64
	GetAt() *timestamppb.Timestamp
}

// heard notes a sign of life.
func (s State) heard(e signs) State {
	return s.change(e.GetEpoch(), func(p *Process) { p.Heard = events.TimeFromMessage(e.GetAt()) })
}

// Replaced reports whether a start after an epoch ended the process of that epoch. A process that
// is replaced must end, whatever it was doing.
func Replaced(s State, epoch uint64, member events.Member) bool {
	return slices.ContainsFunc(s.Processes, func(p Process) bool { return p.Epoch > epoch && p.replaces(member) })
}

// Owner returns the term that lasts; false: nobody has it. A lasting term does not mean that its
// owner is alive.
func Owner(s State) (Term, bool) { return s.Term, s.Term.Number > 0 && s.Term.Ended.IsZero() }

// TakeTerm returns the event with which a process takes the next term, nil if the term is its own
// and lasts. It must be appended right after the events that are in s. A process that is Replaced
// must not ask.
func TakeTerm(s State, epoch uint64, member events.Member, at time.Time) *messages.TermTaken {
	if term, lasts := Owner(s); lasts && term.Epoch == epoch {
		return nil
	}
	return &messages.TermTaken{
		At: events.TimeToMessage(at), Epoch: epoch, Term: s.Term.Number + 1, Member: string(member),
	}
}

// Deposed reports whether a term that a process took is over. In a state from before it was taken,
// it is not.
func Deposed(s State, epoch, term uint64) bool {
	if s.Term.Number != term {
		return s.Term.Number > term
	}
	return s.Term.Epoch != epoch || !s.Term.Ended.IsZero()
}

// change changes the process of an epoch, unless its member has started again.
func (s State) change(epoch uint64, change func(*Process)) State {
	i := slices.IndexFunc(s.Processes, func(p Process) bool { return p.Epoch == epoch })
	if i >= 0 {
		s.Processes = slices.Clone(s.Processes)
		change(&s.Processes[i])
	}
	return s
}
