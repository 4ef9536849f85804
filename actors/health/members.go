package health

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/hostnode/hostnode/events"
)

// MembersFacts is what a member of a host knows of the others. Times are by the members' clocks.
type MembersFacts struct {
	// Member is this one; empty: the host is one process, and nothing else is set.
	Member events.Member
	// Owner has the term since TermSince. Empty: nobody has, since then; zero: nobody ever had.
	Owner     events.Member
	TermSince time.Time
	// Silent are the members that have not stopped, and do not seem to be alive.
	Silent []SilentMember
	// MayOwn are the living members that may take the term, if that is known.
	MayOwn      []events.Member
	MayOwnKnown bool
	// Certificate is the file of this member's certificate that ends soon, or ended, at CertificateEnds; empty: none
	// does.
	Certificate     string
	CertificateEnds time.Time
	// LeaseAway says why etcd does not know, since LeaseAwaySince, that this member is alive; empty: it does.
	LeaseAway      string
	LeaseAwaySince time.Time
	// unable is why this member sells nothing of its own; see JudgeHost.
	unable string
}

// SilentMember is a member that does not seem to be alive; Heard is when it last wrote to the
// host's stream.
type SilentMember struct {
	Member events.Member
	Heard  time.Time
}

// IsSilent reports whether a member has not stopped, and does not seem to be alive.
func (f MembersFacts) IsSilent(m events.Member) bool {
	return slices.ContainsFunc(f.Silent, func(s SilentMember) bool { return s.Member == m })
}

const takesTerm = "a member with account.transactions = true takes the term by itself, within seconds, while etcd " +
	"and the event store answer; see who runs with hostnode members, and start one that may"

// noOwner, like ownerSilent, says nothing while the event store does not answer this member: others may have recorded
// another owner.
func noOwner(f Facts) (reason, hint string) {
	m := f.Members
	reason = "no member has ever had the term"
	if !m.TermSince.IsZero() {
		reason = "no member has the term" + since(m.TermSince)
	}
	return when(m.Member != "" && m.Owner == "" && !f.Record.Away,
		reason+": no slot is taken, and no transaction is sent", takesTerm)
}

func ownerSilent(f Facts) (reason, hint string) {
	m := f.Members
	return when(m.Owner != "" && m.IsSilent(m.Owner) && !f.Record.Away,
		fmt.Sprintf("member %s has the term%s and does not seem to be alive", m.Owner, since(m.TermSince)), takesTerm)
}

// whyNot says why a member does not sell what it offers; empty: it does, as far as is known.
func (f MembersFacts) whyNot(o Offered) string {
	switch {
	case f.IsSilent(o.Member):
		return "does not seem to be alive"
	case o.Member == f.Member:
		return f.unable
	}
	return ""
}

// offersUnable: all that is on offer is the space of members that do not sell it.
func offersUnable(f Facts) (reason, hint string) {
	why := map[events.Member]string{}
	for _, o := range f.Supply.OnSale() {
		if why[o.Member] = f.Members.whyNot(o); why[o.Member] == "" {
			return "", ""
		}
	}
	var all []string
	for _, name := range slices.Sorted(maps.Keys(why)) {
		all = append(all, fmt.Sprintf("%s (%s)", name, why[name]))
	}
	return when(len(all) > 0, "what is on offer is the space of members that do not sell: "+strings.Join(all, ", "),
		"see who runs with "+f.command("members")+", and ask these members with hostnode status")
}

func membersSilent(f Facts) (reason, hint string) {
	var names []string
	for _, s := range f.Members.Silent {
		names = append(names, fmt.Sprintf("%s (last in the record at %s)", s.Member, s.Heard.UTC().Format(SinceFormat)))
	}
	return when(len(names) > 0, "members that do not seem to be alive: "+strings.Join(names, ", "),
		"what they host is not proven: start them again, or look at their logs and at their way to etcd")
}

// leaseAway: all goes on with the present owner, and with the members that were seen last.
func leaseAway(f Facts) (reason, hint string) {
	m := f.Members
	return when(m.LeaseAway != "",
		"etcd does not know that this member is alive"+since(m.LeaseAwaySince)+": "+m.LeaseAway,
		"check etcd (cluster.etcd) and the way to it. All goes on meanwhile, but no other member can take the term, "+
			"and none that starts joins")
}

func fewMayOwn(f Facts) (reason, hint string) {
	m := f.Members
	who := "no living member may take the term"
	if len(m.MayOwn) == 1 {
		who = fmt.Sprintf("only member %s may take the term: without it no slot is taken, and no proof is sent",
			m.MayOwn[0])
	}
	return when(m.MayOwnKnown && len(m.MayOwn) < 2,
		who, "give another member the account's key or signer, and set account.transactions = true there")
}

func certificateEnds(f Facts) (reason, hint string) {
	m := f.Members
	return when(m.Certificate != "",
		fmt.Sprintf("the certificate %s of this member ends at %s: after that nobody believes that it is this member",
			m.Certificate, m.CertificateEnds.UTC().Format(SinceFormat)),
		"put a new certificate and its key in their place (`hostnode cluster certs` makes them, once the old files "+
			"are moved away); they are used without a restart")
}
