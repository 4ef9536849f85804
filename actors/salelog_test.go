package actors_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/sirupsen/logrus"

	"github.com/hostnode/hostnode/actors/port"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/sale"
)

func logTo(out io.Writer) *logrus.Entry {
	log := logrus.New()
	log.SetFormatter(&logrus.JSONFormatter{})
	log.SetOutput(out)
	return logrus.NewEntry(log)
}

// told is what a line of the log says about a sale.
type told struct{ State, Msg string }

// limiting is a market that refuses some calls for a time, about slots that are hosted.
type limiting struct {
	port.Market
	proofs, frees int
}

var errLimited = errors.New("it limits our requests")

func (m *limiting) SubmitProof(
	ctx context.Context, call events.SlotCall, period uint64, proof events.Proof,
) (events.Receipt, error) {
	if m.proofs--; m.proofs >= 0 {
		return events.Receipt{}, errLimited
	}
	return m.Market.SubmitProof(ctx, call, period, proof)
}

func (m *limiting) FreeSlot(ctx context.Context, call events.SlotCall) (events.PayoutReceipt, error) {
	if m.frees--; m.frees >= 0 {
		return events.PayoutReceipt{}, errLimited
	}
	return m.Market.FreeSlot(ctx, call)
}

// A node that limits requests, or is busy, for some seconds costs no proof: one line says so. What lasts is an error.
func TestACallThatFailsIsSaidOnceAndIsAnErrorOnlyWhenThatLasts(t *testing.T) {
	for name, c := range map[string]struct {
		market *limiting
		want   []string // levels
	}{
		"a proof, for some seconds": {&limiting{proofs: 4}, []string{"warning"}},
		"the payout, for minutes":   {&limiting{frees: 12}, []string{"warning", "error"}},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(r *rig) {
				c.market.Market, r.ports.Market = r.ports.Market, c.market
				var said bytes.Buffer
				r.log = logTo(&said)
				r.hosting()
				r.mineUntil("the sale is over", r.has("SaleSettled"))
				if none := strings.Repeat("0", 64); strings.Contains(said.String(), none) {
					r.Errorf("an id that is not there yet is told:\n%.2000s", said.String())
				}
				var levels []string
				lines := json.NewDecoder(&said)
				for lines.More() {
					var line struct{ Level, Msg string }
					if err := lines.Decode(&line); err != nil {
						r.Fatal(err)
					}
					if strings.Contains(line.Msg, errLimited.Error()) {
						levels = append(levels, line.Level)
					}
				}
				if diff := cmp.Diff(c.want, levels); diff != "" || r.count("ProofMissed") != 0 {
					r.Fatalf("levels (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// Each line that tells an event carries the state after that event, also when several
// became durable at once.
func TestTheLogTellsEachEventWithTheStateAfterIt(t *testing.T) {
	inWorld(t, func(r *rig) {
		slot := r.hosting()
		r.downUntil("the slot is taken", r.lost(slot)) // So there is much to tell at once.
		before := len(all[sale.Event](r))
		var said bytes.Buffer
		r.log = logTo(&said)
		r.start()
		r.mineUntil("the sale is over", r.has("SaleSettled"))
		var want, got []told
		var s sale.State
		for i, e := range all[sale.Event](r) {
			if s = sale.Evolve(s, e); i < before {
				continue
			}
			want = append(want, told{s.Phase.String(), sale.Sentence(e)})
		}
		lines := json.NewDecoder(&said)
		for lines.More() {
			var line told
			if err := lines.Decode(&line); err != nil {
				r.Fatal(err)
			}
			if line.State != "" {
				got = append(got, line)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" || len(want) < 4 {
			r.Fatalf("%d lines (-record +log):\n%s", len(got), diff)
		}
	})
}
