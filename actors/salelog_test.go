package actors_test

import (
	"bytes"
	"context"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/sirupsen/logrus"

	"github.com/hostnode/hostnode/actors"
	"github.com/hostnode/hostnode/events/sale"
)

// told is what a line of the log says about a sale.
type told struct{ State, Msg string }

// Each line that tells an event carries the state after that event, also when several
// became durable at once.
func TestTheLogTellsEachEventWithTheStateAfterIt(t *testing.T) {
	inWorld(t, func(r *rig) {
		slot := r.hosting()
		r.downUntil("the slot is taken", r.lost(slot)) // So there is much to tell at once.
		before := len(all[sale.Event](r))
		var said bytes.Buffer
		log := logrus.New()
		log.SetFormatter(&logrus.JSONFormatter{})
		log.SetOutput(&said)
		host, err := actors.Start(context.Background(), r.cfg, r.ports, logrus.NewEntry(log))
		if err != nil {
			r.Fatal(err)
		}
		r.host = host
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
