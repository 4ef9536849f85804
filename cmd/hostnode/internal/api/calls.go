package api

import (
	"context"
	"net/http"
	"slices"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/projections"
)

// This file is the API: each thing that a host can be asked or told, in one place. Machines bring further calls
// (Machine.Calls). The list in doc.go is that of calls.

// The questions about how things are, or were.
var (
	ShowStatus  = Question("status", plain(Past.Status))
	ShowLedger  = Question("ledger", plain(Past.Ledger))
	ShowQueue   = Question("queue", plain(Past.Queue))
	ListMembers = Question("members", plain(Past.Members))
	ListSales   = Question("sales", func(p Past, ctx context.Context, q SalesQuestion) (Sales, error) {
		return p.Sales(ctx, q.Settled)
	})
	ShowSale = Question("sales/{slot}", func(p Past, ctx context.Context, q OfSlot) (Story, error) {
		return p.Sale(ctx, q.Slot)
	})
	ListSectors = Question("sectors", plain(SectorReader.Sectors))
	ListFaults  = Question("sectors/faults", plain(SectorReader.SectorFaults))
	ShowSector  = Question("sectors/{number}", func(r SectorReader, ctx context.Context, q OfSector) (Sector, error) {
		return r.Sector(ctx, q.Number)
	})
	ShowTimeline = Question("sectors/{number}/timeline", func(
		r SectorReader, ctx context.Context, q TimelineQuestion,
	) (SectorTimeline, error) {
		return r.SectorTimeline(ctx, q.Number, projections.Page{From: q.From, Most: q.Most})
	})
)

// What is asked of the present only, or of the whole record.
var (
	ListAvailabilities = Inspect("availabilities", plain(Past.Ledger))
	ListQuarantine     = Inspect("quarantine", plain(QuarantineReader.Quarantine))
	ListPieces         = Inspect("pieces", plain(SectorOrders.Pieces)).long()
	RunAudit           = Inspect("audit", Inspector.Audit).long()
	ReplayStream       = Inspect("replay", Inspector.Replay).long()
)

// The orders.
var (
	AddAvailability = Order(http.MethodPost, "availabilities", Seller.AddAvailability)
	SetAvailability = Order(http.MethodPatch, "availabilities/{id}", func(
		s Seller, ctx context.Context, q ChangesOf,
	) (projections.Availability, error) {
		return s.SetAvailability(ctx, q.ID, q.Changes)
	})
	RemoveAvailability = Order(http.MethodDelete, "availabilities/{id}", func(
		s Seller, ctx context.Context, q OfAvailability,
	) (Removed, error) {
		id, err := s.RemoveAvailability(ctx, q.ID)
		return Removed{id}, err
	})
	PauseQueue = Order(http.MethodPost, "queue/pause", func(s Seller, ctx context.Context, q Why) (Queue, error) {
		return s.PauseQueue(ctx, q.Reason)
	})
	ResumeQueue = Order(http.MethodPost, "queue/resume", func(s Seller, ctx context.Context, q Why) (Queue, error) {
		return s.ResumeQueue(ctx, q.Reason)
	})
	TryAgain   = Order(http.MethodPost, "quarantine/retry", (*Live).TryAgain) // Only a running host can.
	MakeBackup = Order(http.MethodPost, "backup", func(i Inspector, ctx context.Context, q IntoDir) (Backup, error) {
		return i.Backup(ctx, q.Dir)
	}).long()

	ImportPiece = Order(http.MethodPost, "pieces", func(s SectorOrders, ctx context.Context, q OfFile) (Piece, error) {
		return s.ImportPiece(ctx, q.Path)
	}).long()
	RemovePiece = Order(http.MethodDelete, "pieces/{cid}", func(
		s SectorOrders, ctx context.Context, q OfPiece,
	) (StoredPiece, error) {
		return s.RemovePiece(ctx, q.CID)
	})
	BeginSector = Order(http.MethodPost, "sectors", func(
		s SectorOrders, ctx context.Context, q NewSector,
	) (Numbered, error) {
		n, err := s.BeginSector(ctx, q)
		return Numbered{n}, err
	})
	PlacePiece   = Order(http.MethodPost, "sectors/pieces", SectorOrders.PlacePiece)
	sectorOrders = orders(VerbAddPiece, VerbDropPiece, VerbPack, VerbRetry, VerbForce, VerbTerminate, VerbRemove)
)

