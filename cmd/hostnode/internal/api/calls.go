package api

import (
	"context"
	"maps"
	"net/http"
	"slices"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/projections"
)

// This file is the API: each thing that a host can be asked or told, in one place. Machines bring further calls
// (Machine.Calls). The list in doc.go is that of calls.

// The questions about how things are, or were.
var (
	ShowStatus = Question("status", "Whether the host sells and proves, why not, and how all of its parts are",
		plain[Past, Then](Past.Status))
	ShowLedger  = Question("ledger", "How the quota is used", plain[Past, Then](Past.Ledger))
	ShowQueue   = Question("queue", "The slot queue", plain[Past, Then](Past.Queue))
	ListMembers = Question("members", "The processes that together are the host", plain[Past, Then](Past.Members))
	ListSales   = Question("sales", "The open sales and the newest settled ones, the newest first", Past.Sales)
	ShowSale    = Question("sales/{slot}", "What was done with a slot and why, also if it was not sold",
		func(p Past, ctx context.Context, q OfSlot) (Story, error) { return p.Sale(ctx, q.Slot) })
	ListSectors = Question("sectors", "All sectors, those that need a person first",
		plain[SectorReader, Then](SectorReader.Sectors))
	ListFaults = Question("sectors/faults", "The sectors with a fault that is not recovered",
		plain[SectorReader, Then](SectorReader.SectorFaults))
	ShowSector = Question("sectors/{number}", "One sector",
		func(r SectorReader, ctx context.Context, q OfSector) (Sector, error) { return r.Sector(ctx, q.Number) })
	ShowTimeline = Question("sectors/{number}/timeline", "A page of the events of a sector",
		func(r SectorReader, ctx context.Context, q TimelineQuestion) (SectorTimeline, error) {
			return r.SectorTimeline(ctx, q.Number, projections.Page{From: q.From, Most: q.Most})
		})
	ListSettingChanges = Question("settings/history", "What starts found changed in the settings, the newest first",
		SettingsReader.SettingChanges)
)

// The reports: money, duties and the queue, a page at a time.
var (
	ShowEarnings = Question("earnings", "What was earned, and may be", plain[Reports, Then](Reports.Earnings))
	ListDays     = Question("earnings/days", "Earnings by day of chain time, the newest first",
		func(r Reports, ctx context.Context, q PageQuestion) (EarningsByDay, error) {
			return r.EarningsByDay(ctx, q.Paging)
		})
	ListSlotEarnings         = Question("earnings/slots", "Earnings by attempt at a slot", Reports.EarningsBySlot)
	ListAvailabilityEarnings = Question("earnings/availabilities", "Earnings by availability",
		func(r Reports, ctx context.Context, q PageQuestion) (EarningsByAvailability, error) {
			return r.EarningsByAvailability(ctx, q.Paging)
		})
	ListDuties  = Question("duties", "What is owed on chain and by when, the soonest deadline first", Reports.Duties)
	ListPeriods = Question("duties/periods", "How many proofs were due, made and missed, by period",
		func(r Reports, ctx context.Context, q PageQuestion) (Periods, error) { return r.Periods(ctx, q.Paging) })
	ListTransactions = Question("transactions", "The account's transactions, the newest first", Reports.Transactions)
	ListProofs       = Question("proofs", "The proofs that slots owed, the newest period first", Reports.Proofs)
	ListQueued       = Question("queue/slots", "The slots that wait, with their places and what they wait for",
		Reports.QueuedSlots)
	ShowPrices = Question("prices", "What clients asked for lately, and what the availabilities match of it",
		Reports.Prices)
	PreviewOffer = Inspect("availabilities/preview", "How many of the newest requests an offer would match",
		Reports.PreviewOffer)
	ShowDry = Question("dry", "What a dry run would have sold, at most", plain[Reports, Then](Reports.Dry))
)

// AllSales asks for sales page by page, until it has all.
func AllSales(ctx context.Context, b Backend, q SalesQuestion) (all Sales, err error) {
	for q.Limit = MaxPage; ; q.Cursor = all.Next {
		some, err := ListSales.Ask(ctx, b, q)
		some.Sales = append(all.Sales, some.Sales...)
		for slot, expected := range all.Expected {
			some.expect(slot, expected)
		}
		if all = some; err != nil || all.Next == "" || all.Next == q.Cursor { // A list that goes nowhere is at its end.
			return all, err
		}
	}
}

