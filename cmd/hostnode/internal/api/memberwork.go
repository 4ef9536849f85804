package api

import (
	"context"
	"sync"
	"time"

	"github.com/hostnode/hostnode/events"
)

// workPatience is how long the members may take to say what they have to do, so that the list comes also
// if one of them does not answer.
const workPatience = 3 * time.Second

// Members implements Past. Besides what the record says, the members that run say what they have to do.
func (l *Live) Members(ctx context.Context) (Members, error) {
	all, err := l.reader.Members(ctx)
	if err != nil {
		return all, err
	}
	now, err := l.cfg.Host.Standing(ctx)
	if err != nil {
		return all, err
	}
	// What the cluster says is newer than what the record does, and the status says the same.
	for i := range all.Members {
		if m := &all.Members[i]; m.State != MemberStopped && now.Members.Member != "" {
			m.State = MemberRunning
			if now.Members.IsSilent(events.Member(m.Name)) {
				m.State = MemberSilent
			}
		}
	}
	asking, cancel := context.WithTimeout(ctx, workPatience)
	defer cancel()
	var answers sync.WaitGroup
	for i := range all.Members {
		m := &all.Members[i]
		if m.State == MemberStopped {
			continue
		}
		answers.Go(func() {
			w, err := l.cfg.Host.WorkOf(asking, events.Member(m.Name))
			if err == nil {
				m.Work = &MemberWork{
					Head: w.Head, ProofsDue: w.ProofsDue, ProverBusy: w.ProverBusy, ProverMost: w.ProverMost,
				}
			}
		})
	}
	answers.Wait()
	var newest uint64
	for _, m := range all.Members {
		if m.Work != nil {
			newest = max(newest, m.Work.Head)
		}
	}
	for _, m := range all.Members {
		if m.Work != nil {
			m.Work.Behind = newest - m.Work.Head
		}
	}
	return all, nil
}
