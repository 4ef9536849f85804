package actors

import (
	"cmp"
	"context"
	"errors"

	"github.com/hostnode/hostnode/actors/health"
	"github.com/hostnode/hostnode/actors/port"
	"github.com/hostnode/hostnode/actors/sectors"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/events/sector"
)

// SectorPorts are the interfaces through which a host seals and proves sectors.
type SectorPorts struct {
	Sealer port.Sealer
	Files  port.SectorStore
	Pieces port.PieceSource
	// Chain is the contract of sectors for the market's account, on the market's chain.
	Chain port.ProviderChain
	// Space is what a sector of a padded size takes, as the sealer needs it.
	Space func(size events.Bytes) capacity.Space
}

// ErrNoSectors: this host has no sealer.
var ErrNoSectors = errors.New("this host seals no sectors: set sectors.sealer")

// sectorDeps are what the sectors of a host need; Ports.Sectors must be set.
func (e *env) sectorDeps() sectors.Deps {
	settings := e.Config.Sectors
	settings.Quota = cmp.Or(settings.Quota, e.Quota)
	settings.QuarantineRetry = cmp.Or(settings.QuarantineRetry, e.QuarantineRetry)
	settings.ScrubEvery = cmp.Or(settings.ScrubEvery, e.ScrubEvery)
	settings.ScrubBytesPerSecond = cmp.Or(settings.ScrubBytesPerSecond, e.ScrubBytesPerSecond)
	settings.FinalBlocks = cmp.Or(settings.FinalBlocks, e.FinalBlocks)
	p := e.Ports.Sectors
	return sectors.Deps{
		Base: e.Base, Settings: settings, Sealer: p.Sealer, Files: p.Files, Pieces: p.Pieces, Chain: e.Checked(p.Chain),
		Ledger: e.ledger, Quarantined: e.quarantined, Space: p.Space, Policy: e.SectorPolicy,
		Decide: e.Cores.DecideSector,
		Alert: func(t health.SectorTrouble) {
			e.RaiseCause("sectors-stuck", events.SlotID{}, health.Facts{Sectors: []health.SectorTrouble{t}})
		},
	}
}

// BeginSector begins a sector and returns its number when that is durable. What is wrong with the
// sector or its pieces is events.ErrMalformed or a *sector.Refused. ErrNoSectors; an event
// store that is away is as for Ledger. Repeating it begins another one.
func (h *Host) BeginSector(ctx context.Context, o sectors.Create) (uint64, error) {
	return askSectors[uint64](ctx, h, o)
}

// OrderSector gives an operator's order, and returns the state that the sector is in when what follows is
// durable. sectors.ErrNoSector: there is none, or it is over; *sector.Refused: its state does not
// allow that, and says what it does; quarantine.ErrQuarantined. ErrNoSectors; an event store that is
// away is as for Ledger. shell.ErrPartDown: it may have taken effect.
func (h *Host) OrderSector(ctx context.Context, o sectors.Order) (sector.State, error) {
	return askSectors[sector.State](ctx, h, o)
}

// SectorRules is what the contract of sectors was made with. ErrNoSectors.
func (h *Host) SectorRules(ctx context.Context) (events.SectorConfig, error) {
	if h.env.Ports.Sectors == nil {
		return events.SectorConfig{}, ErrNoSectors
	}
	return h.env.Ports.Sectors.Chain.Config(ctx)
}

// SectorOnChain is what the contract has of a sector at the newest block, and what it was made with. ErrNoSectors.
func (h *Host) SectorOnChain(ctx context.Context, number uint64) (events.SectorOnChain, events.SectorConfig, error) {
	rules, err := h.SectorRules(ctx)
	if err != nil {
		return events.SectorOnChain{}, rules, err
	}
	on, err := h.env.Ports.Sectors.Chain.Sector(ctx, number)
	return on, rules, err
}

// Sectors are all sectors that are not over, by number, and how much of their step is done.
func (h *Host) Sectors(ctx context.Context) ([]sectors.Standing, error) {
	if h.env.Ports.Sectors == nil {
		return nil, ErrNoSectors
	}
	return view[[]sectors.Standing](ctx, h, h.env.sectors, sectors.List{})
}

// HeldPieces are the pieces for whose files the ledger holds bytes, by CID.
func (h *Host) HeldPieces(ctx context.Context) ([]capacity.Piece, error) {
	book, err := h.ViewLedger(ctx)
	return book.Pieces, err
}

func (s *supervisor) newSectors(*shell.Base, int, func(error)) shell.Behavior {
	room := sectors.New(s.sectorDeps())
	s.sectorPools = room.Pools()
	return room
}

func askSectors[T any](ctx context.Context, h *Host, msg any) (none T, err error) {
	if h.env.Ports.Sectors == nil {
		return none, ErrNoSectors
	}
	return command[T](ctx, h, h.env.sectors, msg)
}
