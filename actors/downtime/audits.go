package downtime

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/downtime"
)

// This file gathers audits and writes them. Probes and leases are sampled in rounds; what they say is kept in memory
// until its window is over, because a crash in between is a pause, of which nothing counts. What the market says is
// read from the chain, window by window, when it is settled.

// rounds are the rounds of samples.
type rounds struct {
	asked time.Time // when the newest round began
	seen  time.Time // when the newest one began that was answered: since then nobody watched
	wait  bool      // a round is not answered yet
}

// answered is what a round found. An error: nothing, by a fault here.
type answered struct {
	at      time.Time
	probes  map[events.Node]Answer
	members map[events.Node]bool
	err     error
}

// samples reports whether there are rounds at all.
func (w *Watcher) samples() bool { return w.Prober != nil || w.Seen != nil }

// sampled are the nodes that a round asks about; false: a member that does not seem to be alive.
func (w *Watcher) sampled() map[events.Node]bool {
	all := w.alive()
	if w.Prober != nil {
		for _, name := range w.Prober.Nodes() {
			all[name] = true
		}
	}
	return all
}

// alive says of each member whether it holds its lease.
func (w *Watcher) alive() map[events.Node]bool {
	all := map[events.Node]bool{}
	if w.Seen == nil {
		return all
	}
	for name := range w.nodes {
		if _, err := events.ParseMember(string(name)); err == nil {
			all[name] = false
		}
	}
	for _, m := range w.Seen() {
		all[events.Node(m)] = true
	}
	return all
}

// ask begins a round when it is time. What is answered now is of now: while the host catches up with the chain, nobody
// watches.
func (w *Watcher) ask(a *shell.Turn) {
	if !w.samples() || !w.live || w.rounds.wait || w.now.Before(w.rounds.asked.Add(w.Every)) {
		return
	}
	w.rounds.asked, w.rounds.wait = w.now, true
	m := answered{at: w.now, members: w.alive()}
	w.Later(a, "ask the nodes", func(ctx context.Context) any {
		if w.Prober != nil {
			m.probes, m.err = w.Prober.Probe(ctx)
		}
		return m
	})
}

// onAnswered keeps the audits of a round. If it comes after a pause, that is void before anything of it is written.
func (w *Watcher) onAnswered(a *shell.Turn, m answered) {
	w.rounds.wait = false
	if m.err != nil {
		w.Log.Warnf("no node could be asked whether it is there; after %s that is void for all: %v", w.Gap, m.err)
		return
	}
	if m.at.Sub(w.rounds.seen) > w.Gap {
		w.void(a, w.rounds.seen, m.at, "nobody watched")
	}
	w.rounds.seen = m.at
	for _, name := range slices.Sorted(maps.Keys(m.members)) { // Who is new, or back.
		if m.members[name] && !w.node(a, name, saved{}).Durable.Judged() {
			w.submit(a, name, downtime.Join{At: w.now, Rules: w.Rules}, causeLook, nil)
		}
	}
	for name, audit := range w.Rules.Write(downtime.Member, m.at, m.members) {
		w.node(a, name, saved{}).keep(audit)
	}
	online := map[events.Node]bool{}
	for name, answer := range m.probes {
		online[name] = answer.Online
	}
	for name, audit := range w.Rules.Write(downtime.Probe, m.at, online) {
		if online[name] && !m.probes[name].Proven {
			audit.ID += unprovenMark
		}
		w.node(a, name, saved{}).keep(audit)
	}
}

// unprovenMark ends the id of an audit of a node that answered without a signature.
const unprovenMark = ":unproven"

// keep keeps an audit until it is written, if its window counts.
func (n *node) keep(audit downtime.Audit) {
	if s := n.Durable; s.Judged() && !audit.Time.Before(s.WatchedSince()) {
		n.pending = append(n.pending, audit)
	}
}

// void says of a time that nobody watched, of all nodes that rounds ask about: what the market shows of the others is
// read later.
func (w *Watcher) void(a *shell.Turn, from, until time.Time, reason string) {
	if !w.samples() {
		return
	}
	sampled := w.sampled()
	w.Log.Warnf("nobody was watched from %s to %s: %s", from.UTC().Format(time.RFC3339),
		until.UTC().Format(time.RFC3339), reason)
	w.due = true
	for _, name := range w.inOrder() {
		if _, asked := sampled[name]; asked && w.nodes[name].Durable.Judged() {
			w.submit(a, name, downtime.Void{At: w.now, From: from, Until: until, Reason: reason}, causeStart, nil)
		}
	}
}

