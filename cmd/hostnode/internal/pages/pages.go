// Package pages is what a host shows in a browser (package page): one function for each page, which asks the API and
// makes blocks of the answer. The machines of package machines bring pages of their own, in their folders; each machine
// has a list of its rows and a page for each stream without a line (records.go).
package pages

import (
	"slices"
	"strconv"
	"time"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/api"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/page"
)

// The parts of the menu, in their order.
const (
	menuHost   = page.MenuHost
	menuSlots  = "Slots"
	menuMoney  = "Money"
	menuOthers = page.MenuMachines
	menuSystem = "System"
)

// All are the pages of a host, with those that its machines bring.
func All(ofMachines []page.Page) []page.Page {
	all := []page.Page{
		{Path: "overview", Title: "Overview", Menu: menuHost, Show: overview, Orders: queueOrders},
		{Path: "sales", Title: "Sales", Menu: menuSlots, Show: sales},
		{Path: "sales/{slot}", Title: "Slot", Show: ofSale, Orders: saleOrders},
		{Path: "queue", Title: "Queue", Menu: menuSlots, Show: queue, Orders: queueOrders},
		{
			Path: "availabilities", Title: "Availabilities", Menu: menuSlots, Show: availabilities,
			Orders: availabilitiesOrders,
		},
		{Path: "availabilities/{id}", Title: "Availability", Show: availability, Orders: availabilityOrders},
		{Path: "proofs", Title: "Proofs", Menu: menuSlots, Show: proofs},
		{Path: "earnings", Title: "Earnings", Menu: menuMoney, Show: earnings},
		{Path: "earnings.csv", Title: "Earnings", File: exported},
		{Path: "ledger", Title: "Ledger", Menu: menuMoney, Show: ledger},
		{Path: "transactions", Title: "Transactions", Menu: menuMoney, Show: transactions},
		{Path: "sectors", Title: "Sectors", Menu: menuOthers, Show: listSectors},
		{Path: "sectors/{number}", Title: "Sector", Show: showSector, Orders: sectorOrders},
		{Path: "system", Title: "System", Menu: menuSystem, Show: system, Orders: systemOrders},
		{Path: "members", Title: "Members", Menu: menuSystem, Show: members},
		{Path: "settings", Title: "Settings", Menu: menuSystem, Show: settings},
		{Path: "machines", Title: "Record", Menu: menuSystem, Show: machines},
		{Path: "machines/{machine}", Title: "Record", Show: rowsOf},
		{Path: "streams/{stream}", Title: "Stream", Show: stream},
	}
	all = append(all, ofMachines...)
	// Machines have pages in several parts.
	order := []string{menuHost, menuSlots, menuMoney, menuOthers, menuSystem, ""}
	slices.SortStableFunc(all, func(a, b page.Page) int {
		return slices.Index(order, a.Menu) - slices.Index(order, b.Menu)
	})
	return all
}

// month are the first and the last moment of the month of t.
func month(t time.Time) (from, to time.Time) {
	t = t.UTC()
	from = time.Date(t.Year(), t.Month(), 1, 0, 0, 0, 0, time.UTC)
	return from, from.AddDate(0, 1, 0)
}

// then is the question about now, or about the past if the address says so.
func then(q *page.Asked) api.Then { return q.Then() }

// number reads a number of an address; 0: there is none.
func number(text string) uint64 {
	n, _ := strconv.ParseUint(text, 10, 64) // What is no number is the beginning.
	return n
}

// amount adds an amount of base units to facts, if it is one and not zero.
func amount(f *page.Facts, q *page.Asked, name, base string, l page.Level) {
	if base != "" && base != "0" {
		f.Fact(name, page.Cell{Text: q.Token.Amount(base), Level: l})
	}
}
