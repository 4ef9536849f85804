package actors

import (
	"context"
	"fmt"

	"github.com/hostnode/hostnode/actors/checks"
	"github.com/hostnode/hostnode/actors/port"
	"github.com/hostnode/hostnode/actors/sectors"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
)

// This file joins the checks of single slots and sectors to what they read, and to what is told of damage.

// Checks are the checks of single slots and sectors that operators ask for.
func (h *Host) Checks() *checks.Checks { return h.checks }

func newChecks(h *Host, cfg Config, repo port.Repo) *checks.Checks {
	return checks.New(checks.Deps{
		Base: h.base, BytesPerSecond: cfg.ScrubBytesPerSecond, Slot: repo.Check, Kept: h.kept,
		Sector: func(ctx context.Context, part sectors.Check) (sectors.Checked, error) {
			return view[sectors.Checked](ctx, h, h.sectors, part)
		},
		Damage: func(slot events.SlotID, d events.DamageError) { h.supervisor.Tell(scrubFound{slot, d, "a check"}) },
	})
}

// kept returns an error unless this process must have the data of a slot or a sector.
func (h *Host) kept(ctx context.Context, of checks.Subject) error {
	if err := h.started(ctx); err != nil {
		return err
	}
	if of.Sector == 0 {
		_, err := await(ctx, h, shell.AskActor[struct{}](h.supervisor, keepsData{of.Slot}))
		return err
	}
	if h.sectorPorts == nil {
		return ErrNoSectors
	}
	one, err := view[sectors.Standing](ctx, h, h.sectors, sectors.Show{Number: of.Sector})
	if err != nil {
		return err
	}
	return sectors.AtRest(one.Info)
}

// keepsData asks whether a sale of this process must have the data of a slot.
type keepsData struct{ slot events.SlotID }

func (s *roster) keepsData(slot events.SlotID) error {
	switch ag := s.agents[slot]; {
	case ag == nil:
		return fmt.Errorf("%w: no sale needs slot %s", sectors.ErrNotAtRest, slot.Short())
	case ag.remote != "":
		return fmt.Errorf("%w: slot %s is with member %s: ask that one", sectors.ErrNotAtRest, slot.Short(), ag.remote)
	case !ag.state.KeepsData():
		return fmt.Errorf("%w: the sale of slot %s is in phase %s", sectors.ErrNotAtRest, slot.Short(), ag.state.Phase)
	}
	return nil
}
