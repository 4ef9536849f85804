package actors

import (
	"slices"
	"time"

	"github.com/hostnode/hostnode/actors/health"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/membership"
)

// membersFacts is what this member knows of the others, by the record and by the cluster.
func (e *env) membersFacts() (f health.MembersFacts) {
	if e.Cluster == nil {
		return f
	}
	now, _ := e.owner.state()
	term, lasts := membership.Owner(now)
	f.Member, f.TermSince = e.Member, term.Ended
	if lasts {
		f.Owner, f.TermSince = term.Member, term.Since
	}
	seen := e.Cluster.Seen()
	for _, p := range now.Members() {
		if p.Stopped.IsZero() && !slices.Contains(seen, p.Member) {
			f.Silent = append(f.Silent, health.SilentMember{Member: p.Member, Heard: p.Heard})
		}
	}
	if told, ok := e.Cluster.(interface{ MayOwn() []events.Member }); ok {
		f.MayOwn, f.MayOwnKnown = told.MayOwn(), true
	}
	if told, ok := e.Cluster.(interface{ LeaseAway() (time.Time, error) }); ok {
		if since, why := told.LeaseAway(); why != nil {
			f.LeaseAway, f.LeaseAwaySince = why.Error(), since
		}
	}
	if shown, ok := e.Cluster.(interface {
		CertificateEnds() (file string, at time.Time)
	}); ok {
		if file, at := shown.CertificateEnds(); file != "" && at.Sub(e.Clock.Now()) < e.CertificateWarning {
			f.Certificate, f.CertificateEnds = file, at
		}
	}
	return f
}
