package api_test

import (
	"context"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/api"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/replay"
	"github.com/hostnode/hostnode/projections"
)

// asking is a backend that is asked by calls, as commands ask it.
type asking struct{ api.Backend }

func (a asking) At(ctx context.Context, when api.When) (asking, error) {
	past, err := a.Backend.At(ctx, when)
	return asking{past}, err
}

func (a asking) Status(ctx context.Context) (api.Status, error) {
	return api.ShowStatus.Ask(ctx, a.Backend, api.Then{})
}

func (a asking) Ledger(ctx context.Context) (api.Ledger, error) {
	return api.ShowLedger.Ask(ctx, a.Backend, api.Then{})
}

func (a asking) Queue(ctx context.Context) (api.Queue, error) {
	return api.ShowQueue.Ask(ctx, a.Backend, api.Then{})
}

func (a asking) Members(ctx context.Context) (api.Members, error) {
	return api.ListMembers.Ask(ctx, a.Backend, api.Then{})
}

func (a asking) Sales(ctx context.Context, settled int) (api.Sales, error) {
	return api.ListSales.Ask(ctx, a.Backend, api.SalesQuestion{Settled: settled})
}

func (a asking) Sale(ctx context.Context, slot string) (api.Story, error) {
	return api.ShowSale.Ask(ctx, a.Backend, api.OfSlot{Slot: slot})
}

func (a asking) Sectors(ctx context.Context) (api.Sectors, error) {
	return api.ListSectors.Ask(ctx, a.Backend, api.Then{})
}

func (a asking) Sector(ctx context.Context, n uint64) (api.Sector, error) {
	return api.ShowSector.Ask(ctx, a.Backend, api.OfSector{Number: n})
}

func (a asking) SectorTimeline(ctx context.Context, n uint64, page projections.Page) (api.SectorTimeline, error) {
	return api.ShowTimeline.Ask(ctx, a.Backend, api.TimelineQuestion{Number: n, From: page.From, Most: page.Most})
}

func (a asking) SectorFaults(ctx context.Context) (api.SectorFaults, error) {
	return api.ListFaults.Ask(ctx, a.Backend, api.Then{})
}

func (a asking) AddAvailability(ctx context.Context, o api.Offer) (projections.Availability, error) {
	return api.AddAvailability.Ask(ctx, a.Backend, api.Send(o))
}

func (a asking) SetAvailability(ctx context.Context, id string, to api.Changes) (projections.Availability, error) {
	return api.SetAvailability.Ask(ctx, a.Backend, api.ChangesOf{ID: id, Body: to})
}

func (a asking) PauseQueue(ctx context.Context, why string) (api.Queue, error) {
	return api.PauseQueue.Ask(ctx, a.Backend, api.Send(api.Why{Reason: why}))
}

func (a asking) ResumeQueue(ctx context.Context, why string) (api.Queue, error) {
	return api.ResumeQueue.Ask(ctx, a.Backend, api.Send(api.Why{Reason: why}))
}

func (a asking) Quarantine(ctx context.Context) (api.Quarantine, error) {
	return api.ListQuarantine.Ask(ctx, a.Backend, api.None{})
}

func (a asking) TryAgain(ctx context.Context, work string) (api.Quarantine, error) {
	return api.TryAgain.Ask(ctx, a.Backend, api.Send(api.OfWork{Work: work}))
}

func (a asking) Audit(ctx context.Context, o api.AuditOptions) (api.Audit, error) {
	return api.RunAudit.Ask(ctx, a.Backend, o)
}

func (a asking) Replay(ctx context.Context, q api.ReplayQuestion) (replay.Result, error) {
	return api.ReplayStream.Ask(ctx, a.Backend, q)
}

func (a asking) Backup(ctx context.Context, dir string) (api.Backup, error) {
	return api.MakeBackup.Ask(ctx, a.Backend, api.Send(api.IntoDir{Dir: dir}))
}

func (a asking) ImportPiece(ctx context.Context, path string) (api.Piece, error) {
	return api.ImportPiece.Ask(ctx, a.Backend, api.Send(api.OfFile{Path: path}))
}

func (a asking) Pieces(ctx context.Context) (api.Pieces, error) {
	return api.ListPieces.Ask(ctx, a.Backend, api.None{})
}

func (a asking) RemovePiece(ctx context.Context, cid string) (api.StoredPiece, error) {
	return api.RemovePiece.Ask(ctx, a.Backend, api.OfPiece{CID: cid})
}

func (a asking) PlacePiece(ctx context.Context, p api.Placing) (api.Sector, error) {
	return api.PlacePiece.Ask(ctx, a.Backend, api.Send(p))
}

func (a asking) RemoveAvailability(ctx context.Context, id string) (string, error) {
	gone, err := api.RemoveAvailability.Ask(ctx, a.Backend, api.OfAvailability{ID: id})
	return gone.ID, err
}

func (a asking) BeginSector(ctx context.Context, s api.NewSector) (uint64, error) {
	begun, err := api.BeginSector.Ask(ctx, a.Backend, api.Send(s))
	return begun.Number, err
}

func (a asking) OrderSector(ctx context.Context, n uint64, v api.Verb, o api.SectorOrder) (api.Sector, error) {
	return api.OrderSector(v).Ask(ctx, a.Backend, api.OrderOf{Number: n, Body: o})
}
