package audit

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/snapshot"
	"github.com/hostnode/hostnode/projections/internal/saved"
)

// A checkpoint is the state of an audit at a position, in a file (snapshot.File). It may be
// deleted. If it is damaged, or of another build, another store or other options, it is ignored,
// and the audit begins at the first event.
const (
	// DefaultCheckpointEvery is after how many events a checkpoint is written:
	// reading so many takes some seconds, writing the state less than one.
	DefaultCheckpointEvery = 1_000_000
	// checkpointSchema is the version of what state walks through. Every change of its form needs
	// a new version, and a test demands it (testdata/shape.golden). A change of the rules
	// makes a checkpoint useless in any case.
	checkpointSchema = 22
	// maxCheckpointBytes is the largest file that is read: with a larger one it
	// is better to begin again.
	maxCheckpointBytes = 4 << 30
)

// file is the checkpoint of this audit. Its schema names all that the state depends on beside the events: the
// rules, including the table of phases, so that the numbers of phases are those of this build, and the options.
func (a *auditor) file() snapshot.File {
	rules := sha256.New()
	fmt.Fprintf(rules, "%+v %v %v %v %v", Rules(), table, phases, sectorTable, stepsOfState)
	o, views := a.options, "none"
	if a.views != nil {
		views = a.views.Scope().Schema()
	}
	return snapshot.File{
		Path: o.Checkpoint, Most: maxCheckpointBytes,
		Schema: fmt.Sprintf("hostnode-audit/%d %s, rules %x, from %d, %d findings, filter %d, chain %t, views %s",
			checkpointSchema, saved.Forms, rules.Sum(nil)[:8], o.From, o.MaxFindings, o.filterBits, o.Chain != nil,
			views),
	}
}

// save writes the checkpoint, if anything was read.
func (a *auditor) save() error {
	if a.last.Position == 0 {
		return nil
	}
	state, err := snapshot.Encode(a.state)
	if err == nil {
		err = a.file().Save(a.last, state)
	}
	if err != nil {
		return fmt.Errorf("save the checkpoint of the audit: %w", err)
	}
	return nil
}

// resume returns the audit of a checkpoint; or nil, with the reason if there is
// one that cannot be used.
func resume(ctx context.Context, store events.Store, o Options) (a *auditor, ignored string) {
	a = newAuditor(o)
	found, err := a.file().Load(ctx, store, a.state)
	if why := errors.Join(append(found.Ignored, err)...); why != nil {
		return nil, why.Error()
	}
	if !found.Usable {
		return nil, ""
	}
	a.report.ContinuedFrom = a.report.AsOf
	return a, ""
}

// state writes the whole state of the audit, or reads it into a new one. Of the audit's own types those fields
// belong to it that have exported names.
func (a *auditor) state(c *snapshot.Coder) {
	hosts := make([]string, len(a.hosts))
	for _, h := range a.hosts {
		hosts[h.number] = h.Address
	}
	streams := sortedKeys(a.streams)
	c.Parts(append(a.parts(), &hosts, &streams)...)
	for _, address := range hosts {
		h := a.host(address)
		if c.Parts(h); c.Reading() {
			a.claims += len(h.Money.Claims) + len(h.Denials)
			a.trades(h)
		}
	}
	for _, name := range streams {
		s := a.streams[name]
		if s == nil {
			s = a.makeStream(name)
			a.streams[name] = s
		}
		s.parts(c)
	}
	if a.views != nil {
		a.views.State(c)
	}
}

// parts are those that belong to no host.
func (a *auditor) parts() []any {
	return []any{&a.report, &a.resting, a.ids, &a.txs, &a.damage, &a.now, &a.newest, &a.last}
}

// parts writes or reads a stream with its sale or its sector.
func (s *stream) parts(c *snapshot.Coder) {
	form := s.judge == nil // It is checked for its form only.
	if c.Parts(s, &form); form {
		s.judge = nil
	}
	if l := s.life; l != nil {
		runs := l.account != nil
		if c.Parts(l, &runs); runs {
			l.account = cmp.Or(l.account, &account{})
			c.Parts(l.account)
		}
	}
	if s.sector != nil {
		c.Parts(s.sector)
	}
	if s.own != nil {
		c.Parts(s.own.State())
	}
}

// keepViews folds an event into the views, and prints them at the position of
// the given ones. With a checkpoint they are folded further, for the next audit
// to compare. An event that could not be decoded has no message.
func (a *auditor) keepViews(r events.Recorded, m proto.Message) {
	if a.views == nil {
		return
	}
	if r.Position > a.options.Views.AsOf {
		a.printViews()
		if a.options.Checkpoint == "" {
			return
		}
	}
	a.views.ApplyDecoded(r, m)
}

// printViews prints the rebuilt views, once.
func (a *auditor) printViews() {
	if a.rebuilt == nil && a.views.AsOf() <= a.options.Views.AsOf {
		printed, err := a.views.Snapshot()
		a.rebuilt, a.unprinted = &printed, err
	}
}

// endOfViews compares the views with those that the record makes.
func (a *auditor) endOfViews() {
	if a.views == nil {
		return
	}
	given := a.options.Views
	if given.AsOf > a.report.AsOf {
		a.find(ViewDiffers, place{Position: given.AsOf},
			"the views are as of log position %d, the store ends at %d", given.AsOf, a.report.AsOf)
		return
	}
	a.printViews()
	switch {
	case a.rebuilt == nil:
		a.find(AuditIncomplete, place{Position: given.AsOf},
			"the views are as of log position %d, before the checkpoint; they were not compared", given.AsOf)
		return
	case a.unprinted != nil:
		a.find(AuditIncomplete, place{Position: given.AsOf}, "the views cannot be printed: %v", a.unprinted)
		return
	}
	byName := map[string]string{}
	for _, t := range given.Tables {
		byName[t.Name] = string(t.JSON)
	}
	for _, t := range a.rebuilt.Tables {
		if byName[t.Name] != string(t.JSON) {
			a.cross(ViewDiffers, place{Position: given.AsOf},
				"the view %s is not what the events up to log position %d say; rebuild the views", t.Name, given.AsOf)
		}
	}
}