// What is asked about each machine alike (streams.go).
var (
	ListMachines = Question("machines", "The machines of the host, and how many of each are in which state",
		Streams.ListMachines).ofRecord()
	ListRows   = Question("machines/{machine}", "What the view of a machine shows", Streams.ListRows).ofRecord()
	ListEvents = Inspect("streams/{stream}/events", "The events of one stream: what each says, and as it is stored",
		Streams.ListEvents)
	ListRecord = Inspect("events", "The events of the host, of all streams or of one machine", Streams.ListRecord)
)

// What is asked of the present only, or of the whole record.
var (
	ListAvailabilities = Inspect("availabilities", "What is put up for sale", plain[Past, None](Past.Ledger))
	ListQuarantine     = Inspect("quarantine", "The work that the host leaves alone after failures",
		plain[QuarantineReader, None](QuarantineReader.Quarantine))
	ListPieces = Inspect("pieces", "The pieces that the host keeps",
		plain[SectorOrders, None](SectorOrders.Pieces)).long()
	ListAlerts   = Inspect("alerts", "What needs a person now, and what was told lately", (*Live).ListAlerts)
	ListChecks   = Inspect("checks", "The checks that run or wait, and the newest that are over", (*Live).ListChecks)
	ShowCheck    = Inspect("checks/{id}", "How far a check has come, and what it found", (*Live).ShowCheck)
	RunAudit     = Inspect("audit", "Replay all streams, and say what is wrong with them", Inspector.Audit).long()
	ListSettings = Inspect("settings", "The settings, and where their values come from",
		plain[SettingsReader, None](SettingsReader.Settings))

	ReplayStream = Inspect("streams/{stream}", "The state of a stream's machine, now or then", Inspector.Replay).long()
)

// The orders.
var (
	AddAvailability = Order(http.MethodPost, "availabilities", "Put space up for sale",
		func(s Seller, ctx context.Context, q Sent[Offer]) (projections.Availability, error) {
			return s.AddAvailability(ctx, q.Body)
		})
	SetAvailability = Order(http.MethodPatch, "availabilities/{id}", "Change an availability",
		func(s Seller, ctx context.Context, q ChangesOf) (projections.Availability, error) {
			return s.SetAvailability(ctx, q.ID, q.Body)
		})
	RemoveAvailability = Order(http.MethodDelete, "availabilities/{id}", "Take an availability away",
		func(s Seller, ctx context.Context, q OfAvailability) (Removed, error) {
			id, err := s.RemoveAvailability(ctx, q.ID)
			return Removed{id}, err
		})
	PauseQueue = Order(http.MethodPost, "queue/pause", "Take no more slots",
		func(s Seller, ctx context.Context, q Sent[Why]) (Queue, error) {
			return s.PauseQueue(ctx, q.Body.Reason)
		})
	ResumeQueue = Order(http.MethodPost, "queue/resume", "Take slots again",
		func(s Seller, ctx context.Context, q Sent[Why]) (Queue, error) {
			return s.ResumeQueue(ctx, q.Body.Reason)
		})
	TryAgain = Order(http.MethodPost, "quarantine/retry", "Try work again that the host leaves alone",
		(*Live).TryAgain) // Only a running host can.
	BeginCheck = Order(http.MethodPost, "checks", "Read all data of a slot or a sector, and see whether it is sound",
		(*Live).BeginCheck)
	CancelCheck = Order(http.MethodDelete, "checks/{id}", "End a check; what it has found stays reported",
		(*Live).CancelCheck)
	MakeBackup = Order(http.MethodPost, "backup", "Copy the embedded event store into an empty directory",
		func(i Inspector, ctx context.Context, q Sent[IntoDir]) (Backup, error) {
			return i.Backup(ctx, q.Body.Dir)
		}).long()

	ImportPiece = Order(http.MethodPost, "pieces", "Store a file of the host's machine as a piece",
		func(s SectorOrders, ctx context.Context, q Sent[OfFile]) (Piece, error) {
			return s.ImportPiece(ctx, q.Body.Path)
		}).long()
	RemovePiece = Order(http.MethodDelete, "pieces/{cid}", "Remove a piece that no sector needs",
		func(s SectorOrders, ctx context.Context, q OfPiece) (StoredPiece, error) {
			return s.RemovePiece(ctx, q.CID)
		})
	BeginSector = Order(http.MethodPost, "sectors", "Begin a sector, with all of its pieces or without any",
		func(s SectorOrders, ctx context.Context, q Sent[NewSector]) (Numbered, error) {
			n, err := s.BeginSector(ctx, q.Body)
			return Numbered{n}, err
		})
	PlacePiece = Order(http.MethodPost, "sectors/pieces", "Add a piece to the first sector that has room, or begin one",
		func(s SectorOrders, ctx context.Context, q Sent[Placing]) (Sector, error) {
			return s.PlacePiece(ctx, q.Body)
		})
	sectorOrders = orders(map[Verb]string{
		VerbAddPiece: "Add a piece to a sector", VerbDropPiece: "Take a piece out of a sector",
		VerbPack: "Seal a sector as it is", VerbRetry: "Try again what failed",
		VerbForce: "Set the state of a sector", VerbTerminate: "End a sector before its time",
		VerbRemove: "Remove what is left of a sector",
	})
)

