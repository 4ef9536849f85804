package api

import (
	"context"
	"fmt"
	"slices"

	"github.com/hostnode/hostnode/actors"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/node"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/problem"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/membership"
	"github.com/hostnode/hostnode/projections"
)

// This file is about what belongs to one member of a host.

// seenHost is what the views say of this host's starts.
func (r *reader) seenHost() projections.Host {
	return mine(r, r.views.Hosts().Hosts, func(h projections.Host) string { return h.Host })
}

// run is the newest start of this reader's member; false: it never started. Without a member, and if
// the host is one process again, it is the host's newest.
func (r *reader) run() (run projections.Run, started bool) {
	all := r.seenHost().Runs
	for _, run := range slices.Backward(all) {
		if r.Member == "" || run.Member == r.Member || run.Member == "" && run.Epoch == all[len(all)-1].Epoch {
			return run, true
		}
	}
	return run, false
}

// ownLedger is the part of the ledger that belongs to this reader's member. Without a member, and
// before the host has any, it is the host's.
func (r *reader) ownLedger() projections.Ledger { return ledgerFor(r.ledger(), r.Member) }

// ledgerFor is the part of a host's ledger that belongs to a member.
func ledgerFor(all projections.Ledger, member events.Member) projections.Ledger {
	if member == "" || len(all.Members) == 0 {
		return all
	}
	own := projections.Ledger{Host: all.Host, Member: member}
	for _, one := range all.Members {
		if one.Member == member {
			own = one
		}
	}
	own.Availabilities = slices.DeleteFunc(slices.Clone(all.Availabilities),
		func(a projections.Availability) bool { return a.Member != member })
	return own
}

// processes are those of the host, by its stream, of the past in question if the answer is about one.
func (r *reader) processes(ctx context.Context) (membership.State, error) {
	s, err := node.Processes(ctx, r.store, r.Account, r.past)
	if err != nil {
		return s, fmt.Errorf("read %s: %w", events.HostStream(r.Account), err)
	}
	return s, nil
}

// record is the host's as this directory's process would write it. A directory that belongs to no
// member is refused if the host has members: membership.ErrHasMembers.
func (o *Offline) record(ctx context.Context) (none actors.Record, err error) {
	s, err := o.processes(ctx)
	if err != nil {
		return none, err
	}
	if all := s.Host(); o.Member == "" && len(all) > 0 && all[0].Member != "" {
		return none, fmt.Errorf("%w, and %s is the directory of none of them; give the command where one of them "+
			"runs, or with its --data-dir", membership.ErrHasMembers, o.DataDir)
	}
	epoch, ledger := s.Epoch, o.Member
	if p, joined := s.Process(o.Member); joined && o.Member != "" {
		epoch = p.Epoch
	}
	if membership.HoldsHostLedger(s, o.Member, true) {
		ledger = ""
	}
	return actors.NewRecord(o.store.Store, o.Account, ledger, epoch, o.cfg.Node), nil
}

// queueIsHere refuses to write to the queue while another member may run, which has it or gets it.
func (o *Offline) queueIsHere(ctx context.Context) error {
	s, err := o.processes(ctx)
	if err != nil {
		return err
	}
	for _, p := range s.Host() {
		if p.Member != o.Member && p.Stopped.IsZero() && o.now().Sub(p.Heard) <= membership.SilentFor {
			return fmt.Errorf("%w in %s, and member %s does on %q: give the command there",
				problem.ErrNotRunning, o.DataDir, p.Member, p.Node)
		}
	}
	return nil
}
