package membership

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/hostnode/hostnode/events"
)

// The reasons not to start. Their texts say what to do.
var (
	// ErrElsewhere: the process that the start would replace may still be running.
	ErrElsewhere = errors.New("this host may be running elsewhere")
	// ErrHasMembers: a process without a member would run a host that has members.
	ErrHasMembers = errors.New("this host has members")
	// ErrOtherCluster: the members of the host are in a cluster of another name.
	ErrOtherCluster = errors.New("the members of this host are in another cluster")
	// ErrFirstMember: the host was one process, and its data is not where its first member starts.
	ErrFirstMember = errors.New("this is not the data directory of the host that gets its first member")
)

const (
	// Heartbeat is how often a process writes that it is alive.
	Heartbeat = 5 * time.Minute
	// SilentFor is for how long a process on another machine must be silent to count as gone: more
	// than one heartbeat may be late.
	SilentFor = 3 * Heartbeat
)

// Starting is a process that wants to start.
type Starting struct {
	// Member is empty: it has no settings of a cluster.
	Member events.Member
	// Cluster is the name of the cluster that the member joins.
	Cluster string
	// Node is the name of its machine.
	Node string
	// UsedDirectory says that its data directory was used by this host before.
	UsedDirectory bool
}

// MayStart refuses a start that would disturb a process that lives, or that would leave the data
// of one behind: ErrElsewhere, ErrHasMembers, ErrFirstMember; or one in a cluster where no other member is:
// ErrOtherCluster. Otherwise other members never hinder a member.
// now is by the clock of this machine. An operator who knows better may start all the same, except
// after ErrHasMembers.
func MayStart(s State, p Starting, now time.Time) error {
	if p.Member == "" {
		if err := s.mayGoBack(); err != nil {
			return err
		}
	}
	if p.Member != "" && s.Cluster != "" && p.Cluster != s.Cluster {
		return fmt.Errorf("%w: by the record its name is %q, and cluster.name of member %s is %q",
			ErrOtherCluster, s.Cluster, p.Member, p.Cluster)
	}
	for _, before := range s.Processes {
		if p.Member != "" && before.Member != p.Member && before.Member != "" {
			continue
		}
		if err := s.gone(before, p, now); err != nil {
			return err
		}
	}
	if s.firstMember(p.Member) && !p.UsedDirectory {
		return fmt.Errorf("%w: one process ran the host until now, and what it sold is in its data directory; start "+
			"a member with that directory first, then %s", ErrFirstMember, p.Member)
	}
	return nil
}

// firstMember reports whether a member would be the first one of a host that was one process.
func (s State) firstMember(member events.Member) bool {
	_, wasOne := s.Process("")
	return member != "" && wasOne && len(s.Members()) == 0
}

// mayGoBack refuses a process without a member if there are members, except where the only one
// that ever was has the host's ledger and has stopped.
func (s State) mayGoBack() error {
	members := s.Members()
	switch {
	case len(members) == 0:
		return nil
	case len(members) > 1 || !members[0].HostLedger:
		return fmt.Errorf("%w: %s; set cluster.name and cluster.member, and what belongs to them",
			ErrHasMembers, names(members))
	case members[0].Stopped.IsZero() && !Replaced(s, members[0].Epoch, members[0].Member):
		return fmt.Errorf("%w: %s, last heard at %s, has not stopped; stop it first, then the host may be one "+
			"process again, or set cluster.name and cluster.member",
			ErrHasMembers, members[0].Member, stamp(members[0].Heard))
	}
	return nil
}

// gone refuses a start while the process that it replaces may be alive. A process that was killed
// on this machine, with this data directory, is gone. A directory that was never used is refused
// however long the other process was silent, because what it sold is not there.
func (s State) gone(before Process, p Starting, now time.Time) error {
	if !before.Stopped.IsZero() || Replaced(s, before.Epoch, before.Member) {
		return nil
	}
	why := "this data directory has never been used with the account"
	if p.UsedDirectory {
		if before.Node == p.Node || now.Sub(before.Heard) > SilentFor {
			return nil
		}
		why = fmt.Sprintf("this is %q; if it is gone, start again after %s", p.Node, stamp(before.Heard.Add(SilentFor)))
	}
	who := "the host as one process"
	if before.Member != "" {
		who = "member " + string(before.Member)
	}
	return fmt.Errorf("%w: by the record, start %d, of %s, was at %s on %q and has not stopped; it was last heard "+
		"at %s, and %s", ErrElsewhere, before.Epoch, who, stamp(before.Since), before.Node, stamp(before.Heard), why)
}

// HoldsHostLedger reports whether the ledger of a member that starts is the host's: it was at an
// earlier start, or the member is the first one, the host was one process before, and its data is
// in the member's data directory. Without a member it is false: nothing says so in the record.
func HoldsHostLedger(s State, member events.Member, usedDirectory bool) bool {
	if p, joined := s.Process(member); joined {
		return p.HostLedger
	}
	return usedDirectory && s.firstMember(member)
}

func names(all []Process) string {
	var text []string
	for _, p := range all {
		text = append(text, string(p.Member))
	}
	return strings.Join(text, ", ")
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