// Calls are all of them.
func Calls() []Route {
	all := []Route{
		ShowStatus, ShowLedger, ListAvailabilities, AddAvailability, SetAvailability, RemoveAvailability, ListSales,
		ShowSale, ShowQueue, ListMembers, PauseQueue, ResumeQueue, MakeBackup, ListQuarantine, TryAgain, ListSectors,
		ListFaults, ShowSector, ShowTimeline, ListPieces, ImportPiece, RemovePiece, BeginSector, PlacePiece, RunAudit,
		ReplayStream, ListMachines, ListRows, ListEvents, ListRecord,
		watching{},
		ShowEarnings, ListDays,
		ListSlotEarnings, ListAvailabilityEarnings, ListDuties, ListPeriods, ListTransactions, ListProofs, ListQueued,
		ShowPrices, PreviewOffer, ShowDry,
		ListAlerts, BeginCheck, ListChecks, ShowCheck, CancelCheck, ListSettings, ListSettingChanges,
	}
	for _, verb := range slices.Sorted(maps.Keys(sectorOrders)) {
		all = append(all, sectorOrders[verb])
	}
	return all
}

type sectorCall = Call[SectorOrders, OrderOf, Sector]

// orders are the orders about one sector; each verb is the last part of a path.
func orders(verbs map[Verb]string) map[Verb]sectorCall {
	all := map[Verb]sectorCall{}
	for verb, says := range verbs {
		all[verb] = Order(http.MethodPost, "sectors/{number}/"+string(verb), says,
			func(s SectorOrders, ctx context.Context, q OrderOf) (Sector, error) {
				return s.OrderSector(ctx, q.Number, verb, q.Body)
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
	// SalesQuestion says how many settled sales are listed, at most MaxSettled, in which state all are, and with what
	// the id of their request begins; empty: any.
	SalesQuestion struct {
		Then
		Paging
		Settled int    `query:"settled" default:"20"`
		State   string `query:"state"`
		Request string `query:"request"`
	}
	// OfSlot names a slot; the beginning of its id is enough.
	OfSlot struct {
		Then
		Slot string `path:"slot"`
	}
	// OfSector names a sector.
	OfSector struct {
		Then
		Number uint64 `path:"number"`
	}
	// TimelineQuestion is a page of a sector's events: at most Most of them, from a revision.
	TimelineQuestion struct {
		Then
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
		ID   string `path:"id"`
		Body Changes
	}
	// Why is why an operator does something.
	Why struct {
		Reason string `json:"reason,omitempty"`
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
		Number uint64 `path:"number"`
		Body   SectorOrder
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
	// Figures are those that it adds to /metrics, and Measure puts them; nil: it adds none. Its rows, their states and
	// its events are there without it.
	Figures []*Figure
	Measure func(Reading, Put)
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
