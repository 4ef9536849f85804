package rows

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/hostnode/hostnode/internal/housetest"
)

// notTold are errors of the cores and the actors that need no row of the table, because no operator asks for
// what they answer: an actor acts on them.
var notTold = map[string]string{
	"alerts.ErrOrder":                "an order, by the API that makes it",
	"capacity.ErrEnded":              "a reservation, by a sale",
	"capacity.ErrHeld":               "a sector's space, by its agent",
	"capacity.ErrSettled":            "a reservation, by a sale",
	"cargo.ErrInvariant":             "what a test or an audit finds",
	"cargo.ErrSaved":                 "a checkpoint, which is made anew",
	"cargo.ErrOtherPayload":          "a piece of two sizes, by the room",
	"cargo.ErrPacking":               "settings, when they are read",
	"cargo.ErrPiece":                 "what is packed, by the room",
	"cargo.ErrStale":                 "looked at again, by the room",
	"cargo.ErrTooLarge":              "a piece, by the room before",
	"deal.ErrNotOffered":             "a report, by the room",
	"cluster.ErrTooLarge":            "a question to a member, by who asks it",
	"downtime.ErrContradiction":      "an audit, by its source",
	"downtime.ErrFuture":             "an audit, by its source",
	"downtime.ErrNotWatched":         "an audit, by its source",
	"downtime.ErrOpen":               "an audit, by its source",
	"capacity.ErrUnknownReservation": "a reservation, by a sale",
	"sale.ErrMismatch":               "a report of another slot",
	"sale.ErrNotStarted":             "a report for a sale that is not there",
	"sale.ErrOnChain":                "the supervisor, which lets the chain end the sale",
	"sector.ErrImpossible":           "what a sealer or a node says",
	"sector.ErrNoKey":                "what a sealer or a node says",
	"shell.ErrBehind":                "the event store, waited for",
	"shell.ErrDeposed":               "another member took the term",
	"shell.ErrReloading":             "asked again",
	"shell.ErrUnreadable":            "wraps the error that says what is unreadable",
	"slotqueue.ErrNoCriterion":       "a refusal, by the queue itself",
	"slotqueue.ErrNotYours":          "a hand-out or a release, by the queue itself",
	"slotqueue.ErrPromised":          "a hand-out, by the queue itself",
	"slotqueue.ErrTooManySlots":      "slots on offer, by the queue itself",
	"validation.ErrNotStarted":       "a report for a validator that is not there",
}

func TestEveryErrorOfTheCoresHasItsRowOrAReasonToHaveNone(t *testing.T) {
	table, err := os.ReadFile("rows.go")
	if err != nil {
		t.Fatal(err)
	}
	cores, err := filepath.Glob("../../../../../events/*/machine.go")
	if err != nil {
		t.Fatal(err)
	}
	rooms, err := filepath.Glob("../../../../../actors/*/")
	if err != nil {
		t.Fatal(err)
	}
	dirs := append(rooms, "../../../../../actors")
	for _, core := range cores {
		dirs = append(dirs, filepath.Dir(core))
	}
	for _, dir := range dirs {
		for _, name := range housetest.Sentinels(t, dir) {
			name = filepath.Base(dir) + "." + name
			has := regexp.MustCompile(`\b` + regexp.QuoteMeta(name) + `\b`).Match(table)
			if reason := notTold[name]; has == (reason != "") {
				t.Errorf("%s: it is in the table: %v; in notTold: %q. One of the two is wanted, and the table if an operator meets it",
					name, has, reason)
			}
		}
	}
}