// write records the audits of windows that are over; during a pause only of those that were over before it, because the
// others are void.
func (w *Watcher) write(a *shell.Turn) {
	over := w.Rules.StartOf(w.now)
	sampled := over
	if w.now.Sub(w.rounds.seen) > w.Gap {
		sampled = w.Rules.StartOf(w.rounds.seen)
	}
	for _, name := range w.inOrder() {
		n := w.nodes[name]
		var audits, later []downtime.Audit
		for _, x := range n.pending {
			live := x.Source == downtime.Probe || x.Source == downtime.Member
			if live && x.Time.Before(sampled) || !live && x.Time.Before(over) {
				audits = append(audits, x)
			} else {
				later = append(later, x)
			}
		}
		if n.pending = later; len(audits) > 0 {
			w.record(a, name, audits)
		}
	}
}

// record writes audits of a node. One that is refused does not take the others with it.
func (w *Watcher) record(a *shell.Turn, name events.Node, audits []downtime.Audit) {
	cmd := downtime.Write{At: w.now, Audits: audits}
	w.submit(a, name, cmd, causeLook, func(r result) {
		switch {
		case r.Err == nil:
			w.due = w.due || len(r.Events) > 0
		case !isRefused(r.Err):
			w.Log.WithField("node", name).Warnf("what was seen of a node is not recorded yet: %v", r.Err)
			n := w.nodes[name]
			n.pending = append(n.pending, audits...) // With the next block.
		case len(audits) == 1:
			w.Log.WithField("node", name).Warnf("an audit does not count: %v", r.Err)
		default:
			for i := range audits {
				w.record(a, name, audits[i:i+1])
			}
		}
	})
}

// isRefused reports whether the rules refuse a command.
func isRefused(err error) bool {
	return slices.ContainsFunc([]error{
		downtime.ErrNotJoined, downtime.ErrFuture, downtime.ErrOpen, downtime.ErrNotWatched,
		downtime.ErrContradiction, events.ErrMalformed,
	}, func(refusal error) bool { return errors.Is(err, refusal) })
}

// look is how far the market was looked at.
type look struct {
	wait  bool
	asked time.Time // the block of the newest look, if there was nothing
	slept time.Time // the newest event of the record at the start
	until time.Time // what the market shows before it is written; zero: nothing is yet, in this life
}

// found is what the market shows of a window. The zero found: it is not settled.
type found struct {
	from, until time.Time
	findings    []Finding
	err         error
}

// lookAtMarket asks for the next window that is settled.
func (w *Watcher) lookAtMarket(a *shell.Turn) {
	if w.Market == nil || w.look.wait || w.look.asked.Equal(w.now) {
		return
	}
	w.look.wait, w.look.asked = true, w.now
	now, seen := w.now, w.look
	w.Later(a, "look at the market's hosts", func(ctx context.Context) any {
		settled, err := w.Market.Settled(ctx)
		if err != nil || settled.IsZero() {
			return found{err: err}
		}
		m := found{from: seen.until}
		if m.from.IsZero() { // As far back as the record may lack something, and not beyond what is judged.
			m.from = w.Rules.StartOf(now)
			if !seen.slept.IsZero() {
				m.from = w.Rules.StartOf(seen.slept.Add(settled.Sub(now)))
			}
			if oldest := w.Rules.StartOf(now.Add(-w.Rules.TrackingPeriod)); m.from.Before(oldest) {
				m.from = oldest
			}
		}
		if m.until = m.from.Add(w.Rules.WindowLength); m.until.After(settled) {
			return found{}
		}
		// The window before is read again: a reorganisation may have changed it.
		m.findings, m.err = w.Market.Findings(ctx, m.from.Add(-w.Rules.WindowLength), m.until)
		return m
	})
}

// onFound writes what the market shows. Who is seen for the first time is watched from now on.
func (w *Watcher) onFound(a *shell.Turn, m found) {
	w.look.wait = false
	switch {
	case m.err != nil:
		w.Log.Warnf("read from the chain who proved, will try again: %v", m.err)
		return
	case m.until.IsZero():
		return
	}
	w.look.until, w.look.asked = m.until, time.Time{}
	for _, f := range m.findings {
		n := w.nodes[f.Node]
		if n == nil {
			w.submit(a, f.Node, downtime.Join{At: w.now, Rules: w.Rules}, causeLook, nil)
			continue
		}
		n.keep(n.Durable.Revised(f.Audit))
	}
}