// Calls are all of them.
func Calls() []Route {
	all := []Route{
		ShowStatus, ShowLedger, ListAvailabilities, AddAvailability, SetAvailability, RemoveAvailability, ListSales,
		ShowSale, ShowQueue, ListMembers, PauseQueue, ResumeQueue, MakeBackup, ListQuarantine, TryAgain, ListSectors,
		ListFaults, ShowSector, ShowTimeline, ListPieces, ImportPiece, RemovePiece, BeginSector, PlacePiece, RunAudit,
		ReplayStream,
	}
	for _, order := range sectorOrders {
		all = append(all, order)
	}
	return all
}

type sectorCall = Call[SectorOrders, OrderOf, Sector]

// orders are the orders about one sector; each verb is the last part of a path.
func orders(verbs ...Verb) map[Verb]sectorCall {
	all := map[Verb]sectorCall{}
	for _, verb := range verbs {
		all[verb] = Order(http.MethodPost, "sectors/{number}/"+string(verb), func(
			s SectorOrders, ctx context.Context, q OrderOf,
		) (Sector, error) {
			return s.OrderSector(ctx, q.Number, verb, q.SectorOrder)
		})
	}
	return all
}

// OrderSector is the order about a sector that a verb stands for.
func OrderSector(verb Verb) Call[SectorOrders, OrderOf, Sector] { return sectorOrders[verb] }

// What counts if a question does not say it.
const (
	DefaultSettled = 20
	DefaultMoments = 100
)

// The questions of the calls.
type (
	// SalesQuestion says how many settled sales are listed, at most MaxSettled.
	SalesQuestion struct {
		Settled int `query:"settled" default:"20"`
	}
	// OfSlot names a slot; the beginning of its id is enough.
	OfSlot struct {
		Slot string `path:"slot"`
	}
	// OfSector names a sector.
	OfSector struct {
		Number uint64 `path:"number"`
	}
	// TimelineQuestion is a page of a sector's events: at most Most of them, from a revision.
	TimelineQuestion struct {
		Number uint64 `path:"number"`
		From   uint64 `query:"from"`
		Most   int    `default:"100"  query:"most"`
	}
	// OfAvailability names one; the beginning of its id is enough.
	OfAvailability struct {
		ID string `path:"id"`
	}
	// ChangesOf are changes of one availability.
	ChangesOf struct {
		ID string `json:"-" path:"id"`
		Changes
	}
	// Why is why an operator does something.
	Why struct {
		Reason string `json:"reason"`
	}
	// OfWork names a piece of quarantined work.
	OfWork struct {
		Work string `json:"work"`
	}
	// IntoDir is where a backup is made: an absolute path.
	IntoDir struct {
		Dir string `json:"dir"`
	}
	// OfFile names a file on the host's machine.
	OfFile struct {
		Path string `json:"path"`
	}
	// OfPiece names a piece.
	OfPiece struct {
		CID string `path:"cid"`
	}
	// OrderOf is an order about one sector.
	OrderOf struct {
		Number uint64 `json:"-" path:"number"`
		SectorOrder
	}
)

// Answers that are not what something is.
type (
	// Removed says which availability is gone.
	Removed struct {
		ID string `json:"id"`
	}
	// Numbered has the number of a new sector.
	Numbered struct {
		Number uint64 `json:"number"`
	}
)

// Machine is what a further machine of the host answers (docs/architecture.md, "How to add a machine").
type Machine struct {
	Calls []Route
	// Reads makes what answers the questions, from the record; nil: nothing does.
	Reads func(Reading) any
}

// Reading is what a machine's questions are answered from: the record as it is, or as it was.
type Reading struct {
	AsOf    AsOf
	Account events.Address
	Store   events.Store
	Until   projections.Until // which events count; nil: all
	DataDir string            // with files of which the record says what they are
	// Rows are those of this host in a machine's own view (projections/catalog), for RowsOf.
	Rows func(category string) any
}

// RowsOf are the rows of this host in a machine's own view, of the type that the view has.
func RowsOf[R any](r Reading, category string) []R {
	rows, _ := r.Rows(category).([]R)
	return rows
}

func calls(b Backend) []Route {
	all := Calls()
	if local, ok := b.(here); ok {
		for _, m := range local.machines() {
			all = slices.Concat(all, m.Calls)
		}
	}
	return all
}
