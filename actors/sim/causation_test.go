package sim

import (
	"slices"
	"strings"
	"testing"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/catalog"
)

// leadsTo are the events that lead to what a cause says, by its first word.
var leadsTo = map[string][]string{
	"reserve-capacity": {"SaleStarted"},
	"reserve-slot":     {"CapacityReserved"},
	"download":         {"SlotReserved"},
	"prove-initial":    {"SlotStored"},
	"fill":             {"InitialProofMade"},
	"extend":           {"SlotFilled", "RequestStarted"},
	"submit-proof":     {"ProofDue"},
	"read-collateral":  {"ProofMissed"},
	"free":             {"RequestEnded", "SaleCancelled", "SaleFailed"},
	"delete-data":      {"PayoutReceived", "SaleIgnored", "SlotDropped"},
	"settle":           {"DataDeleted"}, // Also in the ledger.
	"reserve":          {"SaleStarted"},
	"store":            {"SlotReserved"},
	"work":             {"SlotFilled", "SaleSettled", "SlotTaken"},
	"begin":            {"SlotTaken"},
	"market":           {"ChainStorageRequested", "ChainSlotFreed", "ChainSlotFilled", "ChainRequestFailed"},
}

// The causes that people see are those that the events name. Only about half of the events
// can have one: an event that a block or an operator led to has no event as its cause.
func TestEventsNameTheEventsThatLedToThem(t *testing.T) {
	all, could, named := 0, 0, 0
	for _, scenario := range []string{"quiet", "crashes", "repairs"} {
		for seed := range uint64(2) {
			seen := map[string]events.Recorded{}
			for _, r := range Run(t, seed+1, Scenarios()[scenario]).Record {
				seen[r.ID.String()] = r
				if !catalog.Streams().InRecord(r.Stream) {
					continue
				}
				all++
				c, _ := events.ParseCause(r.Meta.Cause)
				if leadsTo[c.What] != nil {
					could++
				}
				if r.Meta.Causation == "" {
					continue
				}
				named++
				of := seen[r.Meta.Causation]
				if !slices.Contains(leadsTo[c.What], of.Type) || of.ID == r.ID {
					t.Errorf("%s, seed %d: %s of %s, whose cause is %q, names an event %q of %q",
						scenario, seed+1, r.Type, r.Stream, r.Meta.Cause, of.Type, of.Stream)
				}
				if c.Kind == events.CauseMarket && (c.Number != of.Revision+1 || !strings.HasPrefix(of.Stream, "market-")) {
					t.Errorf("%s, seed %d: %q is revision %d of %s", scenario, seed+1, r.Meta.Cause, of.Revision, of.Stream)
				}
			}
		}
	}
	t.Logf("%d events, an event could lead to %d of them, %d name it", all, could, named)
	if named < all/2 || named < could*9/10 {
		t.Errorf("of %d events %d name the one that led to them, of %d that could", all, named, could)
	}
}
