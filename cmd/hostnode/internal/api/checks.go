package api

import (
	"context"
	"fmt"
	"time"

	"github.com/hostnode/hostnode/actors/checks"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/problem"
	"github.com/hostnode/hostnode/events"
)

// ToCheck names what is to be checked: a slot or a sector.
type ToCheck struct {
	Slot   string `json:"slot,omitempty"` // the beginning of its id is enough
	Sector uint64 `json:"sector,omitempty"`
}

// OfCheck names a check.
type OfCheck struct {
	ID string `path:"id"`
}

// Check is the reading of all data of one slot or sector, on demand. Only the running host remembers it.
type Check struct {
	ID     string `json:"id"`
	Slot   string `json:"slot,omitempty"`
	Sector uint64 `json:"sector,omitempty"`
	// State is waiting, running, fine, damaged, proofWrong, failed or cancelled; the last five are outcomes.
	State checks.State `json:"state"`
	Over  bool         `json:"over"`
	Asked time.Time    `json:"asked"`
	Began time.Time    `json:"began,omitzero"`
	Ended time.Time    `json:"ended,omitzero"`
	// Done bytes of Of were read; Of is 0 until the first are.
	Done events.Bytes `json:"done"`
	Of   events.Bytes `json:"of"`
	// DamagedBlocks is how many blocks of a slot are damaged, of which Blocks are the first.
	DamagedBlocks uint64   `json:"damagedBlocks,omitempty"`
	Blocks        []uint64 `json:"blocks,omitempty"`
	// Reason says what is damaged, and why the outcome is not fine.
	Reason string `json:"reason,omitempty"`
	// Proves is what a proof of the sector shows that was made and verified: possession or simulated.
	Proves string `json:"proves,omitempty"`
}

// Checks are those that are not over, and the newest ones that are, newest first.
type Checks struct {
	AsOf   AsOf    `json:"asOf"`
	Checks []Check `json:"checks"`
}

func checkOf(c checks.Check, err error) (Check, error) {
	out := Check{
		ID: c.ID, Sector: c.Sector, State: c.State, Over: c.State.Over(), Asked: c.Asked.UTC(), Began: c.Began.UTC(),
		Ended: c.Ended.UTC(), Done: c.Done, Of: c.Of, DamagedBlocks: c.Found, Blocks: c.Blocks, Reason: c.Reason,
		Proves: c.Proves,
	}
	if c.Sector == 0 {
		out.Slot = c.Slot.String()
	}
	return out, err
}

// BeginCheck begins a check, or returns the one of the same subject that is not over.
func (l *Live) BeginCheck(ctx context.Context, q Sent[ToCheck]) (Check, error) {
	of := checks.Subject{Sector: q.Body.Sector}
	var err error
	switch {
	case (q.Body.Slot != "") == (of.Sector != 0):
		err = fmt.Errorf("%w: name a slot or a sector", problem.ErrBadRequest)
	case of.Sector != 0:
		_, err = l.reader.Sector(ctx, of.Sector)
	default:
		of.Slot, _, err = l.attempts(q.Body.Slot)
	}
	if err != nil {
		return Check{}, err
	}
	return checkOf(l.cfg.Host.Checks().Begin(ctx, of))
}

// ListChecks lists the checks that are remembered.
func (l *Live) ListChecks(context.Context, None) (Checks, error) {
	all := Checks{AsOf: l.asOf(), Checks: []Check{}}
	for _, c := range l.cfg.Host.Checks().All() {
		one, _ := checkOf(c, nil)
		all.Checks = append(all.Checks, one)
	}
	return all, nil
}

// ShowCheck shows one of them.
func (l *Live) ShowCheck(_ context.Context, q OfCheck) (Check, error) {
	return checkOf(l.cfg.Host.Checks().Of(q.ID))
}

// CancelCheck ends a check, unless it is over.
func (l *Live) CancelCheck(_ context.Context, q OfCheck) (Check, error) {
	return checkOf(l.cfg.Host.Checks().Cancel(q.ID))
}
